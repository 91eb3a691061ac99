//! Readiness and liveness of a manager, for the probes of a Pod.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// What a manager is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not been started.
    Created,
    /// The caches are not in sync yet.
    Syncing,
    /// The caches are in sync, and another process is the leader.
    Standby,
    /// The controllers run.
    Running,
    /// It was stopped, and running reconciles finish.
    Stopping,
    /// It has ended.
    Stopped,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "not started",
            Self::Syncing => "the caches are not in sync",
            Self::Standby => "waiting for the leadership",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        })
    }
}

/// The health of a manager, for an HTTP server that answers probes. A cheap handle.
///
/// ```no_run
/// # fn example(health: informers::controller::Health) {
/// let ready = health.ready(); // 200 if `Ok`, 503 with the error's text if not
/// let live = health.live();
/// # }
/// ```
#[derive(Clone)]
pub struct Health {
    phase: watch::Receiver<Phase>,
    stuck: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Why a probe fails.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotHealthy {
    /// The manager is not in a phase in which it is ready or alive.
    #[error("the manager is not ready: {0}")]
    Phase(Phase),
    /// A reconcile does not end, although its time limit has passed: it blocks its thread.
    #[error("a reconcile is stuck: {0}")]
    Stuck(String),
}

informer_core::__debug_is_the_message!(NotHealthy);

impl Health {
    pub(super) fn new(
        phase: watch::Receiver<Phase>,
        stuck: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            phase,
            stuck: Arc::new(stuck),
        }
    }

    /// What the manager is doing.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Whether the caches are in sync, so that this process works or can take over at once. A replica that
    /// waits for the leadership is ready.
    ///
    /// # Errors
    /// [`NotHealthy`] says why not.
    pub fn ready(&self) -> Result<(), NotHealthy> {
        match self.phase() {
            Phase::Standby | Phase::Running => Ok(()),
            phase => Err(NotHealthy::Phase(phase)),
        }
    }

    /// Whether the process makes progress. An API server that cannot be reached does not fail this, because
    /// a restart would not help.
    ///
    /// # Errors
    /// [`NotHealthy`] says why a restart would help.
    pub fn live(&self) -> Result<(), NotHealthy> {
        if self.phase() == Phase::Stopped {
            return Err(NotHealthy::Phase(Phase::Stopped));
        }
        match (self.stuck)() {
            Some(key) => Err(NotHealthy::Stuck(key)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Health").field(&self.phase()).finish()
    }
}
