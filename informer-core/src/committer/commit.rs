//! From deltas to one commit and the events that report it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::Core;
use crate::delta::{
    Change, Delta, Deltas, Departed, InitialSync, ReplaceAll, ResyncTicket, Rewind, Unusable,
};
use crate::handler::{Deleted, Event, Origin, UpdateCause};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::{Object, is_same_object};
use crate::processor::{Audience, Distribution};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::store::{Missing, Outcome, Replaced, Replacement};

impl<K: Object> Core<K> {
    pub(super) fn commit_changes(&mut self, deltas: Vec<Deltas<K>>, versions: &[(Scope, ResourceVersion)]) {
        let mut events: Vec<(usize, Event<K>)> = Vec::new();
        let mut outdated: BTreeMap<Scope, u64> = BTreeMap::new();
        let mut commit = self.writer.begin();
        for Deltas { key, changes } in deltas {
            let before = commit.get(&key);
            // An object newer than the store was kept through a rewind of the server, because a list could not be read in
            // full; whatever the server says of it now is right.
            let freshness = match is_older(commit.versions().of_key(&key), before.as_deref()) {
                true => Held::LeftOver,
                false => Held::Current,
            };
            let settled = settle(&key, before.as_ref(), freshness, changes);
            events.extend(settled.events);
            if settled.outdated > 0
                && let Some(scope) = commit.versions().scope_of(&key)
            {
                *outdated.entry(scope).or_default() += settled.outdated;
            }
            match (before, settled.current) {
                (Some(before), Some(current)) if Arc::ptr_eq(&before, &current) => {}
                (_, Some(current)) => {
                    commit.upsert(key.clone(), current);
                }
                // Also where there was nothing: the object may be known as one that cannot be used.
                (_, None) => {
                    commit.remove(&key);
                }
            }
            // After the object: putting one in, or taking it out, clears the mark.
            if let Some(reason) = settled.trouble {
                commit.mark_stale(&key, reason);
            }
        }
        self.wiring.board.outdated(&outdated);
        // After the objects: what a rewind left over is recognised by the version from before this batch.
        for (scope, version) in versions {
            commit.set_version(scope, version.clone());
        }
        // The changes of one key stand together; handlers receive all keys in the order of arrival. The sort
        // is stable: a deletion and the addition that follows it may come from one change.
        events.sort_by_key(|(arrival, _)| *arrival);

        if mutant::is("I7") {
            events.reverse();
        }
        // Before publishing: a handler that is added in between would see the new state in its first
        // snapshot, and then receive these events as well.
        let publication = self.wiring.processor.publication();
        commit.publish();
        let mut distribution = publication.distribute();
        for (_, event) in &events {
            distribution.deliver(Audience::All, event);
        }
    }

    pub(super) fn commit_replacement(&mut self, state: ReplaceAll<K>, initial: InitialSync) {
        let ReplaceAll {
            scope,
            version,
            items,
            unusable,
            unreadable,
            rewind,
        } = state;
        let recreated = self.recreated(&scope, &unusable, rewind);
        let missing = match unreadable {
            _ if mutant::is("I3") => Missing::Keep,
            0 if unusable.is_empty() => Missing::Remove,
            0 => Missing::RemoveExcept(kept(&unusable, &recreated)),
            // Any object that the list lacks may be the one whose key could not be read.
            _ if recreated.is_empty() => Missing::Keep,
            _ => Missing::KeepExcept(recreated),
        };
        if mutant::is("I5") {
            // A replacement in two steps: first everything goes, then the new objects come.
            let mut half = self.writer.begin();
            let _ = half.replace(&scope, Vec::new(), Missing::Remove);
            half.publish();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let items = match rewind {
            Rewind::No if unreadable > 0 => self.without_older(&scope, items),
            _ => items,
        };
        let mut commit = self.writer.begin();
        let replacement = commit.replace(&scope, items, missing);
        // After the replacement, which clears the marks of what it removes.
        for (key, unusable) in unusable {
            commit.mark_stale(&key, unusable.reason);
        }
        match rewind {
            Rewind::Yes => commit.rewind_version(&scope, version),
            Rewind::No => {
                commit.set_version(&scope, version);
            }
        }

        let origin = match initial {
            InitialSync::First | InitialSync::Completes => Origin::Initial,
            InitialSync::Relist => Origin::Live,
        };

        // Before publishing, for the reason given in `commit_changes`.
        let mut publication = self.wiring.processor.publication();
        commit.publish();
        if initial == InitialSync::Completes {
            // Before any delivery: a handler that reads, or whose registration is in sync, must find the
            // informer so.
            self.writer.filled();
            self.wiring.synced.set();
            publication.complete_initial_state();
        }
        tell_replacement(&mut publication.distribute(), replacement, origin);
    }

    /// The keys under which the cache has another object than the one that could not be used: that one was
    /// certainly deleted.
    fn recreated(
        &self,
        scope: &Scope,
        unusable: &[(ObjectKey, Unusable)],
        rewind: Rewind,
    ) -> HashSet<ObjectKey> {
        let present = self.writer.indexer().peek();
        let reached = present.versions().get(scope);
        let is_recreated = |key: &ObjectKey, unusable: &Unusable| {
            let Some(stored) = present.peek(key) else {
                return false;
            };
            // An initial stream may show an object as it was: an older one says nothing of the one in the
            // cache, unless that is left over from before a rewind.
            let is_history = is_older(unusable.version.as_ref(), Some(&**stored))
                && !is_older(reached, Some(&**stored))
                && rewind == Rewind::No;
            !is_history && is_another(&**stored, unusable)
        };
        unusable
            .iter()
            .filter(|(key, unusable)| is_recreated(key, unusable))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Leaves out states that are older than those in the store. An initial stream may show an object as it was, and then its
    /// change; where the change could not be read, not even its key, the older state must not take the place of a newer one.
    fn without_older(&self, scope: &Scope, mut items: Vec<(ObjectKey, Arc<K>)>) -> Vec<(ObjectKey, Arc<K>)> {
        let present = self.writer.indexer().peek();
        let reached = present.versions().get(scope);
        items.retain(|(key, listed)| {
            let Some(stored) = present
                .peek(key)
                .filter(|stored| is_same_object(&***stored, &**listed))
            else {
                return true;
            };
            let (stored, listed) = (
                ResourceVersion::of(stored.meta()),
                ResourceVersion::of(listed.meta()),
            );
            let (Some(stored), Some(listed)) = (stored, listed) else {
                return true;
            };
            // What is newer than its store is left over from before a rewind, and may be replaced by anything.
            let is_left_over = reached.is_some_and(|reached| reached.is_older_than(&stored));
            is_left_over || !listed.is_older_than(&stored)
        });
        items
    }

    /// Delivers every object again to the handlers a resync is due for.
    pub(super) fn tell_again(&mut self, ticket: &ResyncTicket) {
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

/// The keys that count as present although the list has no usable state of them.
fn kept(unusable: &[(ObjectKey, Unusable)], recreated: &HashSet<ObjectKey>) -> HashSet<ObjectKey> {
    let keys = unusable.iter().map(|(key, _)| key);
    keys.filter(|key| !recreated.contains(*key)).cloned().collect()
}

/// Whether a state that cannot be used is known to be of another object than the one in the cache.
fn is_another<K: Object>(held: &K, unusable: &Unusable) -> bool {
    let held = held.meta().uid.as_deref().filter(|uid| !uid.is_empty());
    let unusable = unusable.uid.as_deref().filter(|uid| !uid.is_empty());
    matches!((held, unusable), (Some(held), Some(unusable)) if held != unusable)
}

/// Whether what the cache holds under a key is part of the history the server is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Current,
    /// It is of a history that was rewound.
    LeftOver,
}

/// What the changes of one key come to.
struct Settled<K> {
    current: Option<Arc<K>>,
    /// Why the newest state cannot be used, if it cannot.
    trouble: Option<String>,
    events: Vec<(usize, Event<K>)>,
    /// How many changes were older than what the cache has.
    outdated: u64,
}

/// Plays the changes of one key, in their order, on what the cache has.
fn settle<K: Object>(
    key: &ObjectKey,
    before: Option<&Arc<K>>,
    mut held: Held,
    changes: Vec<Change<K>>,
) -> Settled<K> {
    let mut settled = Settled {
        current: before.cloned(),
        trouble: None,
        events: Vec::new(),
        outdated: 0,
    };
    for Change {
        arrival,
        version,
        delta,
    } in changes
    {
        let current = settled.current.as_ref();
        if held == Held::Current && is_older(version.as_ref(), current.map(Arc::as_ref)) && !mutant::is("I1")
        {
            settled.outdated += 1;
            continue;
        }
        // The first change that is accepted is of the server's present history, and so is everything after
        // it.
        let before = std::mem::replace(&mut held, Held::Current);
        match delta {
            // The same state again says nothing new, and what handlers heard of it stays the old side of the next update. In a
            // history that was rewound the same version is another state.
            Delta::Added(object) | Delta::Updated(object)
                if before == Held::Current
                    && current
                        .is_some_and(|current| is_unchanged(current.as_ref(), &object, version.as_ref())) => {
            }
            Delta::Added(object) | Delta::Updated(object) => {
                let told = tell_upsert(key, current, &object, Origin::Live);
                settled
                    .events
                    .extend(told.into_iter().map(|event| (arrival, event)));
                settled.current = Some(object);
                settled.trouble = None;
            }
            Delta::Deleted(departed) => {
                // What was unusable was deleted too: the key is not known any more.
                settled.trouble = None;
                if let Some(last) = settled.current.take() {
                    settled
                        .events
                        .push((arrival, Event::Deleted(departure(key, departed, last))));
                }
            }
            Delta::Unusable(unusable) => {
                // The object that handlers know was deleted, unseen, and this one created under its name.
                if let Some(last) = settled
                    .current
                    .take_if(|current| is_another(current.as_ref(), &unusable))
                {
                    settled.events.push((arrival, Event::missed(key.clone(), last)));
                }
                settled.trouble = Some(unusable.reason);
            }
        }
    }
    settled
}

/// Deletions first, then the rest in the order of the list.
fn tell_replacement<K: Object>(
    distribution: &mut Distribution<'_, K>,
    replacement: Replacement<K>,
    origin: Origin,
) {
    for (key, last_known) in replacement.removed {
        distribution.deliver(Audience::All, &Event::missed(key, last_known));
    }
    for Replaced { key, outcome } in replacement.items {
        match outcome {
            Outcome::Added { current } => {
                distribution.deliver(Audience::All, &Event::added(current, origin));
            }
            Outcome::Updated { previous, current } => {
                for event in tell_upsert(&key, Some(&previous), &current, origin) {
                    distribution.deliver(Audience::All, &event);
                }
            }
            Outcome::Unchanged { current } => {
                let event = Event::updated(current.clone(), current, UpdateCause::Resync);
                distribution.deliver(Audience::Resyncing, &event);
            }
        }
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
fn is_unchanged<K: Object>(old: &K, new: &K, version: Option<&ResourceVersion>) -> bool {
    is_same_object(old, new) && version.is_some() && ResourceVersion::of(old.meta()).as_ref() == version
}

/// What handlers hear of a deletion. If the object that was deleted is not the one they know, because it was created unseen under
/// the same name, the one they know is gone all the same.
fn departure<K: Object>(key: &ObjectKey, departed: Departed<K>, last: Arc<K>) -> Deleted<K> {
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
