//! Objects and their history under one revision counter, as etcd keeps them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use crate::object::Stored;
use crate::registry::ResourceId;

/// One committed write.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) resource: ResourceId,
    /// The object before the write; absent for a creation.
    pub(crate) old: Option<Arc<Stored>>,
    /// The object after the write. For a deletion, its last content under the revision of the deletion.
    pub(crate) new: Arc<Stored>,
    pub(crate) kind: ChangeKind,
}

/// The effect of a change on its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Put,
    Delete,
}

/// The requested revision was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

type Table = BTreeMap<Arc<str>, Arc<Stored>>;

/// The store. Memory is bounded by the live objects plus `history_limit` changes.
#[derive(Debug)]
pub(crate) struct Storage {
    revision: u64,
    /// Reading at or watching after this revision works; older history was compacted.
    compacted: u64,
    history_limit: usize,
    history: VecDeque<Change>,
    tables: HashMap<ResourceId, Table>,
}

impl Storage {
    pub(crate) fn new(revision: u64, history_limit: usize) -> Self {
        Self {
            revision,
            compacted: revision,
            history_limit: history_limit.max(1),
            history: VecDeque::new(),
            tables: HashMap::new(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(crate) fn get(&self, resource: &str, key: &str) -> Option<Arc<Stored>> {
        self.tables.get(resource)?.get(key).cloned()
    }

    /// Returns the resources that have at least one object.
    pub(crate) fn resources(&self) -> Vec<ResourceId> {
        let mut ids: Vec<_> = self
            .tables
            .iter()
            .filter(|(_, table)| !table.is_empty())
            .map(|(id, _)| id.clone())
            .collect();
        // A stable order makes the deletion of a namespace reproducible.
        ids.sort();
        ids
    }

    /// Whether a resource has an object whose key starts with `prefix`.
    pub(crate) fn has_any(&self, resource: &str, prefix: &str) -> bool {
        let first = self.tables.get(resource).and_then(|table| {
            let mut rest = table.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
            rest.next()
        });
        first.is_some_and(|(key, _)| key.starts_with(prefix))
    }

    /// Stores an object under the next revision, which the caller has set in the object.
    pub(crate) fn put(&mut self, resource: &ResourceId, object: Stored) -> Arc<Stored> {
        debug_assert_eq!(
            object.revision,
            self.revision + 1,
            "an object carries the revision of its write"
        );
        let new = Arc::new(object);
        let table = self.tables.entry(resource.clone()).or_default();
        let old = table.insert(new.key.clone(), new.clone());
        self.commit(resource, old, new.clone(), ChangeKind::Put);
        new
    }

    /// Removes an object; `tombstone` is its last content under the next revision.
    pub(crate) fn delete(&mut self, resource: &ResourceId, tombstone: Stored) -> Arc<Stored> {
        let new = Arc::new(tombstone);
        let old = self
            .tables
            .get_mut(resource)
            .and_then(|table| table.remove(&new.key));
        self.commit(resource, old, new.clone(), ChangeKind::Delete);
        new
    }

    fn commit(
        &mut self,
        resource: &ResourceId,
        old: Option<Arc<Stored>>,
        new: Arc<Stored>,
        kind: ChangeKind,
    ) {
        self.revision += 1;
        self.history.push_back(Change {
            revision: self.revision,
            resource: resource.clone(),
            old,
            new,
            kind,
        });
        if self.history.len() > self.history_limit
            && let Some(oldest) = self.history.pop_front()
        {
            self.compacted = oldest.revision;
        }
    }

    /// Returns the objects of a resource whose keys start with `prefix` and come after `after`, in key order,
    /// as of `revision`.
    pub(crate) fn snapshot(
        &self,
        resource: &str,
        prefix: &str,
        after: &str,
        revision: u64,
    ) -> Result<Vec<Arc<Stored>>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        let mut found: Table = Table::new();
        if let Some(table) = self.tables.get(resource) {
            let from = if after.is_empty() {
                Bound::Included(prefix)
            } else {
                Bound::Excluded(after)
            };
            let live = table.range::<str, _>((from, Bound::Unbounded));
            let live = live.take_while(|(key, _)| key.starts_with(prefix));
            if revision >= self.revision {
                return Ok(live.map(|(_, object)| object.clone()).collect());
            }
            found.extend(live.map(|(key, object)| (key.clone(), object.clone())));
        }
        for change in self
            .history
            .iter()
            .rev()
            .take_while(|change| change.revision > revision)
        {
            let key = &change.new.key;
            if &*change.resource != resource
                || !key.starts_with(prefix)
                || (!after.is_empty() && &**key <= after)
            {
                continue;
            }
            match &change.old {
                Some(old) => found.insert(key.clone(), old.clone()),
                None => found.remove(key),
            };
        }
        Ok(found.into_values().collect())
    }

    /// Returns the changes after `revision` up to and including `ceiling`, oldest first.
    pub(crate) fn changes_after(
        &self,
        revision: u64,
        ceiling: u64,
    ) -> Result<impl Iterator<Item = &Change>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        let start = self.history.partition_point(|change| change.revision <= revision);
        Ok(self
            .history
            .range(start..)
            .take_while(move |change| change.revision <= ceiling))
    }

    /// Returns the number of changes after `revision`.
    pub(crate) fn lag(&self, revision: u64) -> usize {
        self.history.len() - self.history.partition_point(|change| change.revision <= revision)
    }

    /// Compacts the history up to and including `revision`.
    pub(crate) fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        while self
            .history
            .front()
            .is_some_and(|change| change.revision <= revision)
        {
            self.history.pop_front();
        }
        self.compacted = self.compacted.max(revision);
    }

    /// Restores an older revision, as from a backup: later writes are undone and their revisions are used
    /// again.
    pub(crate) fn rewind(&mut self, revision: u64) -> Result<(), Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        while self
            .history
            .back()
            .is_some_and(|change| change.revision > revision)
        {
            let Some(change) = self.history.pop_back() else {
                break;
            };
            let table = self.tables.entry(change.resource).or_default();
            match change.old {
                Some(old) => table.insert(old.key.clone(), old),
                None => table.remove(&change.new.key),
            };
        }
        self.revision = self.revision.min(revision);
        Ok(())
    }
}

#[cfg(test)]
#[path = "storage_tests.rs"]
mod tests;
