//! Code that must not compile: the type system replaces client-go's mutation detector and run-time type
//! errors.
//!
//! Each case has a valid counterpart that differs only in the offending line, so a case cannot fail to
//! compile for another reason.

/// Upstream: TestMutationDetector. A cached object is shared, so it cannot be changed in place:
///
/// ```compile_fail,E0594
/// use informer_core::SharedInformer;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn rename_all(informer: &SharedInformer<Pod>) {
///     for mut pod in informer.indexer().list() {
///         pod.metadata.name = Some("renamed".to_owned());
///     }
/// }
/// ```
///
/// Change a copy instead:
///
/// ```
/// use informer_core::SharedInformer;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn rename_all(informer: &SharedInformer<Pod>) {
///     for mut pod in informer.indexer().list() {
///         std::sync::Arc::make_mut(&mut pod).metadata.name = Some("renamed".to_owned());
///     }
/// }
/// ```
#[allow(dead_code, reason = "it carries its documentation only")]
struct CachedObjects;

/// Upstream: TestMutationDetector. Handlers receive the objects of the cache:
///
/// ```compile_fail,E0596
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn clear_labels(informer: &SharedInformer<Pod>) {
///     let added = informer.add_handler(|event: Event<Pod>| {
///         if let Event::Added { object, .. } = event {
///             object.metadata.labels.get_or_insert_default().clear();
///         }
///     });
///     drop(added);
/// }
/// ```
///
/// ```
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn clear_labels(informer: &SharedInformer<Pod>) {
///     let added = informer.add_handler(|event: Event<Pod>| {
///         if let Event::Added { object, .. } = event {
///             object.metadata.labels.clone().get_or_insert_default().clear();
///         }
///     });
///     drop(added);
/// }
/// ```
#[allow(dead_code, reason = "it carries its documentation only")]
struct HandledObjects;

/// Upstream: TestTypedIndexer, where a wrong value is an error at run time. An index knows the type of its
/// values:
///
/// ```compile_fail,E0277
/// use informer_core::SharedInformer;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn count(informer: &SharedInformer<Pod>) -> usize {
///     let by_name = informer.add_index("name", |pod: &Pod| pod.metadata.name.clone()).unwrap();
///     by_name.get(&8080_u16).len()
/// }
/// ```
///
/// ```
/// use informer_core::SharedInformer;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn count(informer: &SharedInformer<Pod>) -> usize {
///     let by_name = informer.add_index("name", |pod: &Pod| pod.metadata.name.clone()).unwrap();
///     by_name.get("front-0").len()
/// }
/// ```
#[allow(dead_code, reason = "it carries its documentation only")]
struct IndexValues;

/// Handlers run on other threads, so their captures must be `Send`:
///
/// ```compile_fail,E0277
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
/// use std::rc::Rc as Shared;
///
/// fn count(informer: &SharedInformer<Pod>) {
///     let count = Shared::new(std::sync::atomic::AtomicUsize::new(0));
///     let added = informer.add_handler(move |_: Event<Pod>| {
///         count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///     });
///     drop(added);
/// }
/// ```
///
/// ```
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
/// use std::sync::Arc as Shared;
///
/// fn count(informer: &SharedInformer<Pod>) {
///     let count = Shared::new(std::sync::atomic::AtomicUsize::new(0));
///     let added = informer.add_handler(move |_: Event<Pod>| {
///         count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///     });
///     drop(added);
/// }
/// ```
#[allow(dead_code, reason = "it carries its documentation only")]
struct Handlers;

/// A handler of one kind cannot be added to an informer of another:
///
/// ```compile_fail,E0631
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::{Node, Pod};
///
/// fn listen(informer: &SharedInformer<Pod>) {
///     drop(informer.add_handler(|_: Event<Node>| ()));
/// }
/// ```
///
/// ```
/// use informer_core::{Event, SharedInformer};
/// use k8s_openapi::api::core::v1::{Node, Pod};
///
/// fn listen(informer: &SharedInformer<Pod>, nodes: &SharedInformer<Node>) {
///     drop(informer.add_handler(|_: Event<Pod>| ()));
///     drop(nodes.add_handler(|_: Event<Node>| ()));
/// }
/// ```
#[allow(dead_code, reason = "it carries its documentation only")]
struct Kinds;
