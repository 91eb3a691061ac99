//! The write side of the store: there is one, and it alone changes objects and versions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::commit::Commit;
use super::indexer::Indexer;
use super::state::{Shared, State};

/// The only writer of a store. It cannot be cloned; readers come from [`indexer`](Self::indexer).
///
/// Changes are made in a [`Commit`] and become visible all at once when it is published.
///
/// # Retired snapshots
/// Dropping the last holder of an old snapshot frees what newer ones no longer share: milliseconds after many
/// changes. So that no reader pays for being the last, the store keeps every replaced snapshot until no reader
/// holds it, and only the writer's side drops it: whoever drops what [`reap`](Self::reap) hands out, or, once 16
/// that nobody holds have piled up, the next commit. The memory this takes is bounded by what readers hold
/// themselves plus those 16 commits. When the writer is dropped, the last reader of a snapshot frees it.
pub struct IndexerWriter<K> {
    shared: Arc<Shared<K>>,
}

impl<K: Send + Sync + 'static> IndexerWriter<K> {
    /// The writer of a new, empty store.
    #[expect(
        clippy::new_without_default,
        reason = "a writer is made on purpose: it is the only one of its store"
    )]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared::new()),
        }
    }

    /// A reader of this store.
    pub fn indexer(&self) -> Indexer<K> {
        Indexer {
            shared: self.shared.clone(),
        }
    }

    /// Starts a commit on top of what is published. Dropped without [`publish`](Commit::publish), it changes
    /// nothing.
    pub fn begin(&mut self) -> Commit<'_, K> {
        Commit::new(&self.shared)
    }

    /// An informer fills the store from now on: until [`filled`](Self::filled), readers are told that they are early.
    pub(crate) fn attend(&self, resource: &str) {
        self.shared.freshness.attend(resource);
    }

    /// The first list is complete.
    pub(crate) fn filled(&self) {
        self.shared.freshness.filled();
    }

    /// Takes out the retired snapshots that no reader holds any more. Dropping the result frees them, which may
    /// take milliseconds: do it where that hurts nobody, such as a blocking thread.
    pub fn reap(&mut self) -> Retired<K> {
        let states = self.shared.publishing().reap();
        let current = self.shared.peek().changes;
        let changes = states.iter().map(|state| current.saturating_sub(state.changes));
        Retired {
            changes: usize::try_from(changes.sum::<u64>()).unwrap_or(usize::MAX),
            states,
        }
    }

    /// Whether a commit may run index functions of the user's, which may block.
    pub(crate) fn runs_user_code(&self) -> bool {
        self.shared.user_code.load(Ordering::Acquire)
    }

    /// The number of retired snapshots that readers still hold or nobody has reaped.
    pub fn retired(&self) -> usize {
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

/// Snapshots that nobody can reach any more. Dropping it frees them.
#[must_use = "dropping it here frees the snapshots here"]
pub struct Retired<K> {
    states: Vec<Arc<State<K>>>,
    changes: usize,
}

impl<K> Retired<K> {
    /// The number of snapshots.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// How many changes of objects lie between these snapshots and the present one, in total: the most that
    /// dropping them can free. One that a reader held for long may have many, however small the last commit
    /// was.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Whether there is nothing to free.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }
}

impl<K> fmt::Debug for Retired<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&self.len()).finish()
    }
}
