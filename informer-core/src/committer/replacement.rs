//! Commits whole states, and derives the events from them.

use std::collections::HashSet;

use super::Core;
use super::events::{is_another, is_older, upsert_events};
use crate::delta::{InitialSync, ReplaceAll, Rewind, Unusable};
use crate::handler::{Notification, Origin};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::processor::{Audience, Distribution, Publication};
use crate::scope::Scope;
use crate::storage::Stored;
use crate::store::{ListedObject, Missing, Outcome, Replacement};

impl<K: Object> Core<K> {
    /// Replaces everything in a scope in one step (I5).
    ///
    /// What the state lacks is found here, against the store: everything that was queued before it is in the
    /// store by now.
    pub(super) fn commit_replacement(&mut self, state: ReplaceAll<K>, initial: InitialSync) {
        let ReplaceAll {
            scope,
            version,
            items,
            unusable,
            unreadable,
            rewind,
            provenance: _,
        } = state;
        let recreated = self.recreated(&scope, &unusable, rewind);
        let missing = match unreadable {
            _ if mutant::is("I3") => Missing::Keep,
            0 if unusable.is_empty() => Missing::Remove,
            0 => Missing::RemoveExcept(present(&unusable, &recreated)),
            // Any object that the list lacks may be the one whose key could not be read.
            _ if recreated.is_empty() => Missing::Keep,
            _ => Missing::KeepExcept(recreated),
        };
        if mutant::is("I5") {
            // A replacement in two steps: everything is removed, then the new objects are added.
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

        // An informer over several namespaces: each of them has its own first list.
        let origin = match initial {
            InitialSync::First | InitialSync::Completes | InitialSync::Seed => Origin::Initial,
            InitialSync::Relist => Origin::Live,
        };
        // Before the commit is visible, for the reason given in `commit_changes`.
        let mut publication = self.wiring.processor.publication();
        commit.publish();
        match initial {
            InitialSync::Completes => self.complete_initial_state(&mut publication),
            InitialSync::Seed => self.writer.seeded(),
            InitialSync::First | InitialSync::Relist => {}
        }
        deliver(&mut publication.distribute(), replacement, origin);
    }

    /// Completes the initial sync, if the scope whose saved state was confirmed is the last one.
    pub(super) fn commit_confirmation(&mut self, initial: InitialSync) {
        if initial == InitialSync::Completes {
            let mut publication = self.wiring.processor.publication();
            self.complete_initial_state(&mut publication);
            drop(publication.distribute());
        }
    }

    /// Called after the commit, so that `has_synced` is never true without the objects (I9). Before any
    /// delivery: a handler that reads the cache, or whose registration is synced, must find the informer
    /// synced.
    pub(super) fn complete_initial_state(&self, publication: &mut Publication<'_, K>) {
        self.writer.filled();
        self.wiring.synced.set();
        publication.complete_initial_state();
    }

    /// The keys under which the list has an unusable object that is not the cached one. The cached object was
    /// certainly deleted.
    fn recreated(
        &self,
        scope: &Scope,
        unusable: &[(ObjectKey, Unusable)],
        rewind: Rewind,
    ) -> HashSet<ObjectKey> {
        let snapshot = self.writer.indexer().peek();
        let reached = snapshot.versions().get(scope);
        let is_recreated = |key: &ObjectKey, unusable: &Unusable| {
            let Some(stored) = snapshot.stored(key) else {
                return false;
            };
            // A watch-list may begin with an old state of an object. One that is older than the cached object
            // proves nothing, unless the cached object is left over from before a rewind.
            let held = stored.version();
            let is_history = is_older(unusable.version.as_ref(), held.as_ref())
                && !is_older(reached, held.as_ref())
                && rewind == Rewind::No;
            !is_history && is_another(stored, unusable)
        };
        unusable
            .iter()
            .filter(|(key, unusable)| is_recreated(key, unusable))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Drops states that are older than the cached ones.
    ///
    /// A watch-list may send an old state of an object and then its change. If the key of the change could
    /// not be read, only the old state is left, and it must not replace a newer one (I1).
    fn without_older(
        &self,
        scope: &Scope,
        mut items: Vec<(ObjectKey, Stored<K>)>,
    ) -> Vec<(ObjectKey, Stored<K>)> {
        let snapshot = self.writer.indexer().peek();
        let reached = snapshot.versions().get(scope);
        items.retain(|(key, listed)| {
            let stored = snapshot.stored(key);
            let Some(stored) = stored.filter(|stored| stored.is_same_object(listed)) else {
                return true;
            };
            let (Some(stored), Some(listed)) = (stored.version(), listed.version()) else {
                return true;
            };
            // An object newer than its scope is left over from before a rewind, and any state may replace it.
            let is_left_over = reached.is_some_and(|reached| reached.is_older_than(&stored));
            is_left_over || !listed.is_older_than(&stored)
        });
        items
    }
}

/// The keys that count as present although the list has no usable state of them.
fn present(unusable: &[(ObjectKey, Unusable)], recreated: &HashSet<ObjectKey>) -> HashSet<ObjectKey> {
    let keys = unusable.iter().map(|(key, _)| key);
    keys.filter(|key| !recreated.contains(*key)).cloned().collect()
}

/// Delivers deletions first, then the rest in list order, as upstream's RealFIFO does.
pub(super) fn deliver<K: Object>(
    distribution: &mut Distribution<'_, K>,
    replacement: Replacement<K>,
    origin: Origin,
) {
    for (key, last_known) in replacement.removed {
        distribution.deliver(Audience::All, Notification::missed(key, last_known));
    }
    for ListedObject { key, outcome } in replacement.items {
        match outcome {
            Outcome::Added { current } => {
                distribution.deliver(Audience::All, Notification::added(current, origin));
            }
            Outcome::Updated { previous, current } => {
                for event in upsert_events(&key, Some(previous), current, origin) {
                    distribution.deliver(Audience::All, event);
                }
            }
            // Upstream delivers a relist's unchanged objects to handlers with a resync period.
            Outcome::Unchanged { current } => {
                distribution.deliver(Audience::Resyncing, Notification::resynced(current));
            }
        }
    }
}
