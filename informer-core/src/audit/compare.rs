//! Compares what the server lists with a snapshot of the cache, whatever the order of the list.

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

/// The cache of one scope, without its kind.
pub(crate) trait Cached: Send + Sync {
    /// The cache as it is now.
    fn freeze(&self) -> Arc<dyn Frozen>;
}

/// The cache of one scope of one kind.
pub(crate) struct CacheOf<K> {
    pub(crate) indexer: Indexer<K>,
    pub(crate) scope: Scope,
}

/// One scope of the cache at one moment.
pub(crate) trait Frozen: Send + Sync {
    /// The version of the scope.
    fn version(&self) -> Option<ResourceVersion>;

    /// The number of objects, at least: those of other scopes may be among them.
    fn len(&self) -> usize;

    /// What there is under a key.
    fn find(&self, key: &ObjectKey) -> Holding;

    /// Every key of the scope that has an object.
    fn for_each_key(&self, visit: &mut dyn FnMut(KeyRef<'_>));
}

/// What the cache has under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    Nothing,
    /// An object, at a version if its transform left it one.
    Object(Option<ResourceVersion>),
    /// Its newest state could not be decoded or transformed: whatever there is, it is known to be old.
    Stale,
}

impl<K: Object> Cached for CacheOf<K> {
    fn freeze(&self) -> Arc<dyn Frozen> {
        Arc::new(ScopeOf {
            snapshot: self.indexer.peek(),
            scope: self.scope.clone(),
        })
    }
}

struct ScopeOf<K> {
    snapshot: Snapshot<K>,
    scope: Scope,
}

impl<K: Object> Frozen for ScopeOf<K> {
    fn version(&self) -> Option<ResourceVersion> {
        self.snapshot.versions().get(&self.scope).cloned()
    }

    fn len(&self) -> usize {
        self.snapshot.len()
    }

    fn find(&self, key: &ObjectKey) -> Holding {
        if self.snapshot.stale().contains(key) {
            return Holding::Stale;
        }
        match self.snapshot.peek(key) {
            Some(object) => Holding::Object(ResourceVersion::of(object.meta())),
            None => Holding::Nothing,
        }
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(KeyRef<'_>)) {
        let entries = match &self.scope {
            Scope::All => self.snapshot.iter(),
            Scope::Namespace(namespace) => self.snapshot.namespace(namespace),
        };
        for (key, _) in entries {
            visit(key);
        }
    }
}

/// What was compared and what differed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) compared: u64,
    pub(super) left_out: u64,
    pub(super) mismatch: AuditMismatch,
}

/// A comparison on its way.
///
/// A server sorts by its storage's keys, in which `a-b/x` comes before `a/x`, and need not sort at all, so listed objects are looked up
/// one by one. To know in the end which cached keys were not listed, a hash of each one that was is kept: 8 bytes an object. The
/// hash is keyed anew for each audit, so that two keys that share one, which would hide a fault, do not share the next.
pub(super) struct Comparison {
    frozen: Arc<dyn Frozen>,
    hasher: RandomState,
    seen: Vec<u64>,
    finding: Finding,
}

impl Comparison {
    pub(super) fn new(frozen: Arc<dyn Frozen>) -> Self {
        Self {
            frozen,
            hasher: RandomState::new(),
            seen: Vec::new(),
            finding: Finding::default(),
        }
    }

    /// The number of objects to compare, about.
    pub(super) fn len(&self) -> usize {
        self.frozen.len()
    }

    /// The server had this object.
    pub(super) fn listed(&mut self, object: Identity) -> Result<(), AuditSkipped> {
        let key = object.key.ok_or(AuditSkipped::Unreadable)?;
        let finding = &mut self.finding;
        match (self.frozen.find(&key), object.version) {
            (Holding::Nothing, _) => {
                finding.compared += 1;
                finding.mismatch.missing.add(|| key);
                return Ok(());
            }
            (Holding::Object(Some(cached)), Some(listed)) => {
                finding.compared += 1;
                if cached != listed {
                    finding.mismatch.other_version.add(|| key.clone());
                }
            }
            (Holding::Object(_), _) => finding.left_out += 1,
            // Counted here if listed; the walk in the end passes over all of them.
            (Holding::Stale, _) => {
                finding.left_out += 1;
                return Ok(());
            }
        }
        self.seen.push(self.hasher.hash_one(KeyRef::from(&key)));
        if self.seen.len() > self.frozen.len() {
            return Err(broken("a list has an object twice"));
        }
        Ok(())
    }

    /// The list is complete: what was not in it is extra.
    pub(super) fn finish(mut self) -> Finding {
        self.seen.sort_unstable();
        let Self {
            frozen,
            hasher,
            seen,
            mut finding,
        } = self;
        frozen.for_each_key(&mut |key| {
            if seen.binary_search(&hasher.hash_one(key)).is_ok() {
                return;
            }
            let key = key.to_key();
            if frozen.find(&key) != Holding::Stale {
                finding.compared += 1;
                finding.mismatch.extra.add(|| key);
            }
        });
        finding
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
