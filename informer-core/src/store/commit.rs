//! A set of changes that becomes visible all at once.

use std::fmt;
use std::sync::Arc;

use super::index::AnyIndex;
use super::key_ref::KeyRef;
use super::place::Place;
use super::snapshot::Snapshot;
use super::spare::{Log, Step};
use super::state::{Objects, StoreShared, StoreState};
use super::versions::{VersionChange, Versions};
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Stored;

/// Changes that are not yet visible.
///
/// Its own reads see its changes. All other readers see none of them until [`publish`](Self::publish), and
/// then all of them: objects, indexes, versions and stale keys. Dropping it without publishing changes
/// nothing. Index functions run while objects are inserted, with no lock held.
#[must_use = "a commit that is not published changes nothing"]
pub(crate) struct Commit<'w, K> {
    shared: &'w StoreShared<K>,
    base: Arc<StoreState<K>>,
    pub(super) state: StoreState<K>,
    /// What this commit changes, for the state it replaces.
    log: Log<K>,
}

/// The object under a key before its changes.
struct Before<K> {
    address: usize,
    bytes: u32,
    /// The object itself, if there are indexes.
    indexed: Option<Stored<K>>,
}

impl<K> Before<K> {
    fn of(object: &Stored<K>, indexes: &[Arc<dyn AnyIndex<K>>]) -> Self {
        Self {
            address: object.address(),
            bytes: object.bytes(),
            indexed: (!indexes.is_empty()).then(|| object.clone()),
        }
    }
}

impl<'w, K: Send + Sync + 'static> Commit<'w, K> {
    pub(super) fn new(shared: &'w StoreShared<K>) -> Self {
        // No other writer exists, so only indexes can be added until this commit is published.
        let base = shared.peek();
        let mut publishing = shared.publishing();
        let (spare, log) = (publishing.take_spare(), publishing.log());
        drop(publishing);
        Self {
            shared,
            state: spare
                .and_then(|spare| spare.catch_up(&base))
                .unwrap_or_else(|| StoreState::clone(&base)),
            log,
            base,
        }
    }

    /// The object under a key, including the changes of this commit.
    #[cfg(test)]
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Stored<K>> {
        self.state.objects.get(key.into()).cloned()
    }

    /// The number of objects, including the changes of this commit.
    pub(crate) fn len(&self) -> usize {
        self.state.objects.len()
    }

    /// The version of every scope, including the changes of this commit.
    pub(crate) fn versions(&self) -> &Versions {
        &self.state.versions
    }

    /// Inserts an object and returns the one it replaces. Its key is no longer stale.
    pub(crate) fn upsert(&mut self, key: ObjectKey, object: impl Into<Stored<K>>) -> Option<Stored<K>> {
        let stored = object.into();
        let old = self.state.objects.insert(KeyRef::from(&key), stored.clone());
        if let Some(old) = old {
            let before = Before::of(&old, &self.state.indexes);
            self.note(&key, &before, Some(&stored));
            self.log.record(|| Step::Put(key, stored));
            return Some(old);
        }
        self.state.stale.clear(&key);
        self.state.changes += 1;
        self.state.bytes += u64::from(stored.bytes());
        self.update_indexes(KeyRef::from(&key), None, Some(&stored));
        self.log.record(|| Step::Put(key, stored));
        None
    }

    /// Changes what is stored under a key, given the versions of the scopes. Searches the key only once,
    /// unless it is added or removed. It is no longer stale if an object was put, or none is stored.
    pub(crate) fn change(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Place<'_, K>, &Versions)) {
        let Some((slot, at)) = self.state.objects.find_mut(key.into()) else {
            let mut place = Place::Free;
            change(&mut place, &self.state.versions);
            match place {
                Place::Added(new) => drop(self.upsert(key.clone(), new)),
                Place::Free | Place::Held(_) | Place::Removed(_) => self.state.stale.clear(key),
            }
            return;
        };
        let before = Before::of(slot, &self.state.indexes);
        let mut place = Place::Held(slot);
        change(&mut place, &self.state.versions);
        match place {
            Place::Held(slot) if slot.address() == before.address => {}
            Place::Held(slot) => {
                let new = slot.clone();
                self.note(key, &before, Some(&new));
                let old = before.address;
                self.log.record(|| Step::Replaced { at, old, new });
            }
            Place::Removed(_) | Place::Free | Place::Added(_) => {
                self.state.objects.remove(key.into());
                self.note(key, &before, None);
                self.log.record(|| Step::Removed(key.clone()));
            }
        }
    }

    /// Records that the object under a key was replaced or removed.
    fn note(&mut self, key: &ObjectKey, before: &Before<K>, new: Option<&Stored<K>>) {
        self.state.stale.clear(key);
        self.state.changes += 1;
        self.state.bytes += new.map_or(0, |new| u64::from(new.bytes()));
        self.state.bytes -= u64::from(before.bytes);
        self.update_indexes(key.into(), before.indexed.as_ref(), new);
    }

    /// Removes an object and returns it. Its key is no longer stale, even if no object was stored.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Stored<K>> {
        self.state.stale.clear(key);
        let old = self.state.objects.remove(KeyRef::from(key))?;
        self.state.changes += 1;
        self.state.bytes -= u64::from(old.bytes());
        self.update_indexes(KeyRef::from(key), Some(&old), None);
        self.log.record(|| Step::Removed(key.clone()));
        Some(old)
    }

    /// Adds a scope before its first list, so that a wait for a version waits for this scope too.
    pub(crate) fn announce_scope(&mut self, scope: &Scope) {
        self.state.versions.announce(scope);
    }

    /// Removes a scope: waits no longer wait for it. Its objects are not removed.
    pub(crate) fn forget_scope(&mut self, scope: &Scope) {
        self.state.versions.forget(scope);
    }

    /// Moves the version of a scope forward. An older version is refused; one that cannot be ordered
    /// against the current one is accepted. Inserting objects does not move the version: only the caller
    /// knows whether they arrive in the order of the server's history.
    pub(crate) fn set_version(&mut self, scope: &Scope, version: ResourceVersion) -> VersionChange {
        self.state.versions.advance(scope, version)
    }

    /// Sets the version of a scope even if it is older, because the server was rewound (an etcd restore).
    pub(crate) fn rewind_version(&mut self, scope: &Scope, version: ResourceVersion) {
        self.state.versions.rewind(scope, version);
    }

    /// Records that the newest state under a key could not be used. The stored object, if any, stays.
    pub(crate) fn mark_stale(&mut self, key: &ObjectKey, reason: impl Into<Arc<str>>) {
        self.state.stale.mark(key, reason.into());
    }

    /// Makes all changes visible at once, and returns the new snapshot.
    pub(crate) fn publish(mut self) -> Snapshot<K> {
        loop {
            // Held from the check to the publication: an index added in between would be lost.
            let mut publishing = self.shared.publishing();
            let added = self.shared.peek().indexes[self.state.indexes.len()..].to_vec();
            if added.is_empty() {
                let state = Arc::new(self.state);
                let unheld = self.shared.publish(&mut publishing, state.clone(), self.log);
                drop(publishing);
                // May free many objects, so it comes after the lock.
                drop(unheld);
                return Snapshot(state);
            }
            // An index that was added after this commit began was built from the state before it, so it
            // lacks these changes. Its function is user code and may be slow: it runs without the lock, and
            // then the check is repeated, because another index may have been added in the meantime.
            drop(publishing);
            for mut index in added {
                owned(&mut index).catch_up(&self.base.objects, &self.state.objects);
                self.state.indexes.push(index);
            }
        }
    }

    fn update_indexes(&mut self, key: KeyRef<'_>, old: Option<&Stored<K>>, new: Option<&Stored<K>>) {
        for index in &mut self.state.indexes {
            owned(index).apply(key, old, new);
        }
    }

    /// Replaces all objects, and rebuilds every index.
    pub(super) fn set_objects(&mut self, objects: Objects<K>) {
        self.log = Log::Lost;
        // An upper bound: how many of the objects are the same in both is not known here.
        self.state.changes += self.state.objects.len().max(objects.len()) as u64;
        self.state.objects = objects;
        self.state.bytes = self
            .state
            .objects
            .iter()
            .map(|(_, stored)| u64::from(stored.bytes()))
            .sum();
        for index in &mut self.state.indexes {
            owned(index).rebuild(&self.state.objects);
        }
    }
}

/// The index to change: `index` itself if only this commit holds it, otherwise a copy in its place. The
/// first change of a commit copies, because published snapshots hold the original; later changes do not.
fn owned<K: 'static>(index: &mut Arc<dyn AnyIndex<K>>) -> &mut dyn AnyIndex<K> {
    if Arc::get_mut(index).is_none() {
        *index = index.fork();
    }
    Arc::get_mut(index).expect("a fork has one reference")
}

impl<K: Send + Sync + 'static> fmt::Debug for Commit<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("len", &self.len())
            .field("versions", self.versions())
            .finish_non_exhaustive()
    }
}
