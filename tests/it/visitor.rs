//! Visits every built-in kind through its own accessors. `every_kind.rs` uses it on the embedded server,
//! `tests/live` on a real one.

#[rustfmt::skip]
#[path = "generated/every_kind.rs"]
mod generated;

pub use self::generated::{KUBERNETES, every_kind};

use informers::{Lister, NamespaceLister, Object, ResourceInformer, SharedInformerFactory};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Receives every kind from [`every_kind`].
pub trait Visitor {
    /// Visits a namespaced kind: the factory's accessor, and the lister's of the same name.
    fn namespaced<K>(
        &mut self,
        accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
        of_namespace: fn(&Lister<K>, &str) -> NamespaceLister<K>,
    ) where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>;

    /// Visits a cluster-scoped kind.
    fn cluster<K>(&mut self, accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>)
    where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = ClusterResourceScope>;
}
