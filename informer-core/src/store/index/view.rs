//! Reads of one index in one snapshot.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::IndexValue;
use super::data::IndexData;
use crate::key::ObjectKey;
use crate::storage::ObjectRef;
use crate::store::key_ref::KeyRef;
use crate::store::state::StoreState;
use crate::store::tree::Tree;

/// One index in one snapshot, which it keeps alive. It never changes; objects are ordered by namespace,
/// then name.
pub struct IndexView<K, V>(Contents<K, V>);

/// Where the contents are.
enum Contents<K, V> {
    /// In a snapshot. Holds the whole snapshot, so that the store counts this reader and frees the snapshot
    /// itself.
    Stored { state: Arc<StoreState<K>>, at: usize },
    /// Computed for a snapshot that does not have it.
    Built(Arc<IndexData<K, V>>),
}

impl<K: Send + Sync + 'static, V: IndexValue> IndexView<K, V> {
    /// The index at a position of the snapshot that is known to have these types.
    pub(super) fn stored(state: Arc<StoreState<K>>, at: usize) -> Self {
        Self(Contents::Stored { state, at })
    }

    pub(super) fn built(data: IndexData<K, V>) -> Self {
        Self(Contents::Built(Arc::new(data)))
    }

    fn data(&self) -> &IndexData<K, V> {
        match &self.0 {
            Contents::Stored { state, at } => {
                IndexData::typed(&*state.indexes[*at]).expect("the position was found by these types")
            }
            Contents::Built(data) => data,
        }
    }

    /// The objects with this value.
    pub fn get<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
    {
        self.data().objects(value)
    }

    /// The keys of the objects with this value.
    pub fn keys<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        self.data().keys(value)
    }

    /// The objects with this value and their keys, borrowed from the snapshot.
    pub fn iter<Q: Ord + ?Sized>(&self, value: &Q) -> impl Iterator<Item = (KeyRef<'_>, ObjectRef<'_, K>)>
    where
        V: Borrow<Q>,
    {
        let set = self.data().set(value);
        set.into_iter()
            .flat_map(Tree::iter)
            .filter_map(|(key, stored)| stored.peek().map(|object| (key, object)))
    }

    /// The distinct values that at least one object has, in order.
    pub fn values(&self) -> Vec<V> {
        self.data().distinct()
    }

    /// The number of objects with this value.
    pub fn len<Q: Ord + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        self.data().count(value)
    }

    /// Whether no object has any value.
    pub fn is_empty(&self) -> bool {
        self.data().is_empty()
    }
}

impl<K, V> Clone for IndexView<K, V> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Contents::Stored { state, at } => Contents::Stored {
                state: state.clone(),
                at: *at,
            },
            Contents::Built(data) => Contents::Built(data.clone()),
        })
    }
}

impl<K, V> fmt::Debug for IndexView<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexView")
    }
}
