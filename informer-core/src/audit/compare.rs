//! Compares the objects that the server lists, in any order, with a snapshot of the store.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use super::read::broken;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::Identity;
use crate::status::{AuditMismatch, AuditSkipped};
use crate::store::{Indexer, KeyRef, Snapshot};

/// The store of one scope, independent of its kind.
pub(crate) trait ScopeStore: Send + Sync {
    /// The current state of the store.
    fn snapshot(&self) -> Arc<dyn ScopeSnapshot>;
}

/// The store of one scope of one kind.
pub(crate) struct TypedScopeStore<K> {
    pub(crate) indexer: Indexer<K>,
    pub(crate) scope: Scope,
}

/// One scope of the store in one snapshot.
pub(crate) trait ScopeSnapshot: Send + Sync {
    /// The version of the scope.
    fn version(&self) -> Option<ResourceVersion>;

    /// An upper bound of the number of objects: those of other scopes may be included.
    fn len(&self) -> usize;

    /// The state of a key.
    fn find(&self, key: &ObjectKey) -> KeyState;

    /// Calls `visit` with every key of the scope that has an object.
    fn for_each_key(&self, visit: &mut dyn FnMut(KeyRef<'_>));
}

/// The state of a key in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Nothing,
    /// An object, with its version unless a transform removed it.
    Object(Option<ResourceVersion>),
    /// Its newest state could not be used: the stored object, if any, is known to be outdated.
    Stale,
}

impl<K: Object> ScopeStore for TypedScopeStore<K> {
    fn snapshot(&self) -> Arc<dyn ScopeSnapshot> {
        Arc::new(TypedScopeSnapshot {
            snapshot: self.indexer.peek(),
            scope: self.scope.clone(),
        })
    }
}

struct TypedScopeSnapshot<K> {
    snapshot: Snapshot<K>,
    scope: Scope,
}

impl<K: Object> ScopeSnapshot for TypedScopeSnapshot<K> {
    fn version(&self) -> Option<ResourceVersion> {
        self.snapshot.versions().get(&self.scope).cloned()
    }

    fn len(&self) -> usize {
        self.snapshot.len()
    }

    fn find(&self, key: &ObjectKey) -> KeyState {
        if self.snapshot.stale().contains(key) {
            return KeyState::Stale;
        }
        match self.snapshot.stored(key) {
            Some(object) => KeyState::Object(object.version()),
            None => KeyState::Nothing,
        }
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(KeyRef<'_>)) {
        let namespace = match &self.scope {
            Scope::All => None,
            Scope::Namespace(namespace) => Some(&**namespace),
        };
        for key in self.snapshot.keys_within(namespace) {
            visit(key);
        }
    }
}

/// The number of compared objects, and the differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ComparisonResult {
    pub(super) compared: u64,
    pub(super) left_out: u64,
    pub(super) mismatch: AuditMismatch,
}

/// A comparison in progress.
///
/// A server sorts by the keys of its storage, in which `a-b/x` comes before `a/x`, and need not sort at
/// all, so listed objects are looked up one by one. To find the cached keys that were not listed, a hash of
/// each listed key is kept: 8 bytes per object. The hash has a new key for each audit, so that two keys
/// that collide, which would hide a fault, do not collide in the next one.
pub(super) struct Comparison {
    snapshot: Arc<dyn ScopeSnapshot>,
    hasher: RandomState,
    seen: Vec<u64>,
    result: ComparisonResult,
}

impl Comparison {
    pub(super) fn new(snapshot: Arc<dyn ScopeSnapshot>) -> Self {
        Self {
            snapshot,
            hasher: RandomState::new(),
            seen: Vec::new(),
            result: ComparisonResult::default(),
        }
    }

    /// The approximate number of objects to compare.
    pub(super) fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// Compares one object that the server listed.
    pub(super) fn listed(&mut self, object: Identity) -> Result<(), AuditSkipped> {
        let key = object.key.ok_or(AuditSkipped::Unreadable)?;
        let result = &mut self.result;
        match (self.snapshot.find(&key), object.version) {
            (KeyState::Nothing, _) => {
                result.compared += 1;
                result.mismatch.missing.add(|| key);
                return Ok(());
            }
            (KeyState::Object(Some(cached)), Some(listed)) => {
                result.compared += 1;
                if cached != listed {
                    result.mismatch.other_version.add(|| key.clone());
                }
            }
            (KeyState::Object(_), _) => result.left_out += 1,
            // Counted here if listed; the pass at the end skips all of them.
            (KeyState::Stale, _) => {
                result.left_out += 1;
                return Ok(());
            }
        }
        self.seen.push(self.hasher.hash_one(KeyRef::from(&key)));
        if self.seen.len() > self.snapshot.len() {
            return Err(broken("a list contains an object twice"));
        }
        Ok(())
    }

    /// Completes the comparison: keys that were not listed are extra.
    pub(super) fn finish(mut self) -> ComparisonResult {
        self.seen.sort_unstable();
        let Self {
            snapshot,
            hasher,
            seen,
            mut result,
        } = self;
        snapshot.for_each_key(&mut |key| {
            if seen.binary_search(&hasher.hash_one(key)).is_ok() {
                return;
            }
            let key = key.to_key();
            if snapshot.find(&key) != KeyState::Stale {
                result.compared += 1;
                result.mismatch.extra.add(|| key);
            }
        });
        result
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
