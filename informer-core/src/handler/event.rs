//! Events: what happened to one object, as delivered to one handler.

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::object::{AnyObject, Name, Object};

/// One change, as delivered to one handler.
///
/// Per object a handler receives an addition, then updates, then a deletion, and `old` is always the state
/// it received last. Matching is exhaustive, so no deletion can be forgotten: client-go's tombstone is
/// [`Deleted::Missed`].
///
/// `Debug` prints keys and versions, never contents: objects may be Secrets.
pub enum Event<K: ?Sized> {
    /// An object was added to the store.
    #[non_exhaustive]
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether it is part of the state the handler started from.
        origin: Origin,
    },
    /// An object changed, or is delivered again because of a resync.
    #[non_exhaustive]
    Updated {
        /// The state of this object that the handler received last.
        old: Arc<K>,
        /// The new state. The same `Arc` as `old` for a resync.
        new: Arc<K>,
        /// Why it is delivered.
        cause: UpdateCause,
    },
    /// An object was deleted.
    Deleted(Deleted<K>),
}

/// Where an addition comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The state the handler started from: the informer's first list, or the store at the time the handler
    /// was added.
    Initial,
    /// It appeared after that.
    Live,
}

/// Why an update is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateCause {
    /// The object changed.
    Change,
    /// Nothing changed: a resync is due.
    Resync,
}

/// A deletion.
pub enum Deleted<K: ?Sized> {
    /// The server reported it, with the object's last state.
    Observed(Arc<K>),
    /// It was found missing, or its last state could not be read: this is the last state the store had.
    #[non_exhaustive]
    Missed {
        /// The object's key.
        key: ObjectKey,
        /// The last known state, which may not be the object's last one.
        last_known: Arc<K>,
    },
}

impl<K: ?Sized> Event<K> {
    /// Creates an addition, for tests of handlers.
    pub fn added(object: Arc<K>, origin: Origin) -> Self {
        Self::Added { object, origin }
    }

    /// Creates an update, for tests of handlers.
    pub fn updated(old: Arc<K>, new: Arc<K>, cause: UpdateCause) -> Self {
        Self::Updated { old, new, cause }
    }

    /// Creates a deletion that was detected later, for tests of handlers.
    pub fn missed(key: ObjectKey, last_known: Arc<K>) -> Self {
        Self::Deleted(Deleted::Missed { key, last_known })
    }

    /// The newest state in the event: for a deletion, the last known one.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted(deleted) => deleted.last_known(),
        }
    }
}

impl<K: AnyObject + ?Sized> Event<K> {
    /// The key of the object; `None` if a transform removed its name.
    pub fn key(&self) -> Option<ObjectKey> {
        match self {
            Self::Deleted(deleted) => deleted.key(),
            Self::Added { .. } | Self::Updated { .. } => ObjectKey::of(self.object().metadata()),
        }
    }
}

impl<K: ?Sized> Deleted<K> {
    /// The object's last known state.
    pub fn last_known(&self) -> &Arc<K> {
        match self {
            Self::Observed(object) => object,
            Self::Missed { last_known, .. } => last_known,
        }
    }
}

impl<K: AnyObject + ?Sized> Deleted<K> {
    /// The object's key; `None` if a transform removed its name.
    pub fn key(&self) -> Option<ObjectKey> {
        match self {
            Self::Observed(object) => ObjectKey::of(object.metadata()),
            Self::Missed { key, .. } => Some(key.clone()),
        }
    }
}

impl<K: Object> Event<K> {
    /// The same event, for an object whose kind is known only at run time.
    pub fn erase(self) -> Event<dyn AnyObject> {
        match self {
            Self::Added { object, origin } => Event::Added { object, origin },
            Self::Updated { old, new, cause } => Event::Updated { old, new, cause },
            Self::Deleted(Deleted::Observed(object)) => Event::Deleted(Deleted::Observed(object)),
            Self::Deleted(Deleted::Missed { key, last_known }) => {
                Event::Deleted(Deleted::Missed { key, last_known })
            }
        }
    }
}

// A derived `Clone` would require `K: Clone`; an event only holds references.
impl<K: ?Sized> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, origin } => Self::Added {
                object: object.clone(),
                origin: *origin,
            },
            Self::Updated { old, new, cause } => Self::Updated {
                old: old.clone(),
                new: new.clone(),
                cause: *cause,
            },
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
        }
    }
}

impl<K: ?Sized> Clone for Deleted<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Observed(object) => Self::Observed(object.clone()),
            Self::Missed { key, last_known } => Self::Missed {
                key: key.clone(),
                last_known: last_known.clone(),
            },
        }
    }
}

impl<K: AnyObject + ?Sized> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { object, origin } => write!(f, "Added({}, {origin:?})", Name(object.as_ref())),
            Self::Updated { old, new, cause } => {
                write!(
                    f,
                    "Updated({} -> {}, {cause:?})",
                    Name(old.as_ref()),
                    Name(new.as_ref())
                )
            }
            Self::Deleted(deleted) => write!(f, "Deleted({deleted:?})"),
        }
    }
}

impl<K: AnyObject + ?Sized> fmt::Debug for Deleted<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observed(object) => write!(f, "Observed({})", Name(object.as_ref())),
            Self::Missed { key, last_known } => {
                write!(f, "Missed({key}, last known {})", Name(last_known.as_ref()))
            }
        }
    }
}
