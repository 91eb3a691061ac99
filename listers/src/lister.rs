//! The reader of a whole cache.

use std::fmt;
use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::store::{Indexer, Snapshot};
use informer_core::{Object, ObjectKey, store};

use crate::namespace::NamespaceLister;
use crate::not_found::NotFound;
use crate::scope::{HasNamesAlone, HasNamespaces};

/// Reads the objects of one kind from an informer's cache; cheap to clone and to share between threads.
///
/// Reads never wait, neither for the network nor for a writer. Each call answers from one moment, the newest the cache has; to ask
/// several questions of one moment take a [`snapshot`](Self::snapshot). Objects are shared with every other reader and cannot
/// be changed.
///
/// A lister says nothing about how fresh the cache is: that is the informer's `has_synced` and `status`. It outlives the
/// informer and then goes on answering from the last state.
///
/// A read in a namespace that the informer does not cover finds nothing, as it never can; the log says so once.
///
/// Which methods there are depends on the kind. One that lives in namespaces has [`namespace`](Self::namespace):
///
/// ```
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// assert!(pods.namespace("web").get("front-0").is_none());
/// ```
///
/// and no `get` by name alone, which would be ambiguous:
///
/// ```compile_fail,E0277
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Pod;
/// use listers::Lister;
///
/// let pods: Lister<Pod> = Lister::new(indexer);
/// pods.get("front-0");
/// ```
///
/// One that does not has [`get`](Self::get), and no `namespace`:
///
/// ```compile_fail,E0277
/// # let (_writer, indexer) = informer_core::store::new();
/// use k8s_openapi::api::core::v1::Node;
/// use listers::Lister;
///
/// let nodes: Lister<Node> = Lister::new(indexer);
/// assert!(nodes.get("node-1").is_none());
/// nodes.namespace("web");
/// ```
///
/// A `DynamicObject`, whose type does not tell, has both.
pub struct Lister<K> {
    indexer: Indexer<K>,
}

impl<K: Object> Lister<K> {
    /// A lister over a cache: `Lister::new(informer.indexer())`.
    pub fn new(indexer: Indexer<K>) -> Self {
        Self { indexer }
    }

    /// A lister over these objects, for the unit tests of code that takes one.
    ///
    /// Nothing fills it from a server, and no objects can be put in later. Indexes can:
    /// [`indexer`](Self::indexer)`().add_index(..)` and `add_label_index(..)` work as on a real cache.
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
    /// If an object has no name, or two have the same key: the message says which.
    #[track_caller]
    pub fn from_objects(objects: impl IntoIterator<Item = K>) -> Self {
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        for (place, object) in objects.into_iter().enumerate() {
            let Some(key) = ObjectKey::of(object.meta()) else {
                panic!("the object at place {place} of those for a lister has no name");
            };
            let twin = commit.upsert(key.clone(), Arc::new(object));
            assert!(twin.is_none(), "two of the objects for a lister are {key}");
        }
        commit.publish();
        Self::new(indexer)
    }

    /// The selected objects, ordered by namespace, then name.
    ///
    /// A requirement that names the values a label may have (`app=web`, `app in (web,db)`) is answered from the index of that
    /// label, if there is one ([`Indexer::add_label_index`]): then the call costs what the index offers, not what the cache
    /// holds.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.indexer.select(selector)
    }

    /// Calls `visit` for every selected object, ordered by namespace, then name, without collecting them. They are those of one
    /// moment: what changes meanwhile is not seen.
    pub fn for_each(&self, selector: &Selector, mut visit: impl FnMut(&Arc<K>)) {
        for (_, object) in self.indexer.snapshot().select(selector) {
            visit(&object);
        }
    }

    /// The object under a key, for kinds of any scope.
    pub fn get_key(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.indexer.get(key)
    }

    /// The object under a key, or an error that names it.
    ///
    /// # Errors
    /// [`NotFound`] if the cache has no such object.
    pub fn require_key(&self, key: &ObjectKey) -> Result<Arc<K>, NotFound> {
        self.get_key(key)
            .ok_or_else(|| NotFound::of(&self.indexer, key.clone()))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.indexer.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.indexer.is_empty()
    }

    /// The cache as it is now, whole and unchanging, to ask several questions of one moment. It is stamped with the version
    /// it has, and indexes can be read on it.
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

    /// The cache this lister reads.
    pub fn indexer(&self) -> &Indexer<K> {
        &self.indexer
    }
}

// The bounds are those of the methods, not of an impl: only then does the compiler show what the traits say
// to the author of a call that a kind does not allow.
impl<K: Object> Lister<K> {
    /// A lister of one namespace, whether that exists or not. For kinds whose objects are in namespaces.
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<K>
    where
        K::Scope: HasNamespaces,
    {
        NamespaceLister::new(self.indexer.clone(), namespace)
    }

    /// The object of this name. For cluster-scoped kinds.
    pub fn get(&self, name: &str) -> Option<Arc<K>>
    where
        K::Scope: HasNamesAlone,
    {
        self.indexer.get(&ObjectKey::cluster(name))
    }

    /// The object of this name, or an error that names it. For cluster-scoped kinds.
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
