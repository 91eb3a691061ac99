//! The contents of one index in one snapshot, and its update when an object changes.

use std::any::Any;
use std::borrow::Borrow;
use std::sync::Arc;

use super::function::IndexSource;
use super::{IndexName, IndexStatus, IndexValue};
use crate::key::ObjectKey;
use crate::mutant;
use crate::storage::Stored;
use crate::store::key_ref::KeyRef;
use crate::store::snapshot::objects;
use crate::store::state::Objects;
use crate::store::tree::{Difference, Packed, Plain, Tree, diff};

/// An index, independent of its value type: the operations the writer needs.
pub(in crate::store) trait AnyIndex<K>: Any + Send + Sync {
    fn name(&self) -> &IndexName;
    /// A copy to change. Costs a few reference counts.
    fn fork(&self) -> Arc<dyn AnyIndex<K>>;
    /// Replaces one object's old state by its new one.
    fn apply(&mut self, key: KeyRef<'_>, old: Option<&Stored<K>>, new: Option<&Stored<K>>);
    /// Updates the index from one set of objects to another, at the cost of their difference.
    fn catch_up(&mut self, from: &Objects<K>, to: &Objects<K>);
    /// Computes the index from all objects.
    fn rebuild(&mut self, objects: &Objects<K>);
    fn status(&self) -> IndexStatus;
}

/// The objects themselves, by value and then by key, so that a list by index reads no other tree.
type Postings<K, V> = Tree<Plain<V>, Objects<K>>;

/// One index in one snapshot.
pub(in crate::store) struct IndexData<K, V> {
    source: Arc<IndexSource<K, V>>,
    postings: Postings<K, V>,
    /// The objects that the function failed for. They are under no value, whatever the function returns
    /// later.
    failed: Tree<Packed, ()>,
    /// The number of values of each object that has more than one. It lets an update that changes no value,
    /// which is the common case, be recognised without calling the function for the old state.
    several: Tree<Packed, usize>,
}

impl<K, V> Clone for IndexData<K, V> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            postings: self.postings.clone(),
            failed: self.failed.clone(),
            several: self.several.clone(),
        }
    }
}

impl<K: Send + Sync + 'static, V: IndexValue> IndexData<K, V> {
    pub(in crate::store) fn build(source: &Arc<IndexSource<K, V>>, objects: &Objects<K>) -> Self {
        let mut data = Self {
            source: source.clone(),
            postings: Tree::default(),
            failed: Tree::default(),
            several: Tree::default(),
        };
        data.rebuild(objects);
        data
    }

    /// The contents of `index`, if it was built from `source`.
    pub(in crate::store) fn of<'a>(
        index: &'a dyn AnyIndex<K>,
        source: &Arc<IndexSource<K, V>>,
    ) -> Option<&'a Self> {
        Self::typed(index).filter(|data| Arc::ptr_eq(&data.source, source))
    }

    /// The contents of `index`, if it has this value type.
    pub(in crate::store) fn typed(index: &dyn AnyIndex<K>) -> Option<&Self> {
        (index as &dyn Any).downcast_ref()
    }

    pub(in crate::store) fn source(&self) -> &Arc<IndexSource<K, V>> {
        &self.source
    }

    /// The values of an object. If the function fails, reports it and returns none.
    fn values(&mut self, key: KeyRef<'_>, object: &Stored<K>) -> Vec<V> {
        match self.source.values(object) {
            Ok(values) => {
                self.failed.remove(key);
                values
            }
            Err(message) => {
                self.source.report(key, message);
                self.failed.insert(key, ());
                Vec::new()
            }
        }
    }

    /// Whether the object is in the index under exactly these values, at least one.
    fn has_exactly(&self, key: KeyRef<'_>, values: &[V]) -> bool {
        let is_in = |value: &V| self.set(value).is_some_and(|set| set.get(key).is_some());
        !values.is_empty()
            && values.len() == self.several.get(key).copied().unwrap_or(1)
            && values.iter().all(is_in)
    }

    fn note_count(&mut self, key: KeyRef<'_>, count: usize) {
        if count > 1 {
            self.several.insert(key, count);
        } else if !self.several.is_empty() {
            self.several.remove(key);
        }
    }

    /// Removes one object from the set of one value, and the set from the index if it is empty then.
    fn take(&mut self, value: &V, key: KeyRef<'_>) -> Option<Stored<K>> {
        let set = self.postings.get_mut(value)?;
        let taken = set.remove(key);
        if set.is_empty() {
            self.postings.remove(value);
        }
        taken
    }

    fn put(&mut self, value: &V, key: KeyRef<'_>, stored: &Stored<K>) {
        if let Some(set) = self.postings.get_mut(value) {
            set.insert(key, stored.clone());
        } else {
            self.postings
                .insert(value, Tree::from_sorted([(key, stored.clone())]));
        }
    }

    /// Removes one object from every set. Only for a function that is not pure: its result for the old
    /// state does not say which sets hold the object.
    fn purge(&mut self, key: KeyRef<'_>) {
        let holds = |(value, set): (&V, &Objects<K>)| set.get(key).map(|_| value.clone());
        let values: Vec<V> = self.postings.iter().filter_map(holds).collect();
        for value in values {
            self.take(&value, key);
        }
    }
}

// Reads.
impl<K, V: IndexValue> IndexData<K, V> {
    /// The objects with this value.
    pub(in crate::store) fn set<Q: Ord + ?Sized>(&self, value: &Q) -> Option<&Objects<K>>
    where
        V: Borrow<Q>,
    {
        self.postings.get_by(|values| values.find_borrowed(value))
    }

    pub(super) fn objects<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
    {
        self.set(value).map(|set| objects(set, None)).unwrap_or_default()
    }

    pub(super) fn keys<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        let mut keys: Vec<ObjectKey> = Vec::with_capacity(self.count(value));
        for (key, _) in self.set(value).into_iter().flat_map(Tree::iter) {
            keys.push(key.to_key_sharing(keys.last()));
        }
        keys
    }

    pub(super) fn count<Q: Ord + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        self.set(value).map_or(0, Tree::len)
    }

    pub(super) fn distinct(&self) -> Vec<V> {
        self.postings.iter().map(|(value, _)| value.clone()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }
}

impl<K: Send + Sync + 'static, V: IndexValue> AnyIndex<K> for IndexData<K, V> {
    fn name(&self) -> &IndexName {
        &self.source.name
    }

    fn fork(&self) -> Arc<dyn AnyIndex<K>> {
        Arc::new(self.clone())
    }

    fn apply(&mut self, key: KeyRef<'_>, old: Option<&Stored<K>>, new: Option<&Stored<K>>) {
        let had_values = old.is_some() && self.failed.get(key).is_none();
        let after = match new {
            Some(new) => self.values(key, new),
            None => {
                self.failed.remove(key);
                Vec::new()
            }
        };
        if !(had_values && self.has_exactly(key, &after)) {
            let before = match old {
                _ if mutant::is("I6") => Ok(Vec::new()),
                Some(old) if had_values => self.source.values(old),
                _ => Ok(Vec::new()),
            };
            let is_known = match before {
                Ok(before) => before
                    .iter()
                    .filter(|value| after.binary_search(value).is_err())
                    .all(|value| self.take(value, key).is_some()),
                Err(_) => false,
            };
            if !is_known {
                self.purge(key);
            }
            self.note_count(key, after.len());
        }
        if let Some(stored) = new {
            for value in &after {
                self.put(value, key, stored);
            }
        }
    }

    fn catch_up(&mut self, from: &Objects<K>, to: &Objects<K>) {
        diff(from, to, |Difference { key, old, new }| {
            let is_same = matches!((old, new), (Some(old), Some(new)) if old.is_same(new));
            if !is_same {
                self.apply(key, old, new);
            }
        });
    }

    fn rebuild(&mut self, objects: &Objects<K>) {
        self.failed = Tree::default();
        self.several = Tree::default();
        let mut entries = Vec::with_capacity(objects.len());
        for (key, stored) in objects.iter() {
            let values = self.values(key, stored);
            self.note_count(key, values.len());
            entries.extend(values.into_iter().map(|value| (value, key, stored)));
        }
        // Stable: the objects of one value stay in the order of their keys.
        entries.sort_by(|(this, ..), (that, ..)| this.cmp(that));
        let sets = entries
            .chunk_by(|(this, ..), (that, ..)| this == that)
            .map(|entries| {
                let set = Tree::from_sorted(entries.iter().map(|(_, key, stored)| (*key, (*stored).clone())));
                (&entries[0].0, set)
            });
        self.postings = Tree::from_sorted(sets);
    }

    fn status(&self) -> IndexStatus {
        let failures = self.source.failures();
        IndexStatus {
            name: self.source.name.to_string(),
            values: self.postings.len(),
            failing: self.failed.len(),
            failures: failures.count,
            last_key: failures.last_key,
            last_message: failures.last_message,
        }
    }
}
