//! Reading one index at one snapshot.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::IndexValue;
use super::data::IndexData;
use crate::key::ObjectKey;
use crate::store::key_ref::KeyRef;
use crate::store::slot::{ObjectRef, Slot};
use crate::store::tree::{Packed, Tree};

/// One index at one snapshot. It never changes; objects come ordered by namespace, then name.
pub struct IndexView<K, V>(IndexData<K, V>);

impl<K: Send + Sync + 'static, V: IndexValue> IndexView<K, V> {
    pub(super) fn new(data: IndexData<K, V>) -> Self {
        Self(data)
    }

    fn set<Q: Ord + ?Sized>(&self, value: &Q) -> Option<&Tree<Packed, Slot<K>>>
    where
        V: Borrow<Q>,
    {
        self.0.postings.get_by(|values| values.find_borrowed(value))
    }

    /// The objects with this value.
    pub fn get<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
    {
        self.iter(value).map(|(_, object)| object.clone()).collect()
    }

    /// The keys of the objects with this value.
    pub fn keys<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        self.iter(value).map(|(key, _)| key.to_key()).collect()
    }

    /// The objects with this value and their keys, without a reference count touched.
    pub fn iter<Q: Ord + ?Sized>(&self, value: &Q) -> impl Iterator<Item = (KeyRef<'_>, ObjectRef<'_, K>)>
    where
        V: Borrow<Q>,
    {
        self.set(value)
            .into_iter()
            .flat_map(|set| set.iter().map(|(key, slot)| (key, slot.peek())))
    }

    /// The values that at least one object has, in order, each once.
    pub fn values(&self) -> Vec<V> {
        self.0.postings.iter().map(|(value, _)| value.clone()).collect()
    }

    /// The number of objects with this value.
    pub fn len<Q: Ord + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        self.set(value).map_or(0, Tree::len)
    }

    /// Whether no object has any value.
    pub fn is_empty(&self) -> bool {
        self.0.postings.is_empty()
    }
}

impl<K, V> Clone for IndexView<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> fmt::Debug for IndexView<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexView")
    }
}
