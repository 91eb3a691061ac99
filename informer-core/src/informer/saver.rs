//! Saves the cache for a warm start: at intervals, and when the informer has stopped.

use std::sync::Arc;

use super::warm_files::WarmFiles;
use crate::object::Object;
use crate::status::StatusBoard;
use crate::store::Indexer;
use crate::sync::Latch;
use crate::warm::Continuation;

/// Saves the cache of one informer, one file per scope.
pub(super) struct Saver<K: Object> {
    pub(super) files: Arc<WarmFiles<K>>,
    pub(super) indexer: Indexer<K>,
    pub(super) board: Arc<StatusBoard>,
    pub(super) synced: Latch,
}

impl<K: Object> Clone for Saver<K> {
    fn clone(&self) -> Self {
        Self {
            files: self.files.clone(),
            indexer: self.indexer.clone(),
            board: self.board.clone(),
            synced: self.synced.clone(),
        }
    }
}

impl<K: Object> Saver<K> {
    /// Saves at intervals, from the initial sync on.
    pub(super) async fn run(self) {
        loop {
            tokio::time::sleep(self.files.interval()).await;
            self.save().await;
        }
    }

    /// Saves the present state. Before the initial sync, the files of the last run stay as they are: what
    /// the cache has is not confirmed, or not complete.
    pub(super) async fn save(&self) {
        if !self.synced.is_set() {
            return;
        }
        for file in self.files.files() {
            let snapshot = self.indexer.peek();
            // After the snapshot: if the files are open still, it has no object of changed selectors.
            if self.files.is_closed() {
                return;
            }
            // A watch from the version would not show the state of an object that could not be used.
            let continuation = match snapshot.stale().is_empty() && self.board.is_exact() {
                true => Continuation::Watch,
                false => Continuation::FullRead,
            };
            file.save(snapshot, continuation).await;
        }
    }
}
