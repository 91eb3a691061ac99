//! Typed readers over the cache of an informer: everything, one namespace, one object.
//!
//! ```no_run
//! # fn example(informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>) -> Result<(), Box<dyn std::error::Error>> {
//! use informer_core::Selector;
//! use listers::Lister;
//!
//! let pods = Lister::new(informer.indexer());
//! let all = pods.list(&Selector::everything());
//! let of_web = pods.namespace("web").list(&"tier=front".parse()?);
//! let one = pods.namespace("web").get("front-0");
//! let same = pods.get_key(&"web/front-0".parse()?);
//! # Ok(())
//! # }
//! ```
//!
//! This is a beginning. Selectors (`list` will take one), a name for the lister of each built-in kind (`PodLister`), and a factory that
//! hands listers out come with the next release.

mod lister;
mod namespace;
mod not_found;

#[cfg(test)]
mod tests;

pub use lister::Lister;
pub use namespace::NamespaceLister;
pub use not_found::NotFound;
