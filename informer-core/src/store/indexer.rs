//! The read side of the store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::freshness::Freshness;
use super::index::{
    AnyIndex, Index, IndexData, IndexDefinition, IndexError, IndexFunction, IndexName, IndexSource,
    IndexStatus, IndexValue, inside_index_function,
};
use super::slot::Slot;
use super::snapshot::Snapshot;
use super::state::{Shared, State};
use super::versions::Versions;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// The cache of one kind, to read from; cheap to clone and to share between threads.
///
/// Reads never wait: not for the writer, not for one another, and not for an index that is being added. Each call
/// answers from the newest published commit; to ask several questions of one moment take a
/// [`snapshot`](Self::snapshot). An indexer outlives its writer and then goes on answering from the last commit.
///
/// A read in a namespace that the informer of the store does not cover finds nothing, as it never can; the log says so once.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::{ObjectKey, store};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let (mut writer, indexer) = store::new::<ConfigMap>();
/// let key = ObjectKey::namespaced("web", "settings");
/// let mut commit = writer.begin();
/// commit.upsert(key.clone(), Arc::new(ConfigMap::default()));
/// assert!(indexer.get(&key).is_none(), "nothing is visible before it is published");
/// commit.publish();
/// assert!(indexer.get(&key).is_some());
/// assert_eq!(indexer.list_namespace("web").len(), 1);
/// ```
pub struct Indexer<K> {
    pub(super) shared: Arc<Shared<K>>,
}

impl<K: Send + Sync + 'static> Indexer<K> {
    /// The newest commit, whole and unchanging.
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot(Arc::clone(&self.shared.read()))
    }

    /// The newest commit, for the informer itself: not counted as a read that comes too early or too late.
    pub(crate) fn peek(&self) -> Snapshot<K> {
        Snapshot(self.shared.peek())
    }

    /// Whether the store is filling up, kept current, or left behind by an informer that stopped. Reads that
    /// come too early or too late are answered all the same, and logged once.
    pub fn freshness(&self) -> Freshness {
        self.shared.freshness.get()
    }

    /// The informer of this store was started.
    pub(crate) fn start_filling(&self) {
        self.shared.freshness.start();
    }

    /// The resource an informer fills the store with, such as `pods`; `None` if no informer does.
    pub fn resource(&self) -> Option<&str> {
        self.shared.freshness.resource()
    }

    /// The object under a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let state = self.shared.read();
        let found = state.objects.get(key.into());
        if found.is_none() {
            self.shared.note_miss(&state, key.namespace());
        }
        found.map(Slot::get)
    }

    /// Whether there is an object under a key.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        let state = self.shared.read();
        let is_there = state.objects.get(key.into()).is_some();
        if !is_there {
            self.shared.note_miss(&state, key.namespace());
        }
        is_there
    }

    /// All objects, ordered by namespace, then name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.snapshot().list()
    }

    /// The objects of one namespace, ordered by name. The empty namespace is that of cluster-scoped objects.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let snapshot = self.snapshot();
        let objects = snapshot.list_namespace(namespace);
        if objects.is_empty() {
            self.note_miss(&snapshot, Some(namespace));
        }
        objects
    }

    /// The number of objects in one namespace. Costs a walk over them.
    pub fn len_namespace(&self, namespace: &str) -> usize {
        let snapshot = self.snapshot();
        let len = snapshot.namespace(namespace).count();
        if len == 0 {
            self.note_miss(&snapshot, Some(namespace));
        }
        len
    }

    /// Whether there are no objects in one namespace.
    pub fn is_namespace_empty(&self, namespace: &str) -> bool {
        let snapshot = self.snapshot();
        let is_empty = snapshot.namespace(namespace).next().is_none();
        if is_empty {
            self.note_miss(&snapshot, Some(namespace));
        }
        is_empty
    }

    /// Says once in the log if what was not found can never be there.
    pub(super) fn note_miss(&self, snapshot: &Snapshot<K>, namespace: Option<&str>) {
        self.shared.note_miss(&snapshot.0, namespace);
    }

    /// All keys in order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.snapshot().keys()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.shared.read().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version of the only scope; with several scopes the version they all have, if it is the same.
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.peek().versions.common().cloned()
    }

    /// The version of every scope.
    pub fn versions(&self) -> Versions {
        self.shared.peek().versions.clone()
    }

    /// Adds an index over the values `values` gives for an object: none, one or several.
    ///
    /// May be called at any time, also while the writer commits. The index is complete when this returns, and
    /// stays exact. `values` runs here, on the caller's thread, for every object that is in the store
    /// already, and later off the async workers for each change. It must be pure: it is called again for an
    /// object that changes or is deleted. If it panics for an object, that object has no values in this
    /// index, nothing else is hurt, and [`index_status`](Self::index_status) says so. It runs without a lock
    /// that a reader could want, and may read this indexer (one that it owns a clone of then lives as long as
    /// the program); it may not add an index.
    ///
    /// # Errors
    /// [`IndexError::NameTaken`] if there is an index of this name, [`IndexError::Nested`] if called from inside
    /// an index function.
    pub fn add_index<V, I, F>(&self, name: &str, values: F) -> Result<Index<K, V>, IndexError>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        F: Fn(&K) -> I + Send + Sync + 'static,
    {
        let function: IndexFunction<K, V> = Box::new(move |object| Ok(values(object).into_iter().collect()));
        self.add(IndexName::Closure(name.into()), function)
    }

    /// Like [`add_index`](Self::add_index) with a function that can fail. A failure counts as a panic does: the
    /// object has no values in this index, and [`index_status`](Self::index_status) says so.
    ///
    /// # Errors
    /// As [`add_index`](Self::add_index).
    pub fn try_add_index<V, I, E, F>(&self, name: &str, values: F) -> Result<Index<K, V>, IndexError>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        E: fmt::Display,
        F: Fn(&K) -> Result<I, E> + Send + Sync + 'static,
    {
        let function: IndexFunction<K, V> = Box::new(move |object| match values(object) {
            Ok(values) => Ok(values.into_iter().collect()),
            Err(error) => Err(error.to_string()),
        });
        self.add(IndexName::Closure(name.into()), function)
    }

    /// The index of a definition, added if it does not exist yet: then the function runs here, on the
    /// caller's thread, for every object that is in the store already.
    ///
    /// # Errors
    /// [`IndexError::NameTaken`] if the index of this name was added by a closure or by another definition,
    /// [`IndexError::Nested`] if called from inside an index function.
    pub fn index<V: IndexValue>(
        &self,
        definition: &IndexDefinition<K, V>,
    ) -> Result<Index<K, V>, IndexError> {
        let values = definition.values;
        self.add(
            IndexName::Definition(definition.name.into(), definition.made_at),
            Box::new(move |object| Ok(values(object))),
        )
    }

    /// The index of a label, if there is one ([`add_label_index`](Self::add_label_index)).
    pub fn label_index(&self, label: &str) -> Option<Index<K, String>> {
        match existing(&self.shared.peek(), &IndexName::Label(label.into())) {
            Existing::Usable(source) => Some(Index::new(self.shared.clone(), source)),
            Existing::None | Existing::Clash => None,
        }
    }

    /// How each index fares, in the order they were added.
    pub fn index_status(&self) -> Vec<IndexStatus> {
        self.shared
            .peek()
            .indexes
            .iter()
            .map(|index| index.status())
            .collect()
    }

    /// Builds the index beside the store and appends it to the newest state when the two are at one version.
    fn add<V: IndexValue>(
        &self,
        name: IndexName,
        function: IndexFunction<K, V>,
    ) -> Result<Index<K, V>, IndexError> {
        if inside_index_function() {
            return Err(IndexError::Nested(name.to_string()));
        }
        let handle = |source| Index::new(self.shared.clone(), source);
        let mut base = self.shared.peek();
        match existing(&base, &name) {
            Existing::None => {}
            Existing::Usable(source) => return Ok(handle(source)),
            Existing::Clash => return Err(IndexError::NameTaken(name.to_string())),
        }
        if name.is_user_code() {
            // Before anything is built: commits that begin from now on leave the async worker. Only one that
            // is under way on it could still run the function, if the index were built and shown before that
            // commit is.
            self.shared.user_code.store(true, Ordering::Release);
        }
        let source = Arc::new(IndexSource::new(name, function));
        let mut data = IndexData::build(&source, &base.objects);
        for attempt in 0.. {
            let mut publishing = self.shared.publishing();
            let current = self.shared.peek();
            match existing(&current, &source.name) {
                Existing::None => {}
                Existing::Usable(source) => return Ok(handle(source)),
                Existing::Clash => return Err(IndexError::NameTaken(source.name.to_string())),
            }
            if attempt >= CATCH_UPS && !current.objects.is_same(&base.objects) {
                data.catch_up(&base.objects, &current.objects);
                base = current.clone();
            }
            if current.objects.is_same(&base.objects) {
                let mut state = State::clone(&current);
                state.indexes.push(Arc::new(data));
                let unheld = self.shared.publish(&mut publishing, Arc::new(state));
                drop(publishing);
                drop(unheld);
                break;
            }
            drop(publishing);
            data.catch_up(&base.objects, &current.objects);
            base = current;
        }
        Ok(handle(source))
    }
}

/// How often an index that is being added runs after the writer before it holds the writer up for the last few
/// changes.
pub(super) const CATCH_UPS: usize = 4;

impl<K: Object> Indexer<K> {
    /// The index of the values of one label, added if it is not there yet. Listers with a selector on that label
    /// find it by [`label_index`](Self::label_index).
    ///
    /// # Errors
    /// [`IndexError::Nested`] if called from inside an index function.
    pub fn add_label_index(&self, label: &str) -> Result<Index<K, String>, IndexError> {
        let key = label.to_owned();
        let function: IndexFunction<K, String> = Box::new(move |object| {
            let labels = object.meta().labels.as_ref();
            Ok(labels
                .and_then(|labels| labels.get(&key))
                .cloned()
                .into_iter()
                .collect())
        });
        self.add(IndexName::Label(label.into()), function)
    }
}

/// What stands in the way of adding an index of some name and type.
enum Existing<K, V> {
    None,
    /// The same index is there already.
    Usable(Arc<IndexSource<K, V>>),
    /// Another index has the name.
    Clash,
}

fn existing<K: Send + Sync + 'static, V: IndexValue>(state: &State<K>, name: &IndexName) -> Existing<K, V> {
    let Some(index) = state.indexes.iter().find(|index| index.name().clashes(name)) else {
        return Existing::None;
    };
    let is_shareable = index.name() == name && !matches!(name, IndexName::Closure(_));
    match IndexData::<K, V>::typed(&**index) {
        Some(data) if is_shareable => Existing::Usable(data.source().clone()),
        _ => Existing::Clash,
    }
}

impl<K> Clone for Indexer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K: Send + Sync + 'static> fmt::Debug for Indexer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer")
            .field("len", &self.len())
            .field("versions", &self.versions())
            .finish_non_exhaustive()
    }
}
