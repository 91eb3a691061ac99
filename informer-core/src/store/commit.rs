//! A set of changes that becomes visible all at once.

use std::fmt;
use std::sync::Arc;

use super::index::AnyIndex;
use super::key_ref::KeyRef;
use super::slot::Slot;
use super::snapshot::Snapshot;
use super::state::{Objects, Shared, State};
use super::versions::{VersionChange, Versions};
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

/// Changes on their way into the store.
///
/// Its own reads see its own changes; everybody else sees all of them, or none, from the moment
/// [`publish`](Self::publish) is called: objects, indexes, versions and stale keys. Dropped, it changes nothing.
/// Index functions run while objects are put in, with no lock held.
#[must_use = "a commit that is not published changes nothing"]
pub struct Commit<'w, K> {
    shared: &'w Shared<K>,
    base: Arc<State<K>>,
    pub(super) state: State<K>,
}

impl<'w, K: Send + Sync + 'static> Commit<'w, K> {
    pub(super) fn new(shared: &'w Shared<K>) -> Self {
        let base = shared.peek();
        Self {
            shared,
            state: State::clone(&base),
            base,
        }
    }

    /// The object under a key, with the changes of this commit.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.state.objects.get(key.into()).map(Slot::get)
    }

    /// Whether there is an object under a key, with the changes of this commit.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.state.objects.get(key.into()).is_some()
    }

    /// The number of objects, with the changes of this commit.
    pub fn len(&self) -> usize {
        self.state.objects.len()
    }

    /// Whether there are no objects, with the changes of this commit.
    pub fn is_empty(&self) -> bool {
        self.state.objects.is_empty()
    }

    /// The version of every scope, with the changes of this commit.
    pub fn versions(&self) -> &Versions {
        &self.state.versions
    }

    /// Puts in an object and returns the one it replaces. Its key is no longer stale.
    pub fn upsert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        self.state.stale.clear(&key);
        let (key, slot) = (KeyRef::from(&key), Slot::new(object));
        let old = self.state.objects.insert(key, slot.clone());
        self.state.changes += 1;
        self.update_indexes(key, old.as_ref(), Some(&slot));
        old.map(Slot::into_object)
    }

    /// Takes out an object and returns it. Its key is no longer stale, whether there was an object or not.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        self.state.stale.clear(key);
        let key = KeyRef::from(key);
        let old = self.state.objects.remove(key)?;
        self.state.changes += 1;
        self.update_indexes(key, Some(&old), None);
        Some(old.into_object())
    }

    /// Makes a scope known before its first list, so that a wait for a version waits for this scope too.
    pub fn announce_scope(&mut self, scope: &Scope) {
        self.state.versions.announce(scope);
    }

    /// Moves the version of a scope forward. An older version is refused; one that cannot be ordered against the
    /// present one is taken. Putting in objects does not move the version: only the caller knows whether they
    /// come in the order of the server's history.
    pub fn set_version(&mut self, scope: &Scope, version: ResourceVersion) -> VersionChange {
        self.state.versions.advance(scope, version)
    }

    /// Sets the version of a scope even if it is older: the server went back in time (an etcd restore).
    pub fn rewind_version(&mut self, scope: &Scope, version: ResourceVersion) {
        self.state.versions.rewind(scope, version);
    }

    /// Notes that the newest state under a key could not be decoded. What the store holds under the key, if
    /// anything, stays.
    pub fn mark_stale(&mut self, key: &ObjectKey, reason: impl Into<Arc<str>>) {
        self.state.stale.mark(key, reason.into());
    }

    /// Makes all of it visible at once, and returns the snapshot that shows it.
    pub fn publish(mut self) -> Snapshot<K> {
        loop {
            let mut publishing = self.shared.publishing();
            let added = self.shared.peek().indexes[self.state.indexes.len()..].to_vec();
            if added.is_empty() {
                let state = Arc::new(self.state);
                let unheld = self.shared.publish(&mut publishing, state.clone());
                drop(publishing);
                drop(unheld);
                return Snapshot(state);
            }
            // Indexes that were added since this commit began lack its changes. Their functions are not for the lock.
            drop(publishing);
            for mut index in added {
                owned(&mut index).catch_up(&self.base.objects, &self.state.objects);
                self.state.indexes.push(index);
            }
        }
    }

    fn update_indexes(&mut self, key: KeyRef<'_>, old: Option<&Slot<K>>, new: Option<&Slot<K>>) {
        for index in &mut self.state.indexes {
            owned(index).apply(key, old, new);
        }
    }

    /// Puts in a new set of objects as a whole.
    pub(super) fn set_objects(&mut self, objects: Objects<K>) {
        self.state.changes += self.state.objects.len().max(objects.len()) as u64;
        self.state.objects = objects;
        for index in &mut self.state.indexes {
            owned(index).rebuild(&self.state.objects);
        }
    }
}

/// The index to change: itself if only this commit holds it, else a copy put in its place.
fn owned<K: 'static>(index: &mut Arc<dyn AnyIndex<K>>) -> &mut dyn AnyIndex<K> {
    if Arc::get_mut(index).is_none() {
        *index = index.fork();
    }
    Arc::get_mut(index).expect("a fork has one holder")
}

impl<K: Send + Sync + 'static> fmt::Debug for Commit<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("len", &self.len())
            .field("versions", self.versions())
            .finish_non_exhaustive()
    }
}
