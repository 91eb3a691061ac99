//! Takes batches out of the queue, commits each to the store in one step, and only then tells the handlers.

mod commit;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::delta::{Batch, DeltaReceiver};
use crate::mutant;
use crate::object::Object;
use crate::processor::Processor;
use crate::scope::Scope;
use crate::status::Board;
use crate::store::IndexerWriter;
use crate::sync::{Latch, Offload};

/// A replacement of more objects than this is committed on the blocking pool.
const LARGE: usize = 1_000;

/// The only writer of the store.
pub(crate) struct Controller<K: Object> {
    receiver: DeltaReceiver<K>,
    core: Core<K>,
}

/// What the controller is connected to.
pub(crate) struct Wiring<K> {
    pub(crate) processor: Arc<Processor<K>>,
    pub(crate) board: Arc<Board>,
    /// Set once the first state of every scope is in the store.
    pub(crate) synced: Latch,
    /// Counts commits, so that a waiter knows when to look again.
    pub(crate) commits: watch::Sender<u64>,
    pub(crate) offload: Offload,
}

/// What a commit needs; moved to a blocking thread and back for a large one.
struct Core<K: Object> {
    writer: IndexerWriter<K>,
    wiring: Wiring<K>,
    /// Scopes whose first state is not in the store yet.
    unsynced: BTreeSet<Scope>,
}

impl<K: Object> Controller<K> {
    pub(crate) fn new(
        receiver: DeltaReceiver<K>,
        mut writer: IndexerWriter<K>,
        scopes: &[Scope],
        wiring: Wiring<K>,
    ) -> Self {
        writer.attend(wiring.board.resource());
        let mut commit = writer.begin();
        for scope in scopes {
            commit.announce_scope(scope);
        }
        commit.publish();
        Self {
            receiver,
            core: Core {
                writer,
                wiring,
                unsynced: scopes.iter().cloned().collect(),
            },
        }
    }

    /// Runs until the queue is closed and empty. Dropped in between, it has committed whole batches only.
    pub(crate) async fn run(mut self) {
        let mut reaping = None;
        while let Some(batch) = self.receiver.pop().await {
            self.core
                .wiring
                .board
                .set_transform_failures(self.receiver.transform_failures());
            let stored = self.core.writer.indexer().peek().len();
            let large = match &batch {
                Batch::ReplaceAll(state) => state.items.len().max(stored) > LARGE,
                Batch::Changes { .. } => false,
                Batch::SyncAll(_) => stored > LARGE,
            };
            let offload = large && self.core.wiring.offload == Offload::BlockingPool;
            if offload {
                let mut core = self.core;
                let done = tokio::task::spawn_blocking(move || {
                    core.process(batch);
                    core
                });
                match done.await {
                    Ok(back) => self.core = back,
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    // The runtime is shutting down: nothing of ours runs any more.
                    Err(_) => return,
                }
            } else {
                self.core.process(batch);
            }
            // What a large commit retired is as large; dropping it here would hold up the next batch.
            let retired = self.core.writer.reap();
            if offload {
                join(reaping.take()).await;
                reaping = Some(tokio::task::spawn_blocking(move || drop(retired)));
            }
        }
        join(reaping).await;
    }
}

/// Waits until retired snapshots are gone; that they could not be dropped would be no reason to stop.
async fn join(reaping: Option<JoinHandle<()>>) {
    if let Some(reaping) = reaping {
        let _ = reaping.await;
    }
}

impl<K: Object> Core<K> {
    fn process(&mut self, batch: Batch<K>) {
        if mutant::is("I9") {
            self.wiring.synced.set();
        }
        match batch {
            Batch::Changes { deltas, versions } => self.commit_changes(deltas, &versions),
            Batch::ReplaceAll(state) => self.commit_replacement(state),
            Batch::SyncAll(ticket) => self.tell_again(&ticket),
        }
        self.wiring
            .commits
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}
