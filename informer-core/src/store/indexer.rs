//! The read side of the store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::freshness::Freshness;
use super::give_way;
use super::index::{
    AnyIndex, Index, IndexData, IndexDefinition, IndexError, IndexFunction, IndexName, IndexSource,
    IndexStatus, IndexValue, inside_index_function, of_object,
};
use super::snapshot::Snapshot;
use super::spare::Log;
use super::state::{StoreShared, StoreState};
use super::versions::Versions;
use crate::key::ObjectKey;
use crate::object::{Object, controller_of};
use crate::resource_version::ResourceVersion;
use crate::storage::Stored;

/// The read side of the store of one kind; cheap to clone and to share between threads.
///
/// Reads never wait: not for the writer, not for one another, and not for an index that is being added.
/// Each call reads the newest published commit; for several reads of one state take a
/// [`snapshot`](Self::snapshot). An indexer outlives its writer and then returns the last state.
///
/// A thread that reads many objects through an indexer lets other threads run once per 50,000 of them, if
/// any wait for the processor. Without that, a few threads that read without pause would keep changes from
/// being applied. Reads of a [`Snapshot`] never do this.
///
/// Reads in a namespace that the informer does not cover return nothing; the first one logs a warning.
///
/// ```
/// use informer_core::ObjectKey;
/// use informer_core::store::Indexer;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.namespace = Some("web".to_owned());
/// settings.metadata.name = Some("settings".to_owned());
/// let indexer = Indexer::from_objects([settings]); // or informer.indexer()
/// assert!(indexer.get(&ObjectKey::namespaced("web", "settings")).is_some());
/// assert_eq!(indexer.list_namespace("web").len(), 1);
/// ```
pub struct Indexer<K> {
    pub(super) shared: Arc<StoreShared<K>>,
}

impl<K: Object> Indexer<K> {
    /// Creates an indexer of fixed objects, without an informer, for unit tests of code that takes one.
    ///
    /// Objects cannot be added later. Indexes can.
    ///
    /// # Panics
    /// If an object has no name, or two objects have the same key.
    #[track_caller]
    pub fn from_objects(objects: impl IntoIterator<Item = K>) -> Self {
        let (mut writer, indexer) = super::new();
        let mut commit = writer.begin();
        for (position, object) in objects.into_iter().enumerate() {
            let Some(key) = ObjectKey::of(object.meta()) else {
                panic!("the object at index {position} has no name");
            };
            let previous = commit.upsert(key.clone(), Arc::new(object));
            assert!(previous.is_none(), "two objects have the key {key}");
        }
        commit.publish();
        indexer
    }
}

impl<K: Send + Sync + 'static> Indexer<K> {
    /// Returns the newest commit as an immutable snapshot.
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot(Arc::clone(&self.shared.read()))
    }

    /// The newest commit, for the informer itself: does not log early or late reads.
    pub(crate) fn peek(&self) -> Snapshot<K> {
        Snapshot(self.shared.peek())
    }

    /// The number of objects, and their size in bytes.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.shared.size()
    }

    /// Whether the store is incomplete, current, or the last state of a stopped informer. Early and late
    /// reads are answered, and logged once.
    pub fn freshness(&self) -> Freshness {
        self.shared.freshness.get()
    }

    /// Records that the informer of this store was started.
    pub(crate) fn start_filling(&self) {
        self.shared.freshness.start();
    }

    /// The resource of the informer that fills the store, such as `pods`; `None` without an informer.
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
        found.and_then(Stored::get)
    }

    /// Whether an object exists under a key.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        let state = self.shared.read();
        let exists = state.objects.get(key.into()).is_some();
        if !exists {
            self.shared.note_miss(&state, key.namespace());
        }
        exists
    }

    /// All objects, ordered by namespace, then name.
    pub fn list(&self) -> Vec<Arc<K>> {
        let objects = self.snapshot().list();
        give_way::after_reading(objects.len());
        objects
    }

    /// The objects of one namespace, ordered by name. Cluster-scoped objects are in the empty namespace.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let snapshot = self.snapshot();
        let objects = snapshot.list_namespace(namespace);
        if objects.is_empty() {
            self.note_miss(&snapshot, Some(namespace));
        }
        drop(snapshot);
        give_way::after_reading(objects.len());
        objects
    }

    /// The number of objects in one namespace. Costs much less than visiting them.
    pub fn len_namespace(&self, namespace: &str) -> usize {
        let snapshot = self.snapshot();
        let len = snapshot.len_namespace(namespace);
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

    /// Logs a warning once if the informer does not cover the namespace.
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

    /// The version of the only scope. With several scopes, their version if it is the same in all.
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.peek().versions.common().cloned()
    }

    /// The version of every scope.
    pub fn versions(&self) -> Versions {
        self.shared.peek().versions.clone()
    }

    /// Adds an index over the values that `values` returns for an object: none, one or several.
    ///
    /// May be called at any time, also while the writer commits. The index is complete when this returns,
    /// and stays exact. `values` runs on the caller's thread for every object already in the store, and
    /// later off the async workers for each change. It must be pure: it is called again for an object that
    /// changes or is deleted. If it panics for an object, that object has no values in this index, nothing
    /// else is affected, and [`index_status`](Self::index_status) reports it. It runs without any lock that
    /// readers need, and may read this indexer (an indexer that it owns a clone of is never freed); it may
    /// not add an index.
    ///
    /// # Errors
    /// [`IndexError::NameTaken`] if an index of this name exists, [`IndexError::Nested`] if called from
    /// inside an index function.
    pub fn add_index<V, I, F>(&self, name: &str, values: F) -> Result<Index<K, V>, IndexError>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        F: Fn(&K) -> I + Send + Sync + 'static,
    {
        let function = of_object(move |object| Ok(values(object).into_iter().collect()));
        self.add(IndexName::Closure(name.into()), function)
    }

    /// Like [`add_index`](Self::add_index), with a function that can fail. A failure is handled like a
    /// panic: the object has no values in this index, and [`index_status`](Self::index_status) reports it.
    ///
    /// # Errors
    /// The same as of [`add_index`](Self::add_index).
    pub fn try_add_index<V, I, E, F>(&self, name: &str, values: F) -> Result<Index<K, V>, IndexError>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        E: fmt::Display,
        F: Fn(&K) -> Result<I, E> + Send + Sync + 'static,
    {
        let function = of_object(move |object| match values(object) {
            Ok(values) => Ok(values.into_iter().collect()),
            Err(error) => Err(error.to_string()),
        });
        self.add(IndexName::Closure(name.into()), function)
    }

    /// Returns the index of a definition, and adds it if it does not exist: then the function runs on the
    /// caller's thread for every object already in the store.
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
            of_object(move |object| Ok(values(object))),
        )
    }

    /// The index of a label, if it exists ([`add_label_index`](Self::add_label_index)).
    pub fn label_index(&self, label: &str) -> Option<Index<K, String>> {
        match existing(&self.shared.peek(), &IndexName::Label(label.into())) {
            Existing::Usable(source) => Some(Index::new(self.shared.clone(), source)),
            Existing::None | Existing::Clash => None,
        }
    }

    /// The status of each index, in the order they were added.
    pub fn index_status(&self) -> Vec<IndexStatus> {
        self.shared
            .peek()
            .indexes
            .iter()
            .map(|index| index.status())
            .collect()
    }

    /// Builds the index from a snapshot, and appends it to the newest state when it has caught up with it.
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
            // Before the index is built: commits that begin from now on run off the async workers. Only a
            // commit that is already running on a worker could still call the function, and only if the
            // index is published before that commit.
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
                let mut state = StoreState::clone(&current);
                state.indexes.push(Arc::new(data));
                let unheld = self.shared.publish(&mut publishing, Arc::new(state), Log::Lost);
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

/// How often an index that is being added catches up without the lock, before it makes the writer wait for
/// the last few changes.
pub(super) const CATCH_UPS: usize = 4;

impl<K: Object> Indexer<K> {
    /// Returns the index of the values of one label, and adds it if it does not exist. Listers with a
    /// selector on that label use it.
    ///
    /// # Errors
    /// [`IndexError::Nested`] if called from inside an index function.
    pub fn add_label_index(&self, label: &str) -> Result<Index<K, String>, IndexError> {
        let key = label.to_owned();
        let function: IndexFunction<K, String> =
            Box::new(move |stored| Ok(stored.label(&key).map(str::to_owned).into_iter().collect()));
        self.add(IndexName::Label(label.into()), function)
    }

    /// Returns the index of the UIDs of controller owners, and adds it if it does not exist. Listers use it
    /// for `owned_by`.
    ///
    /// # Errors
    /// [`IndexError::Nested`] if called from inside an index function.
    pub fn controller_index(&self) -> Result<Index<K, String>, IndexError> {
        let function = of_object(|object: &K| {
            let controller = controller_of(object.meta());
            Ok(controller.map(|owner| owner.uid.clone()).into_iter().collect())
        });
        self.add(IndexName::Controller, function)
    }

    /// Returns the objects whose controller owner is `owner`, by its UID, ordered by namespace, then name.
    ///
    /// The first call adds an index, which reads every object once; later calls read only the result. An
    /// owner without a UID owns nothing.
    pub fn owned_by(&self, owner: &impl Object) -> Vec<Arc<K>> {
        let Some(uid) = owner.meta().uid.as_deref() else {
            return Vec::new();
        };
        match self.controller_index() {
            Ok(index) => index.get(uid),
            // Index functions cannot add an index.
            Err(_) => {
                let mut all = self.list();
                all.retain(|object| controller_of(object.meta()).is_some_and(|owner| owner.uid == uid));
                all
            }
        }
    }
}

/// Whether an index of some name and type can be added.
enum Existing<K, V> {
    None,
    /// The same index exists.
    Usable(Arc<IndexSource<K, V>>),
    /// Another index has the name.
    Clash,
}

fn existing<K: Send + Sync + 'static, V: IndexValue>(
    state: &StoreState<K>,
    name: &IndexName,
) -> Existing<K, V> {
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
