//! Every built-in kind with its own accessors, for tests that want to see them all: on the embedded server here (`every_kind.rs`), on a
//! real one in `tests/live`.

#[rustfmt::skip]
mod generated {
    pub(crate) mod every_kind;
}

pub use self::generated::every_kind::{KUBERNETES, every_kind};

use informers::{Lister, NamespaceLister, Object, ResourceInformer, SharedInformerFactory};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::de::DeserializeOwned;

/// What [`every_kind`] shows the kinds to.
pub trait Visitor {
    /// A kind that lives in namespaces: the factory's accessor, and the lister's of the same name.
    fn namespaced<K>(
        &mut self,
        accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
        of_namespace: fn(&Lister<K>, &str) -> NamespaceLister<K>,
    ) where
        K: Object + DeserializeOwned + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>;

    /// A kind that does not live in namespaces.
    fn cluster<K>(&mut self, accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>)
    where
        K: Object + DeserializeOwned + kube::Resource<DynamicType = (), Scope = ClusterResourceScope>;
}
