//! The reader of one namespace.

use std::fmt;
use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::store::Indexer;
use informer_core::{Object, ObjectKey};

use crate::not_found::NotFound;

/// Reads the objects of one kind in one namespace. Created by
/// [`Lister::namespace`](crate::Lister::namespace).
///
/// Like its lister it reads the newest state of the cache, without blocking. Listing a namespace reads only
/// the objects of that namespace.
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

    /// Returns the name of the namespace.
    pub fn name(&self) -> &str {
        &self.namespace
    }

    /// Returns the selected objects of the namespace, ordered by name.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.indexer.select_namespace(&self.namespace, selector)
    }

    /// Calls `visit` for every selected object of the namespace, ordered by name, without collecting them.
    /// All objects are from one state of the cache.
    pub fn for_each(&self, selector: &Selector, visit: impl FnMut(&Arc<K>)) {
        self.indexer
            .for_each_in_namespace(&self.namespace, selector, visit);
    }

    /// Returns the object of this name in the namespace.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.indexer.get(&self.key(name))
    }

    /// Returns the object of this name in the namespace, or an error that names it.
    ///
    /// # Errors
    /// [`NotFound`] if the cache has no such object.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name)
            .ok_or_else(|| NotFound::of(&self.indexer, self.key(name)))
    }

    /// Returns the number of objects in the namespace.
    pub fn len(&self) -> usize {
        self.indexer.len_namespace(&self.namespace)
    }

    /// Returns whether the namespace has no objects.
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
