//! One immutable version of everything the store holds, and the cell that shows the newest.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, Guard};

use super::freshness::FreshnessCell;
use super::index::AnyIndex;
use super::slot::Slot;
use super::stale::Stale;
use super::tree::{Packed, Tree};
use super::versions::Versions;

/// The objects by key.
pub(super) type Objects<K> = Tree<Packed, Slot<K>>;

/// All that one snapshot shows. The writer alone changes objects, versions and stale keys; whoever adds an index
/// only appends one.
pub(super) struct State<K> {
    pub(super) objects: Objects<K>,
    pub(super) indexes: Vec<Arc<dyn AnyIndex<K>>>,
    pub(super) versions: Versions,
    pub(super) stale: Stale,
    /// How many objects were put in, replaced or taken out since the store was made. Two states differ by at
    /// most as many changes as their counts do: what dropping one of them can cost.
    pub(super) changes: u64,
}

impl<K> Clone for State<K> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            indexes: self.indexes.clone(),
            versions: self.versions.clone(),
            stale: self.stale.clone(),
            changes: self.changes,
        }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            objects: Tree::default(),
            indexes: Vec::new(),
            versions: Versions::default(),
            stale: Stale::default(),
            changes: 0,
        }
    }
}

/// What the writer and all readers of one store share. Readers only load `current`; the lock orders those who
/// publish: the writer, and whoever adds an index.
pub(super) struct Shared<K> {
    current: ArcSwap<State<K>>,
    pub(super) freshness: FreshnessCell,
    publishing: Mutex<Publishing<K>>,
    /// Whether commits run index functions of the user's. Set before the first such index is built, and never
    /// taken back.
    pub(super) user_code: AtomicBool,
}

/// What only a publisher touches.
pub(super) struct Publishing<K> {
    shelf: Shelf<K>,
}

/// Where replaced states go.
enum Shelf<K> {
    /// They wait here until no reader holds them, so that no reader pays for dropping them.
    Open {
        retired: Vec<Arc<State<K>>>,
        survivors: usize,
    },
    /// The writer is gone, nobody will clear the shelf: they are dropped at once.
    Closed,
}

/// How many states that nobody holds may pile up before a commit drops them itself.
const UNREAPED: usize = 16;

impl<K> Shared<K> {
    pub(super) fn new() -> Self {
        Self {
            current: ArcSwap::from_pointee(State::default()),
            freshness: FreshnessCell::default(),
            publishing: Mutex::new(Publishing {
                shelf: Shelf::Open {
                    retired: Vec::new(),
                    survivors: 0,
                },
            }),
            user_code: AtomicBool::new(false),
        }
    }

    /// The newest state, for a user who reads.
    pub(super) fn read(&self) -> Guard<Arc<State<K>>> {
        self.freshness.note_read();
        self.current.load()
    }

    /// A user who read this state found nothing there: says so once if nothing ever can be.
    pub(super) fn note_miss(&self, state: &State<K>, namespace: Option<&str>) {
        if let Some(namespace) = namespace {
            self.freshness.note_miss(&state.versions, namespace);
        }
    }

    /// The newest state, for the store and its informer themselves.
    pub(super) fn peek(&self) -> Arc<State<K>> {
        self.current.load_full()
    }

    /// Waits for other publishers, never for a reader. No code of the user's panics under this lock, and what it
    /// protects is whole after every step, so a poisoned lock is taken as it is.
    pub(super) fn publishing(&self) -> MutexGuard<'_, Publishing<K>> {
        self.publishing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a new state to all readers from now on. What is returned is to be dropped after the lock is.
    #[must_use]
    pub(super) fn publish(&self, publishing: &mut Publishing<K>, state: Arc<State<K>>) -> Vec<Arc<State<K>>> {
        let old = self.current.swap(state);
        match &mut publishing.shelf {
            Shelf::Open { retired, survivors } => {
                retired.push(old);
                if retired.len() < *survivors + UNREAPED {
                    return Vec::new();
                }
                let free = take_unheld(retired);
                *survivors = retired.len();
                free
            }
            Shelf::Closed => vec![old],
        }
    }
}

impl<K> Publishing<K> {
    /// Takes the retired states that no reader holds any more.
    pub(super) fn reap(&mut self) -> Vec<Arc<State<K>>> {
        match &mut self.shelf {
            Shelf::Open { retired, survivors } => {
                let free = take_unheld(retired);
                *survivors = retired.len();
                free
            }
            Shelf::Closed => Vec::new(),
        }
    }

    /// The number of retired states that wait for their readers or for the reaper.
    pub(super) fn retired(&self) -> usize {
        match &self.shelf {
            Shelf::Open { retired, .. } => retired.len(),
            Shelf::Closed => 0,
        }
    }

    /// Stops collecting retired states and hands out those that wait, held or not.
    pub(super) fn close(&mut self) -> Vec<Arc<State<K>>> {
        match std::mem::replace(&mut self.shelf, Shelf::Closed) {
            Shelf::Open { retired, .. } => retired,
            Shelf::Closed => Vec::new(),
        }
    }
}

/// A retired state can only lose holders: it is no longer in the cell where readers find one. So one holder means
/// that the shelf is the last, and stays it.
fn take_unheld<K>(retired: &mut Vec<Arc<State<K>>>) -> Vec<Arc<State<K>>> {
    retired
        .extract_if(.., |state| Arc::strong_count(state) == 1)
        .collect()
}
