//! The reader of one namespace of a cache.

use std::fmt;
use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::store::Indexer;
use informer_core::{Object, ObjectKey};

use crate::not_found::NotFound;

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

    /// The selected objects of the namespace, ordered by name.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.indexer.select_namespace(&self.namespace, selector)
    }

    /// Calls `visit` for every selected object of the namespace, ordered by name, without collecting them. They are those of one
    /// moment: what changes meanwhile is not seen.
    pub fn for_each(&self, selector: &Selector, visit: impl FnMut(&Arc<K>)) {
        self.indexer
            .for_each_in_namespace(&self.namespace, selector, visit);
    }

    /// The object of this name in the namespace.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.indexer.get(&self.key(name))
    }

    /// The object of this name in the namespace, or an error that names it.
    ///
    /// # Errors
    /// [`NotFound`] if the cache has no such object.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name)
            .ok_or_else(|| NotFound::of(&self.indexer, self.key(name)))
    }

    /// The number of objects in the namespace. Costs a walk over them.
    pub fn len(&self) -> usize {
        self.indexer.len_namespace(&self.namespace)
    }

    /// Whether there are no objects in the namespace.
    pub fn is_empty(&self) -> bool {
        self.indexer.is_namespace_empty(&self.namespace)
    }

    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.namespace.clone(), name)
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

impl<K: Object> fmt::Debug for NamespaceLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
