//! Secondary indexes: their definition, and the handle to read one.

mod data;
mod function;
mod view;

use std::borrow::Borrow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

pub(super) use self::data::{AnyIndex, IndexData};
pub(super) use self::function::{IndexFunction, IndexSource, inside_index_function, of_object};
pub use self::view::IndexView;
use super::state::{StoreShared, StoreState};
use crate::key::ObjectKey;

/// The type of an index's values: any ordered type that can be cloned and shared between threads.
pub trait IndexValue: Ord + Clone + Send + Sync + 'static {}

impl<V: Ord + Clone + Send + Sync + 'static> IndexValue for V {}

/// An index definition as a value, so that several parts of a program can share one index.
///
/// A definition is identified by its name and the source location of its creation. Copies are the same
/// definition, also of a `const`. Two definitions with one name are refused ([`IndexError::NameTaken`]),
/// even if their functions are equal. A generic function or macro that creates several definitions in one
/// place must give them different names.
///
/// The function must be pure: it is called again for an object that changes or is deleted.
///
/// ```
/// use informer_core::store::{IndexDefinition, IndexError, Indexer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// static BY_NODE: IndexDefinition<Pod, String> =
///     IndexDefinition::new("node", |pod| {
///         pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect()
///     });
///
/// let indexer = Indexer::<Pod>::from_objects([]);
/// let by_node = indexer.index(&BY_NODE)?;
/// let the_same = indexer.index(&BY_NODE)?;
/// assert!(by_node.get("node-1").is_empty());
/// # Ok::<(), IndexError>(())
/// ```
pub struct IndexDefinition<K, V> {
    pub(super) name: &'static str,
    pub(super) values: fn(&K) -> Vec<V>,
    /// Distinguishes it from others with its name. Addresses of functions and promoted constants would not:
    /// they are not unique.
    pub(super) made_at: &'static Location<'static>,
}

impl<K, V> IndexDefinition<K, V> {
    /// Creates a definition with this name, over the values the function returns for an object.
    #[track_caller]
    pub const fn new(name: &'static str, values: fn(&K) -> Vec<V>) -> Self {
        Self {
            name,
            values,
            made_at: Location::caller(),
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<K, V> Clone for IndexDefinition<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for IndexDefinition<K, V> {}

impl<K, V> fmt::Debug for IndexDefinition<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexDefinition")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The name of an index, with its kind. Names of label indexes never clash with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) enum IndexName {
    /// Added with a closure.
    Closure(Arc<str>),
    /// Added from an [`IndexDefinition`] that was created at this location.
    Definition(Arc<str>, &'static Location<'static>),
    /// The values of one label.
    Label(Arc<str>),
    /// The UID of the controller owner.
    Controller,
}

impl IndexName {
    /// Whether this is the index of the given label.
    pub(super) fn is_label(&self, label: &str) -> bool {
        matches!(self, Self::Label(own) if **own == *label)
    }

    /// Whether commits run a user's function for it.
    pub(super) fn is_user_code(&self) -> bool {
        !matches!(self, Self::Label(_) | Self::Controller)
    }

    /// Whether the two cannot exist in one store.
    pub(super) fn clashes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Label(this), Self::Label(that)) => this == that,
            (Self::Controller, Self::Controller) => true,
            (Self::Label(_) | Self::Controller, _) | (_, Self::Label(_) | Self::Controller) => false,
            (
                Self::Closure(this) | Self::Definition(this, _),
                Self::Closure(that) | Self::Definition(that, _),
            ) => this == that,
        }
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closure(name) | Self::Definition(name, _) => f.write_str(name),
            Self::Label(key) => write!(f, "label {key}"),
            Self::Controller => f.write_str("controller"),
        }
    }
}

/// Why an index could not be added.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another index has this name.
    #[error("an index {0:?} already exists: choose another name, or share one IndexDefinition")]
    NameTaken(String),
    /// An index function tried to add an index.
    #[error("cannot add index {0:?} from inside an index function")]
    Nested(String),
}

crate::__debug_is_the_message!(IndexError);

/// The status of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStatus {
    /// The name of the index; `label app` for an index of the label `app`.
    pub name: String,
    /// The number of distinct values.
    pub values: usize,
    /// The number of objects that are missing from the index because its function failed for them.
    pub failing: usize,
    /// How often its function has failed or panicked.
    pub failures: u64,
    /// The object of the last failure.
    pub last_key: Option<ObjectKey>,
    /// The message of the last failure. It comes from the function and may quote the object.
    pub last_message: Option<String>,
}

/// A handle to one index, typed by its values; cheap to clone.
///
/// Each call reads the newest snapshot. For several reads of one state, use [`current`](Self::current) or
/// [`Snapshot::index`](super::Snapshot::index). Objects are ordered by namespace, then name.
///
/// ```
/// use informer_core::store::{IndexError, Indexer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let indexer = Indexer::<Pod>::from_objects([]);
/// let by_node = indexer.add_index("node", |pod: &Pod| pod.spec.clone().and_then(|spec| spec.node_name))?;
/// assert!(by_node.get("node-1").is_empty());
/// # Ok::<(), IndexError>(())
/// ```
pub struct Index<K, V> {
    shared: Arc<StoreShared<K>>,
    source: Arc<IndexSource<K, V>>,
}

impl<K: Send + Sync + 'static, V: IndexValue> Index<K, V> {
    pub(super) fn new(shared: Arc<StoreShared<K>>, source: Arc<IndexSource<K, V>>) -> Self {
        Self { shared, source }
    }

    /// The name of the index.
    pub fn name(&self) -> String {
        self.source.name.to_string()
    }

    /// The objects with this value.
    pub fn get<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
    {
        self.read(|data| data.objects(value))
    }

    /// The keys of the objects with this value.
    pub fn keys<Q: Ord + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        self.read(|data| data.keys(value))
    }

    /// The distinct values that at least one object has, in order.
    pub fn values(&self) -> Vec<V> {
        self.read(IndexData::distinct)
    }

    /// The number of objects with this value.
    pub fn len<Q: Ord + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        self.read(|data| data.count(value))
    }

    /// Whether no object has any value.
    pub fn is_empty(&self) -> bool {
        self.read(IndexData::is_empty)
    }

    /// The index in the newest snapshot, for several reads of one state.
    pub fn current(&self) -> IndexView<K, V> {
        self.at(Arc::clone(&self.shared.read()))
    }

    pub(super) fn at(&self, state: Arc<StoreState<K>>) -> IndexView<K, V> {
        match self.position(&state) {
            Some(at) => IndexView::stored(state, at),
            None => IndexView::built(IndexData::build(&self.source, &state.objects)),
        }
    }

    fn read<R>(&self, read: impl FnOnce(&IndexData<K, V>) -> R) -> R {
        let state = self.shared.read();
        let data = state
            .indexes
            .iter()
            .find_map(|index| IndexData::of(&**index, &self.source));
        read(
            data.expect(
                "a handle is returned after its index is in the store, and indexes are never removed",
            ),
        )
    }

    fn position(&self, state: &StoreState<K>) -> Option<usize> {
        state
            .indexes
            .iter()
            .position(|index| IndexData::of(&**index, &self.source).is_some())
    }
}

impl<K, V> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            source: self.source.clone(),
        }
    }
}

impl<K, V> fmt::Debug for Index<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.source.name)
            .finish_non_exhaustive()
    }
}
