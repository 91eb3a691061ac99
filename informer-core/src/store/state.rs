//! One immutable version of the store's contents, and the cell that publishes the newest.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwap, Guard};

use super::freshness::FreshnessCell;
use super::index::AnyIndex;
use super::spare::{Log, Spare, Unheld};
use super::stale::Stale;
use super::total::ByteShare;
use super::tree::{Packed, Tree};
use super::versions::Versions;
use crate::storage::Stored;

/// The objects by key.
pub(super) type Objects<K> = Tree<Packed, Stored<K>>;

/// The contents of one snapshot. Only the writer changes objects, versions and stale keys; adding an index
/// only appends one.
pub(super) struct StoreState<K> {
    pub(super) objects: Objects<K>,
    pub(super) indexes: Vec<Arc<dyn AnyIndex<K>>>,
    pub(super) versions: Versions,
    pub(super) stale: Stale,
    /// The number of objects inserted, replaced or removed since the store was created. Two states differ
    /// by at most the difference of these counts, which bounds the cost of dropping one of them.
    pub(super) changes: u64,
    /// The sum of [`Stored::bytes`] over all objects.
    pub(super) bytes: u64,
}

impl<K> Clone for StoreState<K> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            indexes: self.indexes.clone(),
            versions: self.versions.clone(),
            stale: self.stale.clone(),
            changes: self.changes,
            bytes: self.bytes,
        }
    }
}

impl<K> Default for StoreState<K> {
    fn default() -> Self {
        Self {
            objects: Tree::default(),
            indexes: Vec::new(),
            versions: Versions::default(),
            stale: Stale::default(),
            changes: 0,
            bytes: 0,
        }
    }
}

/// The part of a store that its writer and all readers share. Readers only load `current`; the lock orders
/// the publishers: the writer, and threads that add an index.
pub(super) struct StoreShared<K> {
    current: ArcSwap<StoreState<K>>,
    pub(super) freshness: FreshnessCell,
    publishing: Mutex<Publishing<K>>,
    /// Whether commits run index functions of users. Set before the first such index is built, and never
    /// reset.
    pub(super) user_code: AtomicBool,
    /// Where its size is counted, if several stores share a limit.
    share: OnceLock<Arc<ByteShare>>,
}

/// Accessible to the publisher only.
pub(super) struct Publishing<K> {
    shelf: RetiredStates<K>,
    /// The last one of the replaced states, if the next commit may use it.
    spare: Option<Spare<K>>,
    spares: Spares,
}

/// Whether the last replaced state is kept for the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spares {
    Kept,
    /// It is freed like the others.
    Freed,
}

/// Where replaced states go.
enum RetiredStates<K> {
    /// They wait here until no reader holds them, so that no reader pays for dropping them.
    Open {
        retired: Vec<Arc<StoreState<K>>>,
        survivors: usize,
    },
    /// The writer was dropped, and no one would reap them: they are dropped at once.
    Closed,
}

/// How many unheld states may accumulate before a commit drops them itself.
const UNREAPED: usize = 16;

impl<K> StoreShared<K> {
    pub(super) fn new() -> Self {
        Self {
            current: ArcSwap::from_pointee(StoreState::default()),
            freshness: FreshnessCell::default(),
            publishing: Mutex::new(Publishing {
                shelf: RetiredStates::Open {
                    retired: Vec::new(),
                    survivors: 0,
                },
                spare: None,
                spares: Spares::Freed,
            }),
            user_code: AtomicBool::new(false),
            share: OnceLock::new(),
        }
    }

    /// Counts the size of the store from now on. A second call changes nothing.
    pub(super) fn count_in(&self, share: Arc<ByteShare>) {
        let _ = self.share.set(share);
    }

    /// The newest state, for a read by a user.
    pub(super) fn read(&self) -> Guard<Arc<StoreState<K>>> {
        self.freshness.note_read();
        self.current.load()
    }

    /// Records that a user's read of this state found nothing: warns once if the namespace is not covered.
    pub(super) fn note_miss(&self, state: &StoreState<K>, namespace: Option<&str>) {
        if let Some(namespace) = namespace {
            self.freshness.note_miss(&state.versions, namespace);
        }
    }

    /// The newest state, for the store and its informer.
    pub(super) fn peek(&self) -> Arc<StoreState<K>> {
        self.current.load_full()
    }

    /// The number of objects of the newest state, and their size in bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let state = self.current.load();
        (state.objects.len() as u64, state.bytes)
    }

    /// Waits for other publishers, never for a reader. User code never panics under this lock, and the data
    /// is consistent after every step, so poisoning is ignored.
    pub(super) fn publishing(&self) -> MutexGuard<'_, Publishing<K>> {
        self.publishing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether someone holds the publishers' lock.
    #[cfg(test)]
    pub(super) fn is_publishing(&self) -> bool {
        self.publishing.try_lock().is_err()
    }

    /// Publishes a new state, with its changes since the current one. The caller drops the returned states
    /// after it has released the lock.
    #[must_use]
    pub(super) fn publish(
        &self,
        publishing: &mut Publishing<K>,
        state: Arc<StoreState<K>>,
        log: Log<K>,
    ) -> Vec<Arc<StoreState<K>>> {
        let old = self.current.swap(state.clone());
        if let Some(share) = self.share.get() {
            share.published(old.bytes, state.bytes, &state.versions);
        }
        // The one from before lacks the changes of two commits now.
        publishing.retire_spare();
        if let (Spares::Kept, Log::Kept(lacks)) = (publishing.spares, log) {
            publishing.spare = Some(Spare { state: old, lacks });
            return Vec::new();
        }
        match &mut publishing.shelf {
            RetiredStates::Open { retired, survivors } => {
                retired.push(old);
                if retired.len() < *survivors + UNREAPED {
                    return Vec::new();
                }
                let free = take_unheld(retired);
                *survivors = retired.len();
                free
            }
            RetiredStates::Closed => vec![old],
        }
    }
}

impl<K> Drop for StoreShared<K> {
    fn drop(&mut self) {
        if let Some(share) = self.share.get() {
            let last = self.current.load();
            share.published(last.bytes, 0, &last.versions);
        }
    }
}

impl<K> Publishing<K> {
    /// Sets whether the last replaced state is kept for the next commit. If not, one that was kept waits for
    /// the reaper like the others.
    pub(super) fn set_spares(&mut self, spares: Spares) {
        self.spares = spares;
        if spares == Spares::Freed {
            self.retire_spare();
        }
    }

    /// An empty log for the next commit.
    pub(super) fn log(&self) -> Log<K> {
        match self.spares {
            Spares::Kept => Log::Kept(Vec::new()),
            Spares::Freed => Log::Lost,
        }
    }

    /// Takes the state before the current one, if it was kept and no reader holds it.
    pub(super) fn take_spare(&mut self) -> Option<Unheld<K>> {
        match self.spare.take()?.unheld() {
            Ok(unheld) => Some(unheld),
            Err(held) => {
                self.retire(held);
                None
            }
        }
    }

    /// Treats the kept state like the other retired ones.
    fn retire_spare(&mut self) {
        if let Some(spare) = self.spare.take() {
            self.retire(spare.state);
        }
    }

    fn retire(&mut self, state: Arc<StoreState<K>>) {
        if let RetiredStates::Open { retired, .. } = &mut self.shelf {
            retired.push(state);
        }
    }

    /// Removes and returns the retired states that no reader holds.
    pub(super) fn reap(&mut self) -> Vec<Arc<StoreState<K>>> {
        match &mut self.shelf {
            RetiredStates::Open { retired, survivors } => {
                let free = take_unheld(retired);
                *survivors = retired.len();
                free
            }
            RetiredStates::Closed => Vec::new(),
        }
    }

    /// The number of retired states that are still held or not yet reaped.
    #[cfg(test)]
    pub(super) fn retired(&self) -> usize {
        match &self.shelf {
            RetiredStates::Open { retired, .. } => retired.len(),
            RetiredStates::Closed => 0,
        }
    }

    /// Stops collecting retired states, and returns those that are kept, held or not.
    pub(super) fn close(&mut self) -> Vec<Arc<StoreState<K>>> {
        self.set_spares(Spares::Freed);
        match std::mem::replace(&mut self.shelf, RetiredStates::Closed) {
            RetiredStates::Open { retired, .. } => retired,
            RetiredStates::Closed => Vec::new(),
        }
    }
}

/// Removes and returns the states that only this list holds. A retired state can only lose holders, because
/// readers no longer find it in the cell; so a count of one stays one.
fn take_unheld<K>(retired: &mut Vec<Arc<StoreState<K>>>) -> Vec<Arc<StoreState<K>>> {
    retired
        .extract_if(.., |state| Arc::strong_count(state) == 1)
        .collect()
}
