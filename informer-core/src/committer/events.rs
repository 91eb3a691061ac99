//! Which events a change produces, and the comparisons behind it.

use super::Core;
use crate::delta::{Departed, ResyncTicket, Unusable};
use crate::handler::{Departure, Notification, Origin, UpdateCause};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::processor::Audience;
use crate::resource_version::ResourceVersion;
use crate::storage::Stored;

impl<K: Object> Core<K> {
    /// Delivers every object again to the handlers a resync is due for.
    pub(super) fn resync(&mut self, ticket: &ResyncTicket) {
        let mut distribution = self.wiring.processor.resync(ticket);
        for object in self.writer.indexer().peek().list_stored() {
            distribution.deliver(Audience::All, Notification::resynced(object));
        }
    }
}

/// The events when the state of a key becomes `new`. Another UID means that the old object was deleted
/// unseen, so handlers receive its deletion before the addition (I10).
pub(super) fn upsert_events<K: Object>(
    key: &ObjectKey,
    old: Option<Stored<K>>,
    new: Stored<K>,
    origin: Origin,
) -> impl Iterator<Item = Notification<K>> {
    let (first, second) = match old {
        None => (Notification::added(new, origin), None),
        Some(old) if !old.is_same_object(&new) && !mutant::is("I10") => {
            let added = Notification::added(new, origin);
            (Notification::missed(key.clone(), old), Some(added))
        }
        Some(old) => {
            let cause = UpdateCause::Change;
            (Notification::Updated { old, new, cause }, None)
        }
    };
    std::iter::once(first).chain(second)
}

/// The event for a deletion. If the deleted object is not the cached one, it was created unseen under the
/// same name. Handlers know only the cached one, which no longer exists either.
pub(super) fn deletion<K: Object>(key: &ObjectKey, departed: Departed<K>, last: Stored<K>) -> Departure<K> {
    match departed {
        Departed::Observed(object) if last.is_same_object(&object) => Departure::Observed(object),
        Departed::Observed(_) | Departed::KeyOnly => Departure::Missed {
            key: key.clone(),
            last_known: last,
        },
    }
}

/// Whether a version is known to be older than that of the cached object.
pub(super) fn is_older(version: Option<&ResourceVersion>, held: Option<&ResourceVersion>) -> bool {
    matches!((version, held), (Some(version), Some(held)) if version.is_older_than(held))
}

/// Whether an unusable state is known to belong to another object than the cached one: both UIDs are known
/// and differ.
pub(super) fn is_another<K: Object>(held: &Stored<K>, unusable: &Unusable) -> bool {
    let held = held.uid().filter(|uid| !uid.is_empty());
    let unusable = unusable.uid.as_deref().filter(|uid| !uid.is_empty());
    matches!((held, unusable), (Some(held), Some(unusable)) if held != unusable)
}
