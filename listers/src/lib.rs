//! Typed readers over the cache of an informer: everything, one namespace, one object.
//!
//! A [`Lister`] answers from memory, at once, with the newest state its informer has. There is a name for the lister of each
//! built-in kind, such as `core::v1::PodLister`; any other kind is a `Lister<K>`. Examples take their lister from
//! [`Lister::new`]`(informer.indexer())`; the factory of the crate `informers` hands them out.
//!
//! **Look one object up.** What is not in the cache is `None`; the `require` variants make an error of it that names kind,
//! namespace and name:
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
//! **List by labels.** A [`Selector`](informer_core::selector::Selector) is what `kubectl get -l` takes. Answers are ordered by namespace,
//! then name. With an index of the label, a list costs what it returns, not what the cache holds:
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
//! **Ask several questions of one moment.** [`Lister::snapshot`] never changes, knows its version, and can be asked for everything
//! a lister can, and for indexes too.
//!
//! **Look up by anything else.** [`Lister::indexer`] adds and reads indexes, such as pods by node.
//!
//! **Find who means a pod.** `lister.pod_replica_sets(&pod)` and its like, on the listers of daemon sets, replica sets, stateful
//! sets, jobs, replication controllers and disruption budgets, follow the selectors in their specs.
//!
//! **Test code that takes a lister.** [`Lister::from_objects`] makes one without an informer:
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
//! A lister says nothing about freshness: wait for the informer's `synced` first. A read before that, after the informer has
//! stopped, or in a namespace it does not cover is answered from what there is, and said once in the log.

mod expansions;
// Written by `cargo xtask codegen`, in a layout of its own.
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
    reason = "without the feature of any group there is nothing to show"
)]
pub use generated::*;
pub use lister::Lister;
pub use namespace::NamespaceLister;
pub use not_found::NotFound;
