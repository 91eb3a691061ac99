//! Pops batches from the queue, commits each to the store in one step, and then delivers the events.

mod changes;
mod events;
mod pace;
mod replacement;
mod scopes;

use std::sync::Arc;

use tokio::sync::Notify;

use crate::delta::{Batch, DeltaReceiver, ScopeChange};
use crate::mutant;
use crate::object::Object;
use crate::processor::Processor;
use crate::scope::Scope;
use crate::status::StatusBoard;
use crate::store::{IndexerWriter, Retired};
use crate::sync::offload::{self, Job};
use crate::sync::{Latch, Offload, Stopwatch};

use pace::{Idle, Pace};

/// A batch that touches more objects than this is committed off the async worker. Retired snapshots that
/// differ from the present one by more changes are dropped there.
const LARGE: usize = 1_000;

/// The only writer of the store.
pub(crate) struct Committer<K: Object> {
    receiver: DeltaReceiver<K>,
    core: Core<K>,
}

/// What the committer reports to.
pub(crate) struct Wiring<K> {
    pub(crate) processor: Arc<Processor<K>>,
    pub(crate) board: Arc<StatusBoard>,
    /// Set when the first state of every scope is in the store.
    pub(crate) synced: Latch,
    /// Notified after each commit: a waiter looks again.
    pub(crate) commits: Arc<Notify>,
    pub(crate) offload: Offload,
}

/// What a commit needs. Moved to another thread and back if a commit is large or runs user code.
struct Core<K: Object> {
    writer: IndexerWriter<K>,
    wiring: Wiring<K>,
}

impl<K: Object> Committer<K> {
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
            core: Core { writer, wiring },
        }
    }

    /// Runs until the queue is closed and empty. Cancel safe: batches are committed as a whole or not at all.
    pub(crate) async fn run(mut self) {
        let mut reaping = Reaping::default();
        let mut pace = Pace::of_current_runtime();
        loop {
            let batch = match pace.next(&mut self.receiver, &self.core.writer).await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(Idle) => {
                    reaping
                        .reap(self.core.writer.reap(), self.core.wiring.offload)
                        .await;
                    continue;
                }
            };
            self.core
                .wiring
                .board
                .set_transform_failures(self.receiver.transform_failures());
            let begun = Stopwatch::start();
            let retired;
            (self.core, retired) = match self.core.runs(&batch) {
                Offload::Inline => self.core.process(batch),
                Offload::BlockingPool => {
                    let core = self.core;
                    offload::run(move || core.process(batch)).await
                }
            };
            self.core.wiring.board.processed(begun);
            pace.committed();
            reaping.reap(retired, self.core.wiring.offload).await;
        }
        reaping.finish().await;
        // If no reader holds a handle, this frees the whole store, which takes time.
        if self.core.wiring.offload == Offload::BlockingPool {
            let core = self.core;
            offload::run(move || drop(core)).await;
        }
    }
}

/// Drops retired snapshots, large ones off the async worker. Even after a small batch one can be large: a
/// reader may have held it for so long that it shares little with the present snapshot.
#[derive(Default)]
struct Reaping(Option<Job<()>>);

impl Reaping {
    async fn reap<K: Object>(&mut self, retired: Retired<K>, offload: Offload) {
        if retired.changes() <= LARGE || offload == Offload::Inline {
            drop(retired);
            return;
        }
        // One at a time, so that snapshots do not accumulate. The next batch does not wait for it.
        self.finish().await;
        self.0 = Some(offload::start(move || drop(retired)));
    }

    async fn finish(&mut self) {
        if let Some(mut job) = self.0.take() {
            job.done().await;
        }
    }
}

impl<K: Object> Core<K> {
    /// Where a batch is committed. A small one that runs no user code takes less time than a switch of
    /// threads.
    fn runs(&self, batch: &Batch<K>) -> Offload {
        let stored = self.writer.indexer().peek().len();
        let touched = match batch {
            Batch::ReplaceAll { state, .. } => state.items.len().max(stored),
            Batch::Changes { deltas, .. } => deltas.len(),
            Batch::SyncAll(_)
            | Batch::Scope {
                change: ScopeChange::Removed,
                ..
            } => stored,
            Batch::Confirmed { .. } | Batch::Scope { .. } => 0,
        };
        if touched > LARGE || self.writer.runs_user_code() {
            self.wiring.offload
        } else {
            Offload::Inline
        }
    }

    /// Commits a batch, and returns the snapshots it retired.
    fn process(mut self, batch: Batch<K>) -> (Self, Retired<K>) {
        if mutant::is("I9") {
            self.wiring.synced.set();
        }
        let span = tracing::debug_span!(
            "commit",
            resource = self.wiring.board.resource(),
            keys = keys_of(&batch),
            rv = tracing::field::Empty,
        );
        let _entered = span.enter();
        match batch {
            Batch::Changes { deltas, versions } => self.commit_changes(deltas, &versions),
            Batch::ReplaceAll { state, initial } => self.commit_replacement(state, initial),
            Batch::SyncAll(ticket) => self.resync(&ticket),
            Batch::Confirmed { initial } => self.commit_confirmation(initial),
            Batch::Scope {
                scope,
                change,
                revision,
                initial,
            } => {
                self.commit_scope(&scope, change, initial);
                // After the commit: a wait that finds the change settled finds it in the store.
                self.wiring.board.settle(&scope, revision);
            }
        }
        if !span.is_disabled()
            && let Some(version) = self.writer.indexer().resource_version()
        {
            span.record("rv", tracing::field::display(version));
        }
        self.wiring.board.set_committed();
        self.wiring.commits.notify_waiters();
        // After that, so that waiters do not wait for it.
        let retired = self.writer.reap();
        (self, retired)
    }
}

/// How many keys a batch names.
fn keys_of<K>(batch: &Batch<K>) -> usize {
    match batch {
        Batch::Changes { deltas, .. } => deltas.len(),
        Batch::ReplaceAll { state, .. } => state.items.len(),
        Batch::SyncAll(_) | Batch::Confirmed { .. } | Batch::Scope { .. } => 0,
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "committer_tests.rs"]
mod tests;
