//! The keys whose newest state could not be used.

use std::fmt;
use std::sync::Arc;

use super::key_ref::KeyRef;
use super::tree::{Packed, Tree};
use crate::key::ObjectKey;

/// The keys whose newest state on the server could not be decoded or transformed, each with the reason.
///
/// Under such a key the store has the last usable version of the object, or none. A key is no longer stale
/// when a usable state arrives, or the object is deleted.
#[derive(Clone, Default)]
pub struct Stale(Tree<Packed, Arc<str>>);

impl Stale {
    /// Why the newest state under this key could not be used; `None` if the key is not stale.
    pub fn get(&self, key: &ObjectKey) -> Option<&str> {
        self.0.get(key.into()).map(|reason| &**reason)
    }

    /// Whether the key is stale.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some()
    }

    /// The stale keys and the reasons, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (KeyRef<'_>, &str)> {
        self.0.iter().map(|(key, reason)| (key, &**reason))
    }

    /// The number of stale keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key is stale.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn mark(&mut self, key: &ObjectKey, reason: Arc<str>) {
        self.0.insert(key.into(), reason);
    }

    pub(super) fn clear(&mut self, key: &ObjectKey) {
        self.0.remove(key.into());
    }
}

impl fmt::Debug for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(key, reason)| (key.to_string(), reason)))
            .finish()
    }
}
