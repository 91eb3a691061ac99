//! One immutable version of the store.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use super::index::{Index, IndexValue, IndexView};
use super::key_ref::KeyRef;
use super::stale::Stale;
use super::state::{Objects, StoreState};
use super::tree::{self, Packed};
use super::versions::Versions;
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::{ObjectRef, Stored};

/// The contents of the store after one commit: objects, indexes, versions and stale keys.
///
/// A snapshot never changes. Taking or cloning it increments one reference count. It may be held for any
/// time: it keeps its objects alive, and never delays the writer or another reader.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::store::Indexer;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.namespace = Some("web".to_owned());
/// settings.metadata.name = Some("settings".to_owned());
/// let snapshot = Indexer::from_objects([settings]).snapshot();
///
/// assert_eq!(snapshot.len(), 1);
/// for (key, object) in snapshot.iter() {
///     assert_eq!((key.namespace(), key.name()), (Some("web"), "settings"));
///     let _to_keep: Arc<ConfigMap> = object.clone();
/// }
/// ```
pub struct Snapshot<K>(pub(super) Arc<StoreState<K>>);

impl<K: Send + Sync + 'static> Snapshot<K> {
    /// The object under a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.stored(key).and_then(Stored::get)
    }

    /// The object under a key, borrowed from the snapshot.
    pub fn peek(&self, key: &ObjectKey) -> Option<ObjectRef<'_, K>> {
        self.stored(key).and_then(Stored::look)
    }

    /// The object under a key, not decoded.
    pub(crate) fn stored(&self, key: &ObjectKey) -> Option<&Stored<K>> {
        self.0.objects.get(key.into())
    }

    /// All objects, not decoded, ordered by namespace, then name.
    pub(crate) fn list_stored(&self) -> Vec<Stored<K>> {
        collect(&self.0.objects, None, |slice, list| list.extend_from_slice(slice))
    }

    /// Whether an object exists under a key.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.stored(key).is_some()
    }

    /// All objects, ordered by namespace, then name.
    pub fn list(&self) -> Vec<Arc<K>> {
        objects(&self.0.objects, None)
    }

    /// The objects of one namespace, ordered by name.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        objects(&self.0.objects, Some(namespace))
    }

    /// The number of objects of one namespace. Counts leaf by leaf.
    pub(super) fn len_namespace(&self, namespace: &str) -> usize {
        slices(&self.0.objects, Some(namespace)).map(<[_]>::len).sum()
    }

    /// All keys in order. Keys of one namespace share its string.
    pub fn keys(&self) -> Vec<ObjectKey> {
        let mut keys: Vec<ObjectKey> = Vec::with_capacity(self.len());
        for (key, _) in self.0.objects.iter() {
            keys.push(key.to_key_sharing(keys.last()));
        }
        keys
    }

    /// At most `limit` keys in order, the first ones from `start` on.
    pub(crate) fn keys_from(&self, start: Bound<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        let (entries, excluded) = match start {
            Bound::Unbounded => (self.0.objects.iter(), None),
            Bound::Included(key) => (self.0.objects.iter_from(key.into()), None),
            Bound::Excluded(key) => (self.0.objects.iter_from(key.into()), Some(KeyRef::from(key))),
        };
        let mut keys: Vec<ObjectKey> = Vec::new();
        for (key, _) in entries.filter(|(key, _)| Some(*key) != excluded).take(limit) {
            keys.push(key.to_key_sharing(keys.last()));
        }
        keys
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.0.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.0.objects.is_empty()
    }

    /// The approximate size of all objects: the sum of [`Stored::bytes`](crate::Stored::bytes). Kept up to
    /// date by each commit, so reading it costs nothing.
    ///
    /// Decoded objects count with the size of their encoding as it was received, JSON or protobuf, before a
    /// transform. In memory they take a multiple of it: about three times for typical Pods in JSON, more for
    /// protobuf, which is denser. Packed objects count with what they take in memory. Keys, indexes and old
    /// snapshots are not included.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// All objects with their keys, in order, borrowed from the snapshot.
    pub fn iter(&self) -> Entries<'_, K> {
        Entries::of(&self.0.objects, None)
    }

    /// The keys of a namespace, or all of them, in order, borrowed from the snapshot.
    pub(crate) fn keys_within<'a>(&'a self, namespace: Option<&'a str>) -> impl Iterator<Item = KeyRef<'a>> {
        StoredEntries::of(&self.0.objects, namespace).map(|(key, _)| key)
    }

    /// The objects of a scope, not decoded, in order.
    pub(crate) fn stored_of<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Stored<K>> {
        let namespace = match scope {
            Scope::All => None,
            Scope::Namespace(namespace) => Some(&**namespace),
        };
        StoredEntries::of(&self.0.objects, namespace).map(|(_, stored)| stored)
    }

    /// The objects of one namespace with their keys, ordered by name.
    pub fn namespace<'a>(&'a self, namespace: &'a str) -> Entries<'a, K> {
        Entries::of(&self.0.objects, Some(namespace))
    }

    /// Calls `visit` for every object in order.
    pub fn for_each(&self, mut visit: impl FnMut(KeyRef<'_>, &Arc<K>)) {
        for (key, object) in self.iter() {
            visit(key, &object);
        }
    }

    /// The namespaces that have objects, in order. Costs one search per namespace, however many objects it
    /// has.
    pub fn namespaces(&self) -> Vec<&str> {
        let mut namespaces = Vec::new();
        let mut last: &[u8] = &[];
        while let Some((key, _)) = self.0.objects.iter_from(KeyRef::end_of(last)).next() {
            last = key.namespace;
            namespaces.extend(key.namespace());
        }
        namespaces
    }

    /// The version of the only scope. With several scopes, their version if it is the same in all.
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.0.versions.common().cloned()
    }

    /// The version of every scope.
    pub fn versions(&self) -> &Versions {
        &self.0.versions
    }

    /// The keys whose newest state could not be used.
    pub fn stale(&self) -> &Stale {
        &self.0.stale
    }

    /// An index in the state of this snapshot.
    ///
    /// If the snapshot was taken before the index was added (or from another store), the index is computed
    /// from all its objects in this call.
    pub fn index<V: IndexValue>(&self, index: &Index<K, V>) -> IndexView<K, V> {
        index.at(self.0.clone())
    }

    /// Whether the two snapshots are of the same commit.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The objects of a tree, or of one namespace in it, leaf by leaf. Does not read keys.
pub(super) fn slices<'a, K>(
    objects: &'a Objects<K>,
    within: Option<&str>,
) -> impl Iterator<Item = &'a [Stored<K>]> {
    let (mut from, end) = match within {
        Some(namespace) => (
            objects.iter_from(KeyRef::start_of(namespace)),
            objects.iter_from(KeyRef::end_of(namespace.as_bytes())),
        ),
        None => (objects.iter(), objects.iter_end()),
    };
    std::iter::from_fn(move || from.next_slice(&end))
}

/// The objects of a tree, or of one namespace in it.
pub(super) fn objects<K>(objects: &Objects<K>, within: Option<&str>) -> Vec<Arc<K>> {
    collect(objects, within, Stored::scan_all)
}

/// Collects the slices first and then the objects, so that the list is allocated once and reference counts
/// are incremented in one tight loop.
fn collect<K, T>(
    objects: &Objects<K>,
    within: Option<&str>,
    add: impl Fn(&[Stored<K>], &mut Vec<T>),
) -> Vec<T> {
    let slices: Vec<_> = slices(objects, within).collect();
    let mut list = Vec::with_capacity(slices.iter().map(|slice| slice.len()).sum());
    for slice in slices {
        add(slice, &mut list);
    }
    list
}

/// An iteration over objects in key order.
type Walk<'a, K> = tree::Iter<'a, Packed, Stored<K>>;

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Send + Sync + 'static> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("len", &self.len())
            .field("versions", self.versions())
            .finish_non_exhaustive()
    }
}

impl<'a, K: Send + Sync + 'static> IntoIterator for &'a Snapshot<K> {
    type Item = (KeyRef<'a>, ObjectRef<'a, K>);
    type IntoIter = Entries<'a, K>;

    fn into_iter(self) -> Entries<'a, K> {
        self.iter()
    }
}

/// The objects of a snapshot with their keys, in order.
pub struct Entries<'a, K>(StoredEntries<'a, K>);

impl<'a, K> Entries<'a, K> {
    /// The entries of a tree, or of one namespace in it.
    fn of(objects: &'a Objects<K>, within: Option<&'a str>) -> Self {
        Self(StoredEntries::of(objects, within))
    }
}

impl<'a, K> Iterator for Entries<'a, K> {
    type Item = (KeyRef<'a>, ObjectRef<'a, K>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0
            .find_map(|(key, stored)| stored.peek().map(|object| (key, object)))
    }
}

/// The objects of a tree with their keys, in order, not decoded.
pub(super) struct StoredEntries<'a, K> {
    entries: Walk<'a, K>,
    /// The namespace to stop after; `None` to iterate to the end.
    namespace: Option<&'a [u8]>,
}

impl<'a, K> StoredEntries<'a, K> {
    /// The entries of a tree, or of one namespace in it.
    pub(super) fn of(objects: &'a Objects<K>, within: Option<&'a str>) -> Self {
        Self {
            entries: match within {
                Some(namespace) => objects.iter_from(KeyRef::start_of(namespace)),
                None => objects.iter(),
            },
            namespace: within.map(str::as_bytes),
        }
    }
}

impl<'a, K> Iterator for StoredEntries<'a, K> {
    type Item = (KeyRef<'a>, &'a Stored<K>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, stored) = self.entries.next()?;
        match self.namespace {
            Some(namespace) if namespace != key.namespace => None,
            _ => Some((key, stored)),
        }
    }
}

impl<K> fmt::Debug for Entries<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entries")
    }
}
