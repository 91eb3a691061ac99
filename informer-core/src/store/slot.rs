//! What the store holds for one object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The place of one object in the store, one pointer wide: today the decoded object.
///
/// Only this type knows that. Everything else asks it for the object, so that a slot of packed bytes that is
/// decoded on read can stand beside the decoded one without a change of API.
pub struct Slot<K>(Arc<K>);

impl<K> Slot<K> {
    pub(super) fn new(object: Arc<K>) -> Self {
        Self(object)
    }

    /// The object, shared.
    pub fn get(&self) -> Arc<K> {
        self.0.clone()
    }

    /// The object, borrowed from the slot: no reference count is touched.
    pub fn peek(&self) -> ObjectRef<'_, K> {
        ObjectRef(&self.0)
    }

    pub(super) fn into_object(self) -> Arc<K> {
        self.0
    }

    /// Whether both hold one and the same object, not merely an equal one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<K> Clone for Slot<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Slot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// An object in a snapshot, read in place. It stands for the `&Arc<K>` it dereferences to: `object.clone()` is an
/// `Arc<K>` to keep.
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
