//! Typed readers of an informer's cache: all objects, one namespace, one object.
//!
//! A [`Lister`] reads the newest state of its informer from memory, without blocking. Each built-in kind has
//! an alias, such as `core::v1::PodLister`; any other kind uses `Lister<K>`. Create one with
//! [`Lister::new`]`(informer.indexer())`, or take it from the factory of the crate `informers`.
//!
//! **Look up one object.** An object that is not in the cache is `None`; the `require` methods return an
//! error that names kind, namespace and name:
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::{Node, Pod};
//! # use listers::Lister;
//! # fn example(pods: Lister<Pod>, nodes: Lister<Node>) -> Result<(), Box<dyn std::error::Error>> {
//! let front = pods.namespace("web").get("front-0");
//! let same = pods.get_key(&"web/front-0".parse()?);
//! let node = nodes.require("node-1")?;
//! # Ok(())
//! # }
//! ```
//!
//! **List by labels.** A [`Selector`](informer_core::selector::Selector) has the syntax of `kubectl get -l`.
//! Results are ordered by namespace, then name. With an index of the label, the cost of a list depends on its
//! result, not on the size of the cache:
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::Pod;
//! # use listers::Lister;
//! # fn example(pods: Lister<Pod>) -> Result<(), Box<dyn std::error::Error>> {
//! use informer_core::selector::Selector;
//!
//! pods.indexer().add_label_index("app")?;
//! let front: Selector = "app in (web, shop), tier != back".parse()?;
//! let everywhere = pods.list(&front);
//! let of_one_namespace = pods.namespace("web").list(&front);
//! pods.for_each(&Selector::everything(), |pod| println!("{:?}", pod.metadata.name));
//! # Ok(())
//! # }
//! ```
//!
//! **Read several times from one state.** [`Lister::snapshot`] returns an immutable snapshot with its
//! version. It has the reads of a lister, and indexes.
//!
//! **Look up by other values.** [`Lister::indexer`] adds and reads indexes, such as pods by node.
//!
//! **Find the workloads that select a pod.** `lister.pod_replica_sets(&pod)` and similar methods, on the
//! listers of daemon sets, replica sets, stateful sets, jobs, replication controllers and disruption budgets,
//! evaluate the selectors in their specs.
//!
//! **Test code that takes a lister.** [`Lister::from_objects`] creates one without an informer:
//!
//! ```
//! use informer_core::selector::Selector;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use listers::Lister;
//!
//! fn count(maps: &Lister<ConfigMap>) -> usize {
//!     maps.namespace("web").list(&Selector::everything()).len()
//! }
//!
//! let mut settings = ConfigMap::default();
//! settings.metadata.namespace = Some("web".into());
//! settings.metadata.name = Some("settings".into());
//! assert_eq!(count(&Lister::from_objects([settings])), 1);
//! ```
//!
//! A lister does not wait for the cache to sync: wait for the informer's `synced` first. A read before that,
//! after the informer has stopped, or in a namespace it does not cover returns what the cache has, and the
//! first one logs a warning.

mod expansions;
// Written by `cargo xtask codegen`, which also formats it.
#[rustfmt::skip]
mod generated;
mod lister;
mod namespace;
mod not_found;
mod scope;

#[cfg(test)]
mod tests;

pub use expansions::ExpansionError;
#[allow(
    unused_imports,
    unreachable_pub,
    reason = "empty without the feature of any group"
)]
pub use generated::*;
pub use lister::Lister;
pub use namespace::NamespaceLister;
pub use not_found::NotFound;
