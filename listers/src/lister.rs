//! The reader of a whole cache.

use std::fmt;
use std::sync::Arc;

use informer_core::{Indexer, Object, ObjectKey, Snapshot};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};

use crate::namespace::NamespaceLister;

/// Reads the objects of one kind from an informer's cache; cheap to clone and to share between threads.
///
/// Reads never wait, neither for the network nor for a writer. Each call answers from the newest state the cache has; to ask
/// several questions of one moment take a [`snapshot`](Self::snapshot). What an object's methods return is shared with every other
/// reader and cannot be changed.
///
/// A lister says nothing about how fresh the cache is: that is the informer's `has_synced` and `status`. It outlives the
/// informer and then goes on answering from the last state.
///
/// Which methods there are depends on the kind. One that lives in namespaces has [`namespace`](Self::namespace):
///
/// ```
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// assert!(pods.namespace("web").get("front-0").is_none());
/// ```
///
/// and no `get` by name alone, which would be ambiguous:
///
/// ```compile_fail,E0599
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// pods.get("front-0");
/// ```
///
/// One that does not has [`get`](Self::get), and no `namespace`:
///
/// ```compile_fail,E0599
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Node;
/// use listers::Lister;
///
/// let nodes: Lister<Node> = Lister::new(indexer);
/// assert!(nodes.get("node-1").is_none());
/// nodes.namespace("web");
/// ```
pub struct Lister<K> {
    indexer: Indexer<K>,
}

impl<K: Object> Lister<K> {
    /// A lister over a cache: `Lister::new(informer.indexer())`.
    pub fn new(indexer: Indexer<K>) -> Self {
        Self { indexer }
    }

    /// All objects, ordered by namespace, then name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.indexer.list()
    }

    /// The object under a key, for kinds of any scope.
    pub fn get_key(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.indexer.get(key)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.indexer.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.indexer.is_empty()
    }

    /// The cache as it is now, whole and unchanging, to ask several questions of one moment.
    pub fn snapshot(&self) -> Snapshot<K> {
        self.indexer.snapshot()
    }

    /// The cache this lister reads.
    pub fn indexer(&self) -> &Indexer<K> {
        &self.indexer
    }
}

impl<K: Object + kube::Resource<Scope = NamespaceResourceScope>> Lister<K> {
    /// A lister of one namespace, whether that exists or not.
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<K> {
        NamespaceLister::new(self.indexer.clone(), namespace)
    }
}

impl<K: Object + kube::Resource<Scope = ClusterResourceScope>> Lister<K> {
    /// The object of this name.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.indexer.get(&ObjectKey::cluster(name))
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self {
            indexer: self.indexer.clone(),
        }
    }
}

impl<K: Object> From<Indexer<K>> for Lister<K> {
    fn from(indexer: Indexer<K>) -> Self {
        Self::new(indexer)
    }
}

/// Walks over the objects of one moment: what changes meanwhile is not seen.
impl<K: Object> IntoIterator for &Lister<K> {
    type Item = Arc<K>;
    type IntoIter = std::vec::IntoIter<Arc<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list().into_iter()
    }
}

impl<K: Object> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
