//! The place of one key in the store, while changes are applied to it.

use std::mem;

use crate::storage::Stored;

/// What is stored under a key. An object that another one replaces is moved out, not cloned: its reference
/// count is rarely in the processor's cache.
pub(crate) enum Place<'s, K> {
    /// This object, in the tree.
    Held(&'s mut Stored<K>),
    /// Nothing any more. The tree still has the object, until the changes of the key end.
    Removed(&'s mut Stored<K>),
    /// Nothing. The tree lacks the key.
    Free,
    /// This object. The tree lacks the key.
    Added(Stored<K>),
}

impl<K> Place<'_, K> {
    pub(crate) fn get(&self) -> Option<&Stored<K>> {
        match self {
            Self::Held(object) => Some(object),
            Self::Added(object) => Some(object),
            Self::Removed(_) | Self::Free => None,
        }
    }

    /// Stores an object, and returns the one it replaces.
    pub(crate) fn put(&mut self, new: Stored<K>) -> Option<Stored<K>> {
        match mem::replace(self, Self::Free) {
            Self::Held(slot) => {
                let old = mem::replace(slot, new);
                *self = Self::Held(slot);
                Some(old)
            }
            Self::Removed(slot) => {
                *slot = new;
                *self = Self::Held(slot);
                None
            }
            Self::Free => {
                *self = Self::Added(new);
                None
            }
            Self::Added(old) => {
                *self = Self::Added(new);
                Some(old)
            }
        }
    }

    /// Removes the object, and returns it.
    pub(crate) fn remove(&mut self) -> Option<Stored<K>> {
        match mem::replace(self, Self::Free) {
            Self::Held(slot) => {
                let old = slot.clone();
                *self = Self::Removed(slot);
                Some(old)
            }
            Self::Removed(slot) => {
                *self = Self::Removed(slot);
                None
            }
            Self::Free => None,
            Self::Added(old) => Some(old),
        }
    }
}
