//! How fast batches come: if they come fast, the state before the current one is kept for the next commit.

use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, Sleep, sleep};

use crate::delta::{Batch, DeltaReceiver};
use crate::fast_paths;
use crate::object::Object;
use crate::store::{IndexerWriter, Spares};
use crate::sync::{Streak, simulation};

/// Batches come fast if each follows the commit before it so soon.
const SOON: Duration = Duration::from_millis(1);

/// After this time without a batch, or at most twice that, the state that was kept is freed, with the objects
/// it holds.
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
        streak: Streak,
    },
    /// The writer keeps a spare state.
    Fast(Patience),
}

/// Ends when no batch came for [`IDLE`], or at most twice that. A timer that was set anew for each batch
/// would each time wake the worker that waits for timers.
pub(super) struct Patience {
    timer: Pin<Box<Sleep>>,
    /// Whether a batch came since the timer was set.
    is_used: bool,
}

impl Patience {
    fn new() -> Self {
        Self {
            timer: Box::pin(sleep(IDLE)),
            is_used: false,
        }
    }

    async fn ends(&mut self) {
        loop {
            self.timer.as_mut().await;
            if !std::mem::take(&mut self.is_used) {
                return;
            }
            self.timer.as_mut().reset(Instant::now() + IDLE);
        }
    }
}

impl Pace {
    pub(super) fn of_current_runtime() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            _ if !fast_paths::are_on() => Self::Ignored,
            _ if simulation::is_running() => Self::slow(),
            Ok(RuntimeFlavor::MultiThread) => Self::slow(),
            _ => Self::Ignored,
        }
    }

    fn slow() -> Self {
        Self::Slow {
            committed: None,
            streak: Streak::default(),
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
            Self::Fast(patience) => tokio::select! {
                biased;
                batch = receiver.pop() => {
                    patience.is_used = true;
                    Ok(batch)
                }
                () = patience.ends() => {
                    writer.set_spares(Spares::Freed);
                    *self = Self::slow();
                    Err(Idle)
                }
            },
            Self::Slow { committed, streak } => {
                let batch = receiver.pop().await;
                streak.record(committed.is_some_and(|at| at.elapsed() < SOON));
                if streak.is_long() {
                    writer.set_spares(Spares::Kept);
                    *self = Self::Fast(Patience::new());
                }
                Ok(batch)
            }
        }
    }

    /// Records that a batch was committed.
    pub(super) fn committed(&mut self) {
        if let Self::Slow { committed, .. } = self {
            *committed = Some(Instant::now());
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn patience_ends_after_a_period_without_a_batch() {
        let begun = Instant::now();
        let mut patience = Patience::new();
        patience.ends().await;
        assert_eq!(begun.elapsed(), IDLE);

        let begun = Instant::now();
        let mut patience = Patience::new();
        patience.is_used = true;
        patience.ends().await;
        assert_eq!(begun.elapsed(), 2 * IDLE);
    }
}
