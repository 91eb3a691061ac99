//! Commits single changes, and derives the events from them.

use std::collections::BTreeMap;

use super::Core;
use super::events::{deletion, is_another, is_older, upsert_events};
use crate::delta::{Change, Delta, Deltas};
use crate::handler::{Notification, Origin};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::processor::Audience;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Stored;
use crate::store::Place;

impl<K: Object> Core<K> {
    /// Commits a run of changes in one step, and delivers their events in arrival order.
    pub(super) fn commit_changes(&mut self, deltas: Vec<Deltas<K>>, versions: &[(Scope, ResourceVersion)]) {
        let mut events: Vec<(usize, Notification<K>)> = Vec::with_capacity(deltas.len());
        let mut outdated: BTreeMap<Scope, u64> = BTreeMap::new();
        let mut commit = self.writer.begin();
        for Deltas { key, changes } in deltas {
            let mut unusable = None;
            commit.change(&key, |place, versions| {
                // No object is newer than the version of its scope, with one exception: after a rewind of the
                // server, a list that could not be read in full leaves objects of the old history in the
                // store. Their versions mean nothing now, so any change of them is accepted.
                let version = place.get().and_then(Stored::version);
                let held = match is_older(versions.of_key(&key), version.as_ref()) {
                    true => Held::LeftOver,
                    false => Held::Current,
                };
                let mut replayed = Replayed {
                    place,
                    version,
                    unusable: None,
                    outdated: 0,
                };
                replayed.replay(&key, held, changes, &mut events);
                if replayed.outdated > 0
                    && let Some(scope) = versions.scope_of(&key)
                {
                    *outdated.entry(scope).or_default() += replayed.outdated;
                }
                unusable = replayed.unusable;
            });
            // After the object: an upsert or a removal clears the mark.
            if let Some(reason) = unusable {
                commit.mark_stale(&key, reason);
            }
        }
        self.wiring.board.outdated(&outdated);
        // After the objects: left-over objects are recognised by the version from before this batch.
        for (scope, version) in versions {
            commit.set_version(scope, version.clone());
        }
        // The changes are grouped by key, but handlers receive events in arrival order over all keys. The
        // sort must be stable: one change can produce a deletion and the addition that follows it.
        events.sort_by_key(|(arrival, _)| *arrival);

        if mutant::is("I7") {
            events.reverse();
        }
        // The recipients are fixed before the commit is visible. A handler added in between would otherwise
        // find the new state in its initial snapshot, and receive these events as well.
        let publication = self.wiring.processor.publication();
        commit.publish();
        // The store comes first: a handler that reads the cache finds at least the state of its event.
        let mut distribution = publication.distribute();
        for (_, event) in events {
            distribution.deliver(Audience::All, event);
        }
    }
}

/// Which history of the server the cached object belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Current,
    /// The history from before a rewind.
    LeftOver,
}

/// The result of the changes of one key so far.
struct Replayed<'p, 's, K> {
    place: &'p mut Place<'s, K>,
    /// The version of the object in its place.
    version: Option<ResourceVersion>,
    /// Why the newest state cannot be used, if it cannot.
    unusable: Option<String>,
    /// How many changes were older than the cached object.
    outdated: u64,
}

impl<K: Object> Replayed<'_, '_, K> {
    /// Applies the changes of one key, in order, and adds their events with the arrival positions of the
    /// changes.
    fn replay(
        &mut self,
        key: &ObjectKey,
        mut held: Held,
        changes: Vec<Change<K>>,
        events: &mut Vec<(usize, Notification<K>)>,
    ) {
        for Change {
            arrival,
            version,
            delta,
        } in changes
        {
            // A server may send an old event again, for example after a failover. Versions never go back
            // (I1).
            if held == Held::Current && is_older(version.as_ref(), self.version.as_ref()) && !mutant::is("I1")
            {
                self.outdated += 1;
                continue;
            }
            // The first accepted change belongs to the server's present history, and so does everything after
            // it.
            let history = std::mem::replace(&mut held, Held::Current);
            match delta {
                // The same state again is no change: handlers get no event, and the cached object stays the
                // `old` of their next update. Not so after a rewind, where the same version may be another
                // state.
                Delta::Added(object) | Delta::Updated(object)
                    if history == Held::Current
                        && version.is_some()
                        && version == self.version
                        && self.place.get().is_some_and(|held| held.is_same_object(&object)) => {}
                // The cache decides between addition and update, not the server's event type: after a
                // reconnect a server may send `ADDED` for an object the cache has, or `MODIFIED` for one it
                // lacks.
                Delta::Added(object) | Delta::Updated(object) => {
                    self.version = object.version();
                    self.unusable = None;
                    let old = self.place.put(object.clone());
                    let caused = upsert_events(key, old, object, Origin::Live);
                    events.extend(caused.map(|event| (arrival, event)));
                }
                Delta::Deleted(departed) => {
                    // The unusable state was deleted as well.
                    self.unusable = None;
                    // Handlers never received an addition of an object that the cache lacks, so they get no
                    // deletion.
                    self.version = None;
                    if let Some(last) = self.place.remove() {
                        let event = Notification::Deleted(deletion(key, departed, last));
                        events.push((arrival, event));
                    }
                }
                Delta::Unusable(unusable) => {
                    // Another UID: the object that handlers know was deleted, and this one was created under
                    // its name. Otherwise the last good state stays, marked stale (I16).
                    if self.place.get().is_some_and(|held| is_another(held, &unusable))
                        && let Some(last) = self.place.remove()
                    {
                        self.version = None;
                        events.push((arrival, Notification::missed(key.clone(), last)));
                    }
                    self.unusable = Some(unusable.reason);
                }
            }
        }
    }
}
