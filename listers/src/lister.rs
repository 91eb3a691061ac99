//! The reader of all objects of a kind.

use std::fmt;
use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::store::{Indexer, Snapshot};
use informer_core::{Object, ObjectKey};

use crate::namespace::NamespaceLister;
use crate::not_found::NotFound;
use crate::scope::{HasNamesAlone, HasNamespaces};

/// Reads the objects of one kind from an informer's cache; cheap to clone and to share between threads.
///
/// Reads never block, neither on the network nor on a writer. Each call reads one consistent state, the
/// newest of the cache; for several reads of the same state take a [`snapshot`](Self::snapshot). Objects are
/// shared with every other reader and are immutable.
///
/// The informer's `has_synced` and `status` report how fresh the cache is. A lister outlives the informer and
/// then returns the last state.
///
/// Reads in a namespace that the informer does not cover return nothing; the first one logs a warning.
///
/// The available methods depend on the kind. A namespaced kind has [`namespace`](Self::namespace):
///
/// ```
/// # let indexer = informer_core::store::Indexer::from_objects([]);
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// assert!(pods.namespace("web").get("front-0").is_none());
/// ```
///
/// but not `get`, because a name alone is ambiguous:
///
/// ```compile_fail,E0277
/// # let indexer = informer_core::store::Indexer::from_objects([]);
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// pods.get("front-0");
/// ```
///
/// A cluster-scoped kind has [`get`](Self::get), but not `namespace`:
///
/// ```compile_fail,E0277
/// # let indexer = informer_core::store::Indexer::from_objects([]);
/// use k8s_openapi::api::core::v1::Node;
/// use listers::Lister;
///
/// let nodes: Lister<Node> = Lister::new(indexer);
/// assert!(nodes.get("node-1").is_none());
/// nodes.namespace("web");
/// ```
///
/// A `DynamicObject`, whose scope is unknown at compile time, has both.
pub struct Lister<K> {
    indexer: Indexer<K>,
}

impl<K: Object> Lister<K> {
    /// Creates a lister of a cache: `Lister::new(informer.indexer())`.
    pub fn new(indexer: Indexer<K>) -> Self {
        Self { indexer }
    }

    /// Creates a lister of fixed objects, for unit tests of code that takes a lister.
    ///
    /// Objects cannot be added later. Indexes can: [`indexer`](Self::indexer)`().add_index(..)` and
    /// `add_label_index(..)` work as on a real cache.
    ///
    /// ```
    /// use informer_core::selector::Selector;
    /// use k8s_openapi::api::core::v1::Node;
    /// use listers::Lister;
    ///
    /// let node = |name: &str| Node {
    ///     metadata: kube::api::ObjectMeta { name: Some(name.into()), ..Default::default() },
    ///     ..Node::default()
    /// };
    /// let nodes = Lister::from_objects([node("node-2"), node("node-1")]);
    /// assert!(nodes.get("node-1").is_some());
    /// assert_eq!(nodes.list(&Selector::everything()).len(), 2);
    /// ```
    ///
    /// # Panics
    /// If an object has no name, or two objects have the same key.
    #[track_caller]
    pub fn from_objects(objects: impl IntoIterator<Item = K>) -> Self {
        Self::new(Indexer::from_objects(objects))
    }

    /// Returns the selected objects, ordered by namespace, then name.
    ///
    /// If a label with required values (`app=web`, `app in (web,db)`) has an index
    /// ([`Indexer::add_label_index`]), the call reads only the objects with these values, not the whole
    /// cache.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.indexer.select(selector)
    }

    /// Calls `visit` for every selected object, ordered by namespace, then name, without collecting them. All
    /// objects are from one state of the cache.
    pub fn for_each(&self, selector: &Selector, visit: impl FnMut(&Arc<K>)) {
        self.indexer.for_each(selector, visit);
    }

    /// Returns the objects whose controller owner is `owner`, ordered by namespace, then name: those with an
    /// owner reference to its UID that has `controller: true`.
    ///
    /// The first call adds an index, which reads every object once; later calls read only the result.
    pub fn owned_by(&self, owner: &impl Object) -> Vec<Arc<K>> {
        self.indexer.owned_by(owner)
    }

    /// Returns the object with this key, for kinds of any scope.
    pub fn get_key(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.indexer.get(key)
    }

    /// Returns the object with this key, or an error that names it.
    ///
    /// # Errors
    /// [`NotFound`] if the cache has no such object.
    pub fn require_key(&self, key: &ObjectKey) -> Result<Arc<K>, NotFound> {
        self.get_key(key)
            .ok_or_else(|| NotFound::of(&self.indexer, key.clone()))
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.indexer.len()
    }

    /// Returns whether the cache has no objects.
    pub fn is_empty(&self) -> bool {
        self.indexer.is_empty()
    }

    /// Returns the current state of the cache as an immutable snapshot, for several consistent reads. It has
    /// the version of the cache and its indexes.
    ///
    /// ```
    /// # use informer_core::selector::Selector;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use listers::Lister;
    /// # fn example(pods: Lister<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// let by_node = pods.indexer().add_index("node", |pod: &Pod| {
    ///     pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
    /// })?;
    /// let (front, snapshot) = ("tier=front".parse::<Selector>()?, pods.snapshot());
    /// println!(
    ///     "at version {:?}: {} pods, {} in front, {} on node-1",
    ///     snapshot.resource_version(),
    ///     snapshot.len(),
    ///     snapshot.select(&front).count(),
    ///     snapshot.index(&by_node).len("node-1"),
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self) -> Snapshot<K> {
        self.indexer.snapshot()
    }

    /// Returns the cache that this lister reads.
    pub fn indexer(&self) -> &Indexer<K> {
        &self.indexer
    }
}

// The bounds are on the methods, not on the impl: only then does the compiler show the message of the trait
// for a call that the kind does not allow.
impl<K: Object> Lister<K> {
    /// Returns a lister of one namespace, which need not exist. For namespaced kinds.
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<K>
    where
        K::Scope: HasNamespaces,
    {
        NamespaceLister::new(self.indexer.clone(), namespace)
    }

    /// Returns the object of this name. For cluster-scoped kinds.
    pub fn get(&self, name: &str) -> Option<Arc<K>>
    where
        K::Scope: HasNamesAlone,
    {
        self.indexer.get(&ObjectKey::cluster(name))
    }

    /// Returns the object of this name, or an error that names it. For cluster-scoped kinds.
    ///
    /// # Errors
    /// [`NotFound`] if the cache has no such object.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound>
    where
        K::Scope: HasNamesAlone,
    {
        self.require_key(&ObjectKey::cluster(name))
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self {
            indexer: self.indexer.clone(),
        }
    }
}

impl<K: Object> From<Indexer<K>> for Lister<K> {
    fn from(indexer: Indexer<K>) -> Self {
        Self::new(indexer)
    }
}

impl<K: Object> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
