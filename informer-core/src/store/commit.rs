//! A set of changes that becomes visible all at once.

use std::sync::Arc;
use std::{fmt, mem};

use super::index::AnyIndex;
use super::key_ref::KeyRef;
use super::snapshot::Snapshot;
use super::spare::Log;
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

/// What becomes of an object.
pub(crate) enum Verdict<K> {
    /// It stays as it is.
    Keep,
    /// This state replaces it.
    Put(Stored<K>),
    Remove,
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
            state: spare.map_or_else(|| StoreState::clone(&base), |spare| spare.catch_up(&base)),
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
            self.replaced(&key, &old, stored);
            return Some(old);
        }
        self.state.stale.clear(&key);
        self.state.changes += 1;
        self.state.bytes += u64::from(stored.bytes());
        self.update_indexes(KeyRef::from(&key), None, Some(&stored));
        self.log.record(&key, Some(stored));
        None
    }

    /// Changes the object under a key as `decide` says, given the present one and the versions of the scopes.
    /// Searches a key that stays only once.
    pub(crate) fn change(
        &mut self,
        key: &ObjectKey,
        decide: impl FnOnce(Option<&Stored<K>>, &Versions) -> Verdict<K>,
    ) {
        let Some(slot) = self.state.objects.find_mut(key.into()) else {
            match decide(None, &self.state.versions) {
                Verdict::Keep => {}
                Verdict::Put(new) => drop(self.upsert(key.clone(), new)),
                Verdict::Remove => drop(self.remove(key)),
            }
            return;
        };
        match decide(Some(slot), &self.state.versions) {
            Verdict::Keep => {}
            Verdict::Put(new) => {
                let old = mem::replace(slot, new.clone());
                self.replaced(key, &old, new);
            }
            Verdict::Remove => drop(self.remove(key)),
        }
    }

    /// Records that an object replaced another one in the tree.
    fn replaced(&mut self, key: &ObjectKey, old: &Stored<K>, new: Stored<K>) {
        self.state.stale.clear(key);
        self.state.changes += 1;
        self.state.bytes += u64::from(new.bytes());
        self.state.bytes -= u64::from(old.bytes());
        self.update_indexes(key.into(), Some(old), Some(&new));
        self.log.record(key, Some(new));
    }

    /// Removes an object and returns it. Its key is no longer stale, even if no object was stored.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Stored<K>> {
        self.state.stale.clear(key);
        let old = self.state.objects.remove(KeyRef::from(key))?;
        self.state.changes += 1;
        self.state.bytes -= u64::from(old.bytes());
        self.update_indexes(KeyRef::from(key), Some(&old), None);
        self.log.record(key, None);
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
