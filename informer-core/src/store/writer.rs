//! The write side of the store. There is one writer, and only it changes objects and versions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::commit::Commit;
use super::indexer::Indexer;
use super::state::{Spares, StoreShared, StoreState};
use super::total::ByteShare;

/// The only writer of a store. It cannot be cloned; [`indexer`](Self::indexer) returns readers.
///
/// Changes are made in a [`Commit`] and become visible all at once when it is published.
///
/// # Retired snapshots
/// Dropping the last reference to an old snapshot frees what newer ones no longer share, which takes
/// milliseconds after many changes. So that no reader pays for that, the store keeps every replaced
/// snapshot until no reader holds it. It is freed when the result of [`reap`](Self::reap) is dropped, or,
/// once 16 unheld snapshots have accumulated, by the next commit. The memory this takes is bounded by the
/// snapshots that readers hold plus those 16 commits. After the writer is dropped, the last reader of a
/// snapshot frees it.
pub(crate) struct IndexerWriter<K> {
    shared: Arc<StoreShared<K>>,
}

impl<K: Send + Sync + 'static> IndexerWriter<K> {
    /// Creates an empty store and returns its writer.
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::new(StoreShared::new()),
        }
    }

    /// Returns a reader of this store.
    pub(crate) fn indexer(&self) -> Indexer<K> {
        Indexer {
            shared: self.shared.clone(),
        }
    }

    /// Counts the size of this store in the total of several.
    pub(crate) fn count_in(&self, share: Arc<ByteShare>) {
        self.shared.count_in(share);
    }

    /// Starts a commit based on the published state. Dropping it without [`publish`](Commit::publish)
    /// changes nothing.
    pub(crate) fn begin(&mut self) -> Commit<'_, K> {
        Commit::new(&self.shared)
    }

    /// Records that an informer fills the store from now on. Reads before [`filled`](Self::filled) log a
    /// warning.
    pub(crate) fn attend(&self, resource: &str) {
        self.shared.freshness.attend(resource);
    }

    /// Records that the store holds the state of a file.
    pub(crate) fn seeded(&self) {
        self.shared.freshness.seeded();
    }

    /// Records that the first list is complete.
    pub(crate) fn filled(&self) {
        self.shared.freshness.filled();
    }

    /// Sets whether the last replaced state is kept, so that the next commit can change it in place: see
    /// `spare`. The objects that the last commit replaced stay in memory with it.
    pub(crate) fn set_spares(&self, spares: Spares) {
        self.shared.publishing().set_spares(spares);
    }

    /// Removes the retired snapshots that no reader holds. Dropping the result frees them, which may take
    /// milliseconds: do it on a blocking thread.
    pub(crate) fn reap(&mut self) -> Retired<K> {
        let states = self.shared.publishing().reap();
        let current = self.shared.peek().changes;
        let changes = states.iter().map(|state| current.saturating_sub(state.changes));
        Retired {
            changes: usize::try_from(changes.sum::<u64>()).unwrap_or(usize::MAX),
            states,
        }
    }

    /// Whether a commit may run index functions of users, which may block.
    pub(crate) fn runs_user_code(&self) -> bool {
        self.shared.user_code.load(Ordering::Acquire)
    }

    /// The number of retired snapshots that are still held or not yet reaped.
    #[cfg(test)]
    pub(crate) fn retired(&self) -> usize {
        self.shared.publishing().retired()
    }
}

impl<K> Drop for IndexerWriter<K> {
    fn drop(&mut self) {
        self.shared.freshness.finish();
        let retired = self.shared.publishing().close();
        drop(retired);
    }
}

impl<K: Send + Sync + 'static> fmt::Debug for IndexerWriter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexerWriter")
            .field("indexer", &self.indexer())
            .finish()
    }
}

/// Snapshots that no reader can reach. Dropping it frees them.
#[must_use = "dropping it here frees the snapshots here"]
pub(crate) struct Retired<K> {
    states: Vec<Arc<StoreState<K>>>,
    changes: usize,
}

impl<K> Retired<K> {
    /// The number of snapshots.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// The number of object changes between these snapshots and the current one, in total. It bounds what
    /// dropping them frees. A snapshot that was held for long may have many, however small the last commit
    /// was.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }
}

impl<K> fmt::Debug for Retired<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&self.len()).finish()
    }
}
