//! Which events a change produces, and the comparisons behind it.

use std::sync::Arc;

use super::Core;
use crate::delta::{Departed, ResyncTicket, Unusable};
use crate::handler::{Deleted, Event, Origin, UpdateCause};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::{Object, is_same_object};
use crate::processor::Audience;
use crate::resource_version::ResourceVersion;

impl<K: Object> Core<K> {
    /// Delivers every object again to the handlers a resync is due for.
    pub(super) fn resync(&mut self, ticket: &ResyncTicket) {
        let mut distribution = self.wiring.processor.resync(ticket);
        for object in self.writer.indexer().peek().list() {
            let event = Event::Updated {
                old: object.clone(),
                new: object,
                cause: UpdateCause::Resync,
            };
            distribution.deliver(Audience::All, &event);
        }
    }
}

/// The events when the state of a key becomes `new`. Another UID means that the old object was deleted
/// unseen, so handlers receive its deletion before the addition (I10).
pub(super) fn upsert_events<K: Object>(
    key: &ObjectKey,
    old: Option<&Arc<K>>,
    new: &Arc<K>,
    origin: Origin,
) -> Vec<Event<K>> {
    let added = || Event::Added {
        object: new.clone(),
        origin,
    };
    match old {
        None => vec![added()],
        Some(old) if !is_same_object(old.as_ref(), new.as_ref()) && !mutant::is("I10") => {
            vec![Event::missed(key.clone(), old.clone()), added()]
        }
        Some(old) => {
            vec![Event::Updated {
                old: old.clone(),
                new: new.clone(),
                cause: UpdateCause::Change,
            }]
        }
    }
}

/// The event for a deletion. If the deleted object is not the cached one, it was created unseen under the
/// same name. Handlers know only the cached one, which no longer exists either.
pub(super) fn deletion<K: Object>(key: &ObjectKey, departed: Departed<K>, last: Arc<K>) -> Deleted<K> {
    match departed {
        Departed::Observed(object) if is_same_object(last.as_ref(), object.as_ref()) => {
            Deleted::Observed(object)
        }
        Departed::Observed(_) | Departed::KeyOnly => Deleted::Missed {
            key: key.clone(),
            last_known: last,
        },
    }
}

/// Whether a version is known to be older than the cached object.
pub(super) fn is_older<K: Object>(version: Option<&ResourceVersion>, current: Option<&K>) -> bool {
    let held = current.and_then(|current| ResourceVersion::of(current.meta()));
    matches!((version, held), (Some(version), Some(held)) if version.is_older_than(&held))
}

/// Whether an unusable state is known to belong to another object than the cached one: both UIDs are known
/// and differ.
pub(super) fn is_another<K: Object>(held: &K, unusable: &Unusable) -> bool {
    let held = held.meta().uid.as_deref().filter(|uid| !uid.is_empty());
    let unusable = unusable.uid.as_deref().filter(|uid| !uid.is_empty());
    matches!((held, unusable), (Some(held), Some(unusable)) if held != unusable)
}
