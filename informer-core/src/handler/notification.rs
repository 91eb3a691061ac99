//! An event that waits for a handler: its objects are not decoded before it is delivered.

use super::{Deleted, Event, Origin, UpdateCause};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::storage::Stored;

/// An [`Event`] before its delivery. Many may wait, so their objects stay in the form of the store.
pub(crate) enum Notification<K> {
    Added {
        object: Stored<K>,
        origin: Origin,
    },
    Updated {
        old: Stored<K>,
        new: Stored<K>,
        cause: UpdateCause,
    },
    Deleted(Departure<K>),
}

/// A [`Deleted`] before its delivery.
pub(crate) enum Departure<K> {
    Observed(Stored<K>),
    Missed { key: ObjectKey, last_known: Stored<K> },
}

impl<K> Notification<K> {
    pub(crate) fn added(object: Stored<K>, origin: Origin) -> Self {
        Self::Added { object, origin }
    }

    /// An object that is delivered again.
    pub(crate) fn resynced(object: Stored<K>) -> Self {
        Self::Updated {
            old: object.clone(),
            new: object,
            cause: UpdateCause::Resync,
        }
    }

    pub(crate) fn missed(key: ObjectKey, last_known: Stored<K>) -> Self {
        Self::Deleted(Departure::Missed { key, last_known })
    }

    /// The event, to be delivered. Decodes packed objects. `None` if that fails, which is a bug and is
    /// logged.
    pub(crate) fn into_event(self) -> Option<Event<K>> {
        Some(match self {
            Self::Added { object, origin } => Event::Added {
                object: object.into_object()?,
                origin,
            },
            Self::Updated { old, new, cause } => {
                let is_same = old.is_same(&new);
                let new = new.into_object()?;
                let old = match is_same {
                    true => new.clone(),
                    false => old.into_object().unwrap_or_else(|| new.clone()),
                };
                Event::Updated { old, new, cause }
            }
            Self::Deleted(Departure::Observed(object)) => {
                Event::Deleted(Deleted::Observed(object.into_object()?))
            }
            Self::Deleted(Departure::Missed { key, last_known }) => Event::Deleted(Deleted::Missed {
                key,
                last_known: last_known.into_object()?,
            }),
        })
    }
}

impl<K: Object> Notification<K> {
    /// The key of the object; `None` if a transform removed its name.
    pub(crate) fn key(&self) -> Option<ObjectKey> {
        match self {
            Self::Added { object, .. }
            | Self::Updated { new: object, .. }
            | Self::Deleted(Departure::Observed(object)) => object.key(),
            Self::Deleted(Departure::Missed { key, .. }) => Some(key.clone()),
        }
    }
}

// A derived `Clone` would require `K: Clone`.
impl<K> Clone for Notification<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, origin } => Self::added(object.clone(), *origin),
            Self::Updated { old, new, cause } => Self::Updated {
                old: old.clone(),
                new: new.clone(),
                cause: *cause,
            },
            Self::Deleted(departure) => Self::Deleted(departure.clone()),
        }
    }
}

impl<K> Clone for Departure<K> {
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

#[cfg(test)]
impl<K: Object> From<Event<K>> for Notification<K> {
    fn from(event: Event<K>) -> Self {
        match event {
            Event::Added { object, origin } => Self::added(object.into(), origin),
            Event::Updated { old, new, cause } => Self::Updated {
                old: old.into(),
                new: new.into(),
                cause,
            },
            Event::Deleted(Deleted::Observed(object)) => Self::Deleted(Departure::Observed(object.into())),
            Event::Deleted(Deleted::Missed { key, last_known }) => Self::missed(key, last_known.into()),
        }
    }
}
