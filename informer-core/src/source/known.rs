//! What the cache already has, so that a relist does not decode unchanged objects again.

use std::fmt;
use std::sync::{Arc, Weak};

use super::Identity;
use crate::key::ObjectKey;

/// The objects that the cache has while a whole state is read again.
///
/// A source that can read the identity of an object without decoding it yields
/// [`ListEvent::Unchanged`](super::ListEvent::Unchanged) or
/// [`WatchEvent::Unchanged`](super::WatchEvent::Unchanged) for an object that this contains. It becomes empty
/// when the state is complete.
#[derive(Clone)]
pub struct Known(Weak<dyn Lookup>);

/// Finds objects in a state of the cache.
pub(crate) trait Lookup: Send + Sync {
    /// Whether the state has an object with this key, UID and version.
    fn contains(&self, identity: &Identity) -> bool;
}

impl Known {
    /// Nothing: every object is decoded.
    pub fn nothing() -> Self {
        struct Nothing;
        impl Lookup for Nothing {
            fn contains(&self, _: &Identity) -> bool {
                false
            }
        }
        Self(Weak::<Nothing>::new())
    }

    /// What this state has, until it is dropped.
    pub(crate) fn of<L: Lookup + 'static>(state: &Arc<L>) -> Self {
        let weak: Weak<L> = Arc::downgrade(state);
        Self(weak)
    }

    /// Whether it certainly contains nothing, so that identities need not be read.
    pub fn is_empty(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// The key of an object whose state the cache has. Its identity is not read if nothing is known.
    pub(super) fn key_of(&self, identify: impl FnOnce() -> Option<Identity>) -> Option<ObjectKey> {
        let state = self.0.upgrade()?;
        let identity = identify()?;
        identity.key.clone().filter(|_| state.contains(&identity))
    }

    /// Whether the cache has this state of the object.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.0.upgrade().is_some_and(|state| state.contains(identity))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}
