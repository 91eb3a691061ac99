//! Shared informers for Kubernetes: a local cache of every object of a kind, kept current by a watch.
//!
//! A [`SharedInformerFactory`] creates one informer per kind and shares it between all parts of a program. An
//! informer lists once and watches from then on. Any number of handlers receive the changes, and listers read
//! the cache without blocking. On this page: [watch pods](#watch-pods), [look up by
//! index](#look-up-by-index), [read by label](#read-by-label), [many namespaces](#many-namespaces), [a custom
//! resource](#a-custom-resource), [only metadata](#only-metadata), [a kind known at run
//! time](#a-kind-known-at-run-time), [find out why it does not sync](#find-out-why-it-does-not-sync), [test
//! your code](#test-your-code), [stop](#stop), [features](#features).
//!
//! # Watch pods
//!
//! Every built-in kind has an accessor, named after its group, version and plural. It returns the informer,
//! to add handlers to, and the lister, to read the cache. No request is sent before
//! [`start`](SharedInformerFactory::start):
//!
//! ```no_run
//! # #[cfg(feature = "core")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use informers::{Event, Origin, Selector, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! # fn phase(pod: &Pod) -> Option<&str> { pod.status.as_ref()?.phase.as_deref() }
//! let factory = SharedInformerFactory::new(informers::client::try_default().await?);
//! let pods = factory.core().v1().pods();
//! pods.informer().add_handler(|event: Event<Pod>| match event {
//!     Event::Added { origin: Origin::Initial, .. } => {} // it existed before the start
//!     Event::Added { object, .. } => println!("new: {:?}", object.metadata.name),
//!     Event::Updated { old, new, .. } => println!("{:?} -> {:?}", phase(&old), phase(&new)),
//!     Event::Deleted(deleted) => println!("deleted: {:?}", deleted.last_known().metadata.name),
//! })?;
//!
//! factory.start();
//! factory.wait_for_sync().await?; // the cache is complete, and the handler has processed it
//! println!("{} pods", pods.lister().list(&Selector::everything()).len());
//! # Ok(())
//! # }
//! ```
//!
//! Handlers may block, panic or lag: each has its own task and its own bounded buffer ([`HandlerOptions`]).
//! There are also async handlers ([`add_async_handler`](SharedInformer::add_async_handler)), [`Filtered`]
//! handlers, and a stream of the same events ([`SharedInformer::events`]). [`SharedInformer`] documents the
//! guarantees on order and consistency.
//!
//! # Look up by index
//!
//! An index finds the objects that have a value, without reading the others. An [`IndexDefinition`] is a
//! static value that several parts of a program can share; [`SharedInformer::add_index`] takes a closure
//! instead. A wrong index name or value type does not compile:
//!
//! ```no_run
//! # #[cfg(feature = "core")]
//! # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use informers::{IndexDefinition, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! static BY_NODE: IndexDefinition<Pod, String> =
//!     IndexDefinition::new("node", |pod| {
//!         pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect()
//!     });
//!
//! let factory = SharedInformerFactory::builder(client).kind::<Pod>(|pods| pods.index(&BY_NODE)).build()?;
//! let by_node = factory.core().v1().pods().informer().index(&BY_NODE)?; // Index<Pod, String>
//! let on_node = by_node.get("node-1"); // Vec<Arc<Pod>>
//! # Ok(())
//! # }
//! ```
//!
//! # Read by label
//!
//! A [`Lister`] reads by namespace, name and [`Selector`], in a stable order. `get` returns an `Option`;
//! `require` returns an error that names the missing object. A selector on a label that has a label index
//! uses the index:
//!
//! ```no_run
//! # #[cfg(feature = "core")]
//! # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use informers::{Selector, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let factory = SharedInformerFactory::builder(client).kind::<Pod>(|pods| pods.label_index("app")).build()?;
//! let lister = factory.core().v1().pods().lister();
//! let front: Selector = "app in (front, cart), !canary".parse()?; // the error points at the character
//! let everywhere = lister.list(&front);
//! let in_web = lister.pods("web").list(&front);
//! let one = lister.pods("web").require("front-0")?;
//! let by_key = lister.get_key(&"web/front-0".parse()?); // for kinds of any scope
//! let snapshot = lister.snapshot(); // several consistent reads
//! println!("{} of {} selected", snapshot.select(&front).count(), snapshot.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Many namespaces
//!
//! A factory can be limited to namespaces, and single kinds to other namespaces. Each kind still has one
//! informer and one cache, with one watch per namespace. Cluster-scoped kinds are not affected:
//!
//! ```no_run
//! # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use informers::SharedInformerFactory;
//! use k8s_openapi::api::core::v1::Secret;
//!
//! let factory = SharedInformerFactory::builder(client)
//!     .namespaces(["web", "db"])
//!     .kind::<Secret>(|secrets| secrets.namespace("web").labels("kind=token"))
//!     .build()?; // rejects an empty namespace or an invalid selector
//! # Ok(())
//! # }
//! ```
//!
//! # A custom resource
//!
//! Any type that implements `kube::Resource` works. With the feature `derive`, `Informer` beside kube's
//! `CustomResource` adds what built-in kinds have, type aliases and an accessor, and typed indexes:
//!
//! ```no_run
//! # #[cfg(feature = "derive")]
//! # mod example {
//! use informers::{Event, Informer, SharedInformerFactory};
//! use kube::CustomResource;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
//! #[kube(group = "shop.example", version = "v1", kind = "Order", namespaced, schema = "disabled")]
//! #[informer(index(name = "owner", by = "spec.owner"))]
//! struct OrderSpec {
//!     owner: String,
//!     items: u32,
//! }
//!
//! # fn example(factory: SharedInformerFactory) -> Result<(), Box<dyn std::error::Error>> {
//! let orders = factory.orders(); // OrderInformer
//! orders.informer().add_handler(|event: Event<Order>| println!("{} items", event.object().spec.items))?;
//! let one = orders.lister().orders("web").get("order-1"); // OrderLister, OrderNamespaceLister
//! let of_ann = orders.by_owner()?.get("ann"); // Vec<Arc<Order>>
//! # Ok(())
//! # }
//! # }
//! ```
//!
//! Without the derive, [`factory.kind::<Order>()`](SharedInformerFactory::kind) is what `factory.orders()`
//! returns, and the lister, a `Lister<Order>`, has [`namespace("web")`](Lister::namespace).
//!
//! # Only metadata
//!
//! If labels, owners and names are enough, request only the metadata from the server:
//!
//! ```no_run
//! # fn example(factory: informers::SharedInformerFactory) {
//! use informers::{Lister, Selector};
//! use k8s_openapi::api::core::v1::Secret;
//!
//! let secrets = factory.metadata_for::<Secret>(); // SharedInformer<PartialObjectMeta<Secret>>
//! Lister::new(secrets.indexer()).for_each(&Selector::everything(), |secret| {
//!     println!("{:?} belongs to {:?}", secret.metadata.name, secret.metadata.owner_references);
//! });
//! # }
//! ```
//!
//! If a few more fields are enough, define a *projection* (feature `derive`, module `projection`): a struct
//! with these fields. Nothing else is decoded or kept. A Pod of 12 KB on the wire takes 41 KB of heap as a
//! `Pod`, and 2.5 KB as a projection to its node, phase and address.
//!
//! # A kind known at run time
//!
//! [`for_resource`](SharedInformerFactory::for_resource) takes group, version and plural;
//! [`find`](SharedInformerFactory::find) takes any name that `kubectl get` accepts and looks it up on the
//! server. Both return a [`DynInformer`]: a type-erased handle, of the typed informer if the factory has one.
//!
//! ```no_run
//! # async fn example(factory: informers::SharedInformerFactory) -> Result<(), Box<dyn std::error::Error>> {
//! use informers::{AnyObject, Event, Selector};
//! use kube::core::{DynamicObject, GroupVersionResource};
//!
//! let widgets = factory.for_resource(&GroupVersionResource::gvr("shop.example", "v1", "widgets"))?;
//! let deployments = factory.find("deploy").await?;
//! deployments.add_handler(|event: Event<dyn AnyObject>| println!("{:?}", event.object().metadata().name))?;
//! for widget in widgets.list(&Selector::everything()) {
//!     if let Some(widget) = widget.downcast_ref::<DynamicObject>() {
//!         println!("{}", widget.data["spec"]);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Find out why it does not sync
//!
//! An informer retries forever; the wait for it does not. [`SyncError`] names each informer that is not in
//! sync, and the reason. [`progress`](SharedInformerFactory::progress) reports the same while waiting, and
//! [`status`](SharedInformerFactory::status) at any time:
//!
//! ```no_run
//! # async fn example(factory: informers::SharedInformerFactory) {
//! use std::time::Duration;
//! use informers::WaitingFor;
//!
//! if let Err(error) = factory.wait_for_sync_within(Duration::from_secs(30)).await {
//!     eprintln!("{error}"); // 1 of 3 informers not in sync: secrets: forbidden: ..
//!     for informer in &error.unsynced {
//!         match &informer.waiting_for {
//!             WaitingFor::Cache(pending) => eprintln!("{}: {pending}", informer.resource),
//!             WaitingFor::Handlers(names) => eprintln!("{}: waiting for {names:?}", informer.resource),
//!             other => eprintln!("{}: {other}", informer.resource),
//!         }
//!     }
//! }
//! # }
//! ```
//!
//! # Test your code
//!
//! Pass a lister with fixed objects to code that takes a lister:
//!
//! ```
//! use informers::{Lister, Selector};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! fn unlabelled(pods: &Lister<Pod>) -> usize {
//!     pods.list(&"!app".parse::<Selector>().expect("it is a constant")).len()
//! }
//!
//! let mut pod = Pod::default();
//! pod.metadata.name = Some("front-0".to_owned());
//! assert_eq!(unlabelled(&Lister::from_objects([pod])), 1);
//! ```
//!
//! For everything else, the crate `informer-testing` has an in-memory API server with scripted faults:
//!
//! ```
//! # #[cfg(not(feature = "core"))] fn main() {}
//! # #[cfg(feature = "core")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use informer_testing::ApiServer;
//! use informers::SharedInformerFactory;
//! use serde_json::json;
//!
//! let server = ApiServer::start();
//! server.create(&json!({
//!     "apiVersion": "v1",
//!     "kind": "Pod",
//!     "metadata": { "namespace": "web", "name": "a" },
//! }))?;
//!
//! let factory = SharedInformerFactory::new(server.client());
//! let pods = factory.core().v1().pods().lister();
//! factory.start();
//! factory.wait_for_sync().await?;
//! assert!(pods.pods("web").get("a").is_some());
//! assert_eq!(server.requests().of("pods").len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Stop
//!
//! After [`shutdown`](SharedInformerFactory::shutdown) no task of the factory runs. Dropping its last handle,
//! or cancelling the token of [`cancel_with`](SharedInformerFactoryBuilder::cancel_with), stops the tasks
//! without waiting for them. Listers continue to return the last state.
//!
//! ```no_run
//! # async fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use informers::SharedInformerFactory;
//! use tokio_util::sync::CancellationToken;
//!
//! let token = CancellationToken::new(); // cancelled elsewhere, such as by a signal
//! let factory = SharedInformerFactory::builder(client).cancel_with(&token).build()?;
//! token.cancelled().await;
//! if let Err(error) = factory.shutdown_timeout(Duration::from_secs(10)).await {
//!     eprintln!("{error}"); // names the handlers that are still busy
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - One per API group, named as the accessor: `core`, `apps`, `batch`, `networking` and so on. The default
//!   `full` enables all of them. Accessors are aliases, and an informer is compiled only for the kinds a
//!   program uses, so disabling groups shortens the documentation more than the build. Kinds of a disabled
//!   group still work through [`informer_for`](SharedInformerFactory::informer_for).
//! - `debug-server` (off): the module `debug`, a page that shows informers and controllers in a browser.
//! - `derive`: `#[derive(Informer)]` for custom resources and projections.
//! - `protobuf`, on by default: built-in kinds are requested and decoded as protobuf, which costs less than
//!   JSON for the server and the program. Without it all kinds are read as JSON, and less is compiled.
//!   [`encoding`](SharedInformerFactoryBuilder::encoding) turns it off at run time.
//! - `rustls-tls`, on by default: TLS for [`client::try_default`]. Disable it if you pass your own
//!   `kube::Client`.
//! - `metrics` (off): metrics for Prometheus and others, in the module `metrics`.
//! - `packed` (off): [packed storage](options::Storage), which holds objects as compressed bytes.
//! - The Kubernetes version is a feature of k8s-openapi. The program must enable exactly one, from `v1_33` to
//!   `v1_37`: `k8s-openapi = { version = "0.29", features = ["v1_37"] }`. Kinds that are missing in
//!   this version have no accessor.
//!
//! # Where things are
//!
//! The names that most programs use are at the crate root. Each API group has a module with the aliases of
//! its kinds (`core::v1::PodInformer`, `core::v1::PodLister`). The other modules hold the rest: [`client`] to
//! connect, [`error`], [`options`], [`status`], [`selector`] for the parts of a selector, [`source`] for
//! custom sources, [`store`] for the cache and [`delta`] for the queue. [`SharedInformer::builder`] creates
//! an informer without a factory.
//!
//! The repository has complete programs that also run without a cluster, as in `cargo run --example
//! quickstart`: `quickstart`, `pods_by_node`, `config_reload`, `service_endpoints`, `many_handlers`,
//! `metrics_prometheus`, `metrics_opentelemetry`, and `operator` with custom resources.

#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod __private;
pub mod controller;
pub mod crd;
#[cfg(feature = "debug-server")]
pub mod debug;
#[cfg(feature = "derive")]
mod derive;
mod factory;
pub mod health;
// Written by `cargo xtask codegen`, which also formats it.
#[rustfmt::skip]
mod generated;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "derive")]
pub mod projection;

#[cfg(feature = "derive")]
pub use derive::{Informer, Projection};
#[allow(
    unused_imports,
    unreachable_pub,
    reason = "empty without the feature of any group"
)]
pub use generated::*;

pub use factory::{
    FactoryStatus, InformerLease, ResourceInformer, Rights, SharedInformerFactory,
    SharedInformerFactoryBuilder,
};
pub use informer_core::registry::{SyncError, WaitingFor};
pub use informer_core::selector::Selector;
pub use informer_core::source::{ListOptions, ManagedFields};
pub use informer_core::store::{Index, IndexDefinition, Snapshot};
pub use informer_core::{
    AnyObject, AsyncEventHandler, AuditOptions, Deleted, DynInformer, Event, EventHandler, EventStream,
    Filtered, HandlerOptions, Handlers, InformerStatus, InitialState, Object, ObjectKey, Origin, Overflow,
    Projected, Registration, Removal, ResourceVersion, Scope, SharedInformer, SharedInformerBuilder, State,
    UpdateCause, client,
};
pub use listers::{Lister, NamespaceLister, NotFound};

pub mod error {
    //! Errors of builders, lookups, waits and shutdowns. [`SyncError`](crate::SyncError) is at the crate
    //! root.
    pub use crate::factory::{FactoryBuildError, LookupError, ResourceError};
    pub use informer_core::registry::RegistryShutdownTimeout;
    pub use informer_core::{
        AddHandlerError, BuildError, NeverShown, NotSynced, ParseKeyError, ScopeError, ShutdownTimeout,
        StartError, WaitError, WaitForError,
    };
    pub use listers::ExpansionError;
}

pub mod options {
    //! Less common options of informers and handlers.
    pub use informer_core::{
        AuditHandler, BackoffConfig, HandlerResync, Offload, ReflectorConfig, RequestBudget,
        RequestBudgetOptions, Storage, WarmStart, WatchErrorHandler,
    };
}

pub mod status {
    //! The parts of [`FactoryStatus`](crate::FactoryStatus) and [`InformerStatus`](crate::InformerStatus),
    //! their changes, and the sync progress of a factory.
    pub use crate::factory::StatusChanges;
    pub use informer_core::registry::{InformerProgress, Released, SyncProgress, SyncReport, Unsynced};
    pub use informer_core::{
        AuditMismatch, AuditOutcome, AuditReport, AuditSkipped, AuditStatus, BufferMode, Counts, Differences,
        HandlerEnded, HandlerState, HandlerStatus, LastError, LastList, PendingScopes, RelistReason, Relists,
        ScopeStatus, StatusWatch, WatchListVerdict,
    };
}

pub mod store {
    //! The cache of an informer, read directly, and a store whose entries expire.
    //!
    //! [`Index`](crate::Index), [`IndexDefinition`](crate::IndexDefinition) and [`Snapshot`](crate::Snapshot)
    //! are at the crate root.
    pub use informer_core::store::{
        Clock, Entries, Freshness, IndexError, IndexStatus, IndexValue, IndexView, Indexer, KeyRef,
        ObjectRef, Progress, Selected, Stale, SystemClock, TtlStore, Versions,
    };
}

pub mod delta {
    //! The queue between reflector and store, and a plain [`Fifo`].
    pub use informer_core::Stored;
    pub use informer_core::delta::{
        Batch, Change, Closed, Delta, DeltaFifo, DeltaReceiver, DeltaSender, Deltas, Departed, Fifo,
        InitialSync, QueueOptions, ReplaceAll, ReplaceBuilder, Revision, ScopeChange, Transform,
    };
}

pub mod workqueue {
    //! A work queue for controllers: each key once, never with two workers, later or rate limited on request.
    //!
    //! [`WorkQueue`] is the queue, and [`limiter`] has the delays between retries.
    pub use informer_core::workqueue::{
        Get, Item, Left, Priorities, Priority, QueueKey, QueueStatus, RateLimiter, WorkQueue,
        WorkQueueBuilder, default_controller_limiter, limiter,
    };
}

pub mod selector {
    //! The parts of a [`Selector`](crate::Selector), and its errors.
    pub use informer_core::selector::{
        Operator, ParseSelectorError, Requirement, RequirementError, UnsupportedByKube,
    };
}

pub mod source {
    //! [`ListWatch`], for custom sources of objects, and [`KubeSource`], which lists and watches an API
    //! server.
    //!
    //! [`ListOptions`](crate::ListOptions) and [`ManagedFields`](crate::ManagedFields) are at the crate root.
    pub use informer_core::source::protobuf::DecodeProtobuf;
    pub use informer_core::source::{
        BookmarkMark, Decode, DecodeError, DecodeOn, Encoding, Identity, IdentityEvent, IdentityStream,
        JsonDecoder, KubeSource, KubeSourceError, KubeSourceOptions, ListEvent, ListFrom, ListMetadata,
        ListOptionsError, ListRequest, ListStream, ListWatch, ObjectChange, Recovery, ServerStatus,
        SourceError, SourceObject, Undecodable, WatchEvent, WatchFrom, WatchListFrom, WatchListSupport,
        WatchRequest, WatchStream,
    };
}

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "apps", feature = "core"))]
#[doc = include_str!("../../README.md")]
struct Readme;
