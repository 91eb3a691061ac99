//! The store's entry for one object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The store's entry for one object, one pointer wide: the decoded object.
///
/// Only this type knows the representation, so that packed bytes that are decoded on read can be added
/// without a change of the API.
pub(crate) struct StoredObject<K>(Arc<K>);

impl<K> StoredObject<K> {
    pub(super) fn new(object: Arc<K>) -> Self {
        Self(object)
    }

    /// The object, shared.
    pub(crate) fn get(&self) -> Arc<K> {
        self.0.clone()
    }

    /// The object, borrowed: does not touch its reference count.
    pub(crate) fn peek(&self) -> ObjectRef<'_, K> {
        ObjectRef(&self.0)
    }

    pub(super) fn into_object(self) -> Arc<K> {
        self.0
    }

    /// Whether both hold the identical object, not merely an equal one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<K> Clone for StoredObject<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for StoredObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredObject")
    }
}

/// An object in a snapshot, borrowed. It dereferences to `&Arc<K>`; `object.clone()` returns an `Arc<K>`.
pub struct ObjectRef<'a, K>(&'a Arc<K>);

impl<K> Deref for ObjectRef<'_, K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        self.0
    }
}

impl<K> fmt::Debug for ObjectRef<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectRef")
    }
}
