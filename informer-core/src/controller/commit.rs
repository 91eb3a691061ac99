//! From deltas to one commit and the events that tell of it.

use std::sync::Arc;

use super::Core;
use crate::delta::{Change, Delta, Deltas, Departed, ReplaceAll, ResyncTicket, Rewind};
use crate::handler::{Deleted, Event, Origin, UpdateCause};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::{Object, is_same_object};
use crate::processor::Audience;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::store::{Missing, Outcome, Replaced};

impl<K: Object> Core<K> {
    pub(super) fn commit_changes(&mut self, deltas: Vec<Deltas<K>>, versions: &[(Scope, ResourceVersion)]) {
        let mut stale = 0;
        let mut events: Vec<(usize, Event<K>)> = Vec::new();
        let mut commit = self.writer.begin();
        for Deltas { key, changes } in deltas {
            let before = commit.get(&key);
            // An object newer than the store was kept through a rewind of the server, because a list could not be read in
            // full; whatever the server says of it now is right.
            let mut left_over = is_older(commit.versions().of_key(&key), before.as_deref());
            let mut current = before.clone();
            let mut trouble: Option<String> = None;
            for Change {
                arrival,
                version,
                delta,
            } in changes
            {
                if !left_over && is_older(version.as_ref(), current.as_deref()) && !mutant::is("I1") {
                    stale += 1;
                    continue;
                }
                left_over = false;
                match delta {
                    // The same state again says nothing new, and what handlers heard of it stays the old side of
                    // the next update.
                    Delta::Added(object) | Delta::Updated(object)
                        if current
                            .as_deref()
                            .is_some_and(|current| is_unchanged(current, &object)) => {}
                    Delta::Added(object) | Delta::Updated(object) => {
                        trouble = None;
                        let told = tell_upsert(&key, current.as_ref(), &object, Origin::Live);
                        events.extend(told.into_iter().map(|event| (arrival, event)));
                        current = Some(object);
                    }
                    Delta::Deleted(departed) => {
                        trouble = None;
                        if let Some(last) = current.take() {
                            events.push((arrival, Event::Deleted(departure(&key, departed, last))));
                        }
                    }
                    Delta::Unusable(reason) => trouble = Some(reason),
                }
            }
            match (before, current) {
                (Some(before), Some(current)) if Arc::ptr_eq(&before, &current) => {}
                (_, Some(current)) => {
                    commit.upsert(key.clone(), current);
                }
                // Also where there was nothing: the object may be known as one that cannot be used.
                (_, None) => {
                    commit.remove(&key);
                }
            }
            if let Some(reason) = trouble {
                commit.mark_stale(&key, reason);
            }
        }
        for (scope, version) in versions {
            commit.set_version(scope, version.clone());
        }
        // The changes of one key stand together; handlers hear all keys in the order of arrival.
        events.sort_by_key(|(arrival, _)| *arrival);

        let mut distribution = self.wiring.processor.distribution();
        if !mutant::is("I7") {
            commit.publish();
            for (_, event) in &events {
                distribution.tell(&Audience::All, event);
            }
        } else {
            for (_, event) in events.iter().rev() {
                distribution.tell(&Audience::All, event);
            }
            commit.publish();
        }
        distribution.sweep();
        drop(distribution);
        self.wiring.board.stale(stale);
    }

    pub(super) fn commit_replacement(&mut self, state: ReplaceAll<K>) {
        let unusable = state.unusable_keys();
        let ReplaceAll {
            scope,
            version,
            items,
            unusable: reasons,
            unreadable,
            rewind,
            first,
            ..
        } = state;
        let missing = match (unreadable, unusable.is_empty()) {
            _ if mutant::is("I3") => Missing::Keep,
            (0, true) => Missing::Remove,
            (0, false) => Missing::RemoveExcept(unusable),
            (_, _) => Missing::Keep,
        };
        if mutant::is("I5") {
            // A replacement in two steps: first everything goes, then the new objects come.
            let mut half = self.writer.begin();
            let _ = half.replace(&scope, Vec::new(), Missing::Remove);
            half.publish();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut commit = self.writer.begin();
        let replacement = commit.replace(&scope, items, missing);
        for (key, reason) in reasons {
            commit.mark_stale(&key, reason);
        }
        match rewind {
            Rewind::Yes => commit.rewind_version(&scope, version),
            Rewind::No => {
                commit.set_version(&scope, version);
            }
        }

        let origin = if first { Origin::Initial } else { Origin::Live };
        self.unsynced.remove(&scope);
        let complete = first && self.unsynced.is_empty();

        let mut distribution = self.wiring.processor.distribution();
        commit.publish();
        if complete {
            // Before the handlers are told: one that reads, or whose registration is in sync, must find the informer so.
            self.writer.filled();
            self.wiring.synced.set();
        }
        for (key, last_known) in replacement.removed {
            distribution.tell(&Audience::All, &Event::missed(key, last_known));
        }
        for Replaced { key, outcome } in replacement.items {
            match outcome {
                Outcome::Added { current } => {
                    distribution.tell(
                        &Audience::All,
                        &Event::Added {
                            object: current,
                            origin,
                        },
                    );
                }
                Outcome::Updated { previous, current } => {
                    for event in tell_upsert(&key, Some(&previous), &current, origin) {
                        distribution.tell(&Audience::All, &event);
                    }
                }
                Outcome::Unchanged { current } => {
                    let event = Event::Updated {
                        old: current.clone(),
                        new: current,
                        cause: UpdateCause::Resync,
                    };
                    distribution.tell(&Audience::Resyncing, &event);
                }
            }
        }
        if complete {
            distribution.initial_end();
        }
        distribution.sweep();
        drop(distribution);
    }

    /// Tells every object again to those a resync is due for.
    pub(super) fn tell_again(&mut self, ticket: &ResyncTicket) {
        let mut distribution = self.wiring.processor.distribution();
        for object in self.writer.indexer().peek().list() {
            let event = Event::Updated {
                old: object.clone(),
                new: object,
                cause: UpdateCause::Resync,
            };
            distribution.tell(&Audience::Due(ticket), &event);
        }
        distribution.sweep();
    }
}

/// Whether a version is known to be older than the object the cache has.
fn is_older<K: Object>(version: Option<&ResourceVersion>, current: Option<&K>) -> bool {
    let held = current.and_then(|current| ResourceVersion::of(current.meta()));
    matches!((version, held), (Some(version), Some(held)) if version.is_older_than(&held))
}

/// What handlers hear when a key's state becomes `new`.
fn tell_upsert<K: Object>(
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

/// Whether the server sent the very state the cache has.
fn is_unchanged<K: Object>(old: &K, new: &K) -> bool {
    let versions = (ResourceVersion::of(old.meta()), ResourceVersion::of(new.meta()));
    is_same_object(old, new) && matches!(versions, (Some(old), Some(new)) if old == new)
}

fn departure<K>(key: &ObjectKey, departed: Departed<K>, last: Arc<K>) -> Deleted<K> {
    match departed {
        Departed::Observed(object) => Deleted::Observed(object),
        Departed::KeyOnly => Deleted::Missed {
            key: key.clone(),
            last_known: last,
        },
    }
}
