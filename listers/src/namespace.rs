//! The reader of one namespace of a cache.

use std::fmt;
use std::sync::Arc;

use informer_core::{Indexer, Object, ObjectKey};

/// Reads the objects of one kind in one namespace; made by [`Lister::namespace`](crate::Lister::namespace).
///
/// Like its lister it answers each call from the newest state of the cache, without waiting. Listing a namespace costs what that
/// namespace holds, not what the cache holds.
pub struct NamespaceLister<K> {
    indexer: Indexer<K>,
    namespace: Arc<str>,
}

impl<K: Object> NamespaceLister<K> {
    pub(crate) fn new(indexer: Indexer<K>, namespace: &str) -> Self {
        Self {
            indexer,
            namespace: namespace.into(),
        }
    }

    /// The namespace.
    pub fn name(&self) -> &str {
        &self.namespace
    }

    /// The objects of the namespace, ordered by name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.indexer.list_namespace(&self.namespace)
    }

    /// The object of this name in the namespace.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.indexer
            .get(&ObjectKey::namespaced(self.namespace.clone(), name))
    }
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self {
            indexer: self.indexer.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

/// Walks over the namespace's objects of one moment: what changes meanwhile is not seen.
impl<K: Object> IntoIterator for &NamespaceLister<K> {
    type Item = Arc<K>;
    type IntoIter = std::vec::IntoIter<Arc<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list().into_iter()
    }
}

impl<K: Object> fmt::Debug for NamespaceLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
