//! Whether the tasks of an informer run, for liveness checks.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::SharedInformer;
use super::lifecycle::RunState;
use crate::object::Object;

/// What a liveness check sees of an informer at one moment.
pub(crate) struct Vitals {
    /// Distinguishes the informers that exist.
    pub(crate) identity: usize,
    /// The number of committed batches.
    pub(crate) commits: u64,
    /// Whether something waits to be committed.
    pub(crate) has_pending: bool,
    pub(crate) life: Life,
}

/// Whether an informer should make progress.
pub(crate) enum Life {
    NotStarted,
    Running(Handle),
    /// Stopped on request.
    Stopped,
    /// Ended although nobody stopped it.
    Ended,
}

impl<K: Object> SharedInformer<K> {
    pub(super) fn vitals(&self) -> Vitals {
        let shared = &self.shared;
        let life = match &*shared.run_state.lock() {
            _ if shared.board.is_broken() => Life::Ended,
            _ if shared.token.is_cancelled() => Life::Stopped,
            RunState::Created(_) => Life::NotStarted,
            RunState::Running { runtime, .. } => Life::Running(runtime.clone()),
            RunState::Stopped => Life::Stopped,
        };
        let commits = shared.board.batches();
        Vitals {
            identity: Arc::as_ptr(shared).addr(),
            commits,
            has_pending: shared.queue.depth() > 0 || shared.queue.taken() > commits,
            life,
        }
    }
}
