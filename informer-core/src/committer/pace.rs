//! How fast batches come: if they come fast, the state before the current one is kept for the next commit.

use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, timeout};

use crate::delta::{Batch, DeltaReceiver};
use crate::fast_paths;
use crate::object::Object;
use crate::store::{IndexerWriter, Spares};
use crate::sync::simulation;

/// Batches come fast if one follows the last commit so soon.
const SOON: Duration = Duration::from_millis(1);

/// After this time without a batch the state that was kept is freed, with the objects it holds.
const IDLE: Duration = Duration::from_millis(10);

/// No batch came for a while.
pub(super) struct Idle;

/// The pace of one committer.
pub(super) enum Pace {
    /// It does not matter: on the current-thread runtime, whose clock may be paused, or if fast paths are
    /// off.
    Ignored,
    Slow {
        /// When the last batch was committed.
        committed: Option<Instant>,
    },
    /// The writer keeps a spare state.
    Fast,
}

impl Pace {
    pub(super) fn of_current_runtime() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            _ if !fast_paths::are_on() => Self::Ignored,
            _ if simulation::is_running() => Self::Slow { committed: None },
            Ok(RuntimeFlavor::MultiThread) => Self::Slow { committed: None },
            _ => Self::Ignored,
        }
    }

    /// Waits for the next batch. `Err` if a state that was kept can be reaped before it comes. Cancel safe.
    pub(super) async fn next<K: Object>(
        &mut self,
        receiver: &mut DeltaReceiver<K>,
        writer: &IndexerWriter<K>,
    ) -> Result<Option<Batch<K>>, Idle> {
        match self {
            Self::Ignored => Ok(receiver.pop().await),
            Self::Fast => match timeout(IDLE, receiver.pop()).await {
                Ok(batch) => Ok(batch),
                Err(_) => {
                    writer.set_spares(Spares::Freed);
                    *self = Self::Slow { committed: None };
                    Err(Idle)
                }
            },
            Self::Slow { committed } => {
                let batch = receiver.pop().await;
                if committed.is_some_and(|at| at.elapsed() < SOON) {
                    writer.set_spares(Spares::Kept);
                    *self = Self::Fast;
                }
                Ok(batch)
            }
        }
    }

    /// Records that a batch was committed.
    pub(super) fn committed(&mut self) {
        if let Self::Slow { committed } = self {
            *committed = Some(Instant::now());
        }
    }
}
