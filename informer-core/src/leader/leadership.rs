//! The handle of a leader: whether its lease can be trusted, and work that ends with it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::clock::LeaderClock;
use super::error::LeaseError;
use crate::printable::Printable;
use crate::sync::{Latch, Mutex};

/// Proof that this process leads, until it is lost.
///
/// A task renews the lease in the background. Clones share one leadership; when the last one is dropped, the
/// process resigns as by [`resign`](Self::resign), without waiting.
///
/// A lost leadership never becomes valid again. Campaign again, or exit, as most controllers do.
///
/// # The window that remains
///
/// A request that was sent while the leadership was valid can still reach the server after it was lost.
/// [`guard`](Self::guard) starts no new work, but nobody can recall bytes on the wire. Writes that must not
/// come from an old leader need a precondition, such as the `resourceVersion` of the object they change.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<Term>,
    _resign_on_drop: Arc<DropGuard>,
}

impl Leadership {
    pub(super) fn new(term: Arc<Term>) -> Self {
        let guard = term.resigning.clone().drop_guard();
        Self {
            term,
            _resign_on_drop: Arc::new(guard),
        }
    }

    /// Whether, by the clock of this process, no other process can have taken the lease.
    ///
    /// True until `renew_deadline` has passed since the start of the last successful renewal. The largest of
    /// the monotonic time, the wall-clock time and, on Linux, the time since the boot (`CLOCK_BOOTTIME`)
    /// counts. Cheap: a lock and a reading of each clock.
    ///
    /// No clock of this process shows one case: on other systems, or in a virtual machine that its host
    /// paused, the wall clock was set back by as much as the machine was suspended, before the process
    /// continued.
    ///
    /// The lease of a leader can also be deleted or edited by a third party. That is noticed by the next
    /// renewal, at most `retry_period` later.
    pub fn is_valid(&self) -> bool {
        self.term.is_valid()
    }

    /// Waits until the leadership is lost, and returns why.
    pub fn lost(&self) -> impl Future<Output = LeadershipLost> + Send + use<> {
        let term = self.term.clone();
        async move {
            term.lost.cancelled().await;
            term.reason()
        }
    }

    /// Returns a token that is cancelled when the leadership is lost. Cancelling it does not affect the
    /// leadership.
    pub fn token(&self) -> CancellationToken {
        self.term.lost.child_token()
    }

    /// Runs a future while the leadership is valid. When it is lost, the future is dropped.
    ///
    /// [`is_valid`](Self::is_valid) is checked before every poll, so a process that was stopped or suspended
    /// does not continue work of an expired lease when it resumes.
    ///
    /// The returned future keeps the leadership alive.
    pub fn guard<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, LeadershipLost>> + use<F> {
        let leadership = self.clone();
        async move {
            let term = &leadership.term;
            let mut future = pin!(future);
            // Wakes this future when the leadership is lost while the inner one sleeps.
            let mut lost = pin!(term.lost.cancelled());
            poll_fn(|context| {
                if lost.as_mut().poll(context).is_ready() || !term.is_valid() {
                    return Poll::Ready(Err(term.reason()));
                }
                future.as_mut().poll(context).map(Ok)
            })
            .await
        }
    }

    /// Ends the leadership: stops renewing, then clears the holder in the lease, so that another candidate
    /// can take it within its `retry_period`.
    ///
    /// End all work that depends on the leadership first: the next leader may begin as soon as the lease is
    /// released. Returns when the release is done or failed (a failure is logged, and the lease expires by
    /// itself): after at most `renew_deadline`. Releases nothing if the leadership was lost before, or with
    /// [`keep_lease_on_exit`](super::LeaderElection::keep_lease_on_exit).
    pub async fn resign(&self) {
        self.term.resigning.cancel();
        self.term.done.wait().await;
    }

    /// Returns the identity of this leader.
    pub fn identity(&self) -> &str {
        &self.term.identity
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("lease", &self.term.lease)
            .field("identity", &self.term.identity)
            .finish_non_exhaustive()
    }
}

/// Why a process does not lead any more.
#[derive(Clone, thiserror::Error)]
#[error("lost leadership of lease \"{lease}\": {reason}")]
#[non_exhaustive]
pub struct LeadershipLost {
    /// The lease: `namespace/name`.
    pub lease: String,
    /// What ended the leadership.
    pub reason: LostReason,
}

crate::__debug_is_the_message!(LeadershipLost);

/// What ended a leadership.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LostReason {
    /// It was not renewed in time.
    Expired {
        /// The deadline.
        renew_deadline: Duration,
        /// Why the last renewal failed. `None` if the process was stopped or too busy to renew.
        last_error: Option<LeaseError>,
    },
    /// Another process holds the lease.
    TakenOver {
        /// The identity of that process.
        by: String,
    },
    /// This process resigned.
    Resigned,
}

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired {
                renew_deadline,
                last_error: Some(error),
            } => write!(f, "not renewed within {renew_deadline:?}: {error}"),
            Self::Expired {
                renew_deadline,
                last_error: None,
            } => write!(
                f,
                "not renewed within {renew_deadline:?}; the process was stopped or busy, or its clock was set"
            ),
            Self::TakenOver { by } => write!(f, "taken over by \"{}\"", Printable::name(by)),
            Self::Resigned => f.write_str("this process resigned"),
        }
    }
}

/// One leadership, shared by its handles and the task that renews it.
pub(super) struct Term {
    pub(super) lease: String,
    pub(super) identity: String,
    renew_deadline: Duration,
    clock: Arc<LeaderClock>,
    phase: Mutex<Phase>,
    /// Cancelled when the leadership is lost.
    lost: CancellationToken,
    /// Cancelled to request the end.
    pub(super) resigning: CancellationToken,
    /// Set when the task has ended, after the release.
    pub(super) done: Latch,
}

enum Phase {
    Valid {
        /// The start of the last successful renewal, by the leader clock.
        renewed: Duration,
        last_error: Option<LeaseError>,
    },
    Ended(LostReason),
}

impl Term {
    pub(super) fn new(
        lease: String,
        identity: String,
        renew_deadline: Duration,
        clock: Arc<LeaderClock>,
        began: Duration,
    ) -> Self {
        Self {
            lease,
            identity,
            renew_deadline,
            clock,
            phase: Mutex::new(Phase::Valid {
                renewed: began,
                last_error: None,
            }),
            lost: CancellationToken::new(),
            resigning: CancellationToken::new(),
            done: Latch::new(),
        }
    }

    fn is_valid(&self) -> bool {
        !self.left().is_zero()
    }

    /// How long the leadership stays valid without another renewal. Zero once it is lost.
    pub(super) fn left(&self) -> Duration {
        let mut phase = self.phase.lock();
        let Phase::Valid { renewed, last_error } = &mut *phase else {
            return Duration::ZERO;
        };
        let age = self.clock.now().saturating_sub(*renewed);
        let left = self.renew_deadline.saturating_sub(age);
        if left.is_zero() {
            let reason = LostReason::Expired {
                renew_deadline: self.renew_deadline,
                last_error: last_error.take(),
            };
            *phase = Phase::Ended(reason);
            drop(phase);
            self.lost.cancel();
        }
        left
    }

    /// Records a successful renewal. One that comes too late does not revive the leadership.
    pub(super) fn renewed(&self, began: Duration) {
        if self.left().is_zero() {
            return;
        }
        if let Phase::Valid { renewed, last_error } = &mut *self.phase.lock() {
            *renewed = began;
            *last_error = None;
        }
    }

    pub(super) fn failed(&self, error: LeaseError) {
        if let Phase::Valid { last_error, .. } = &mut *self.phase.lock() {
            *last_error = Some(error);
        }
    }

    /// Ends the leadership, unless it ended or expired before.
    pub(super) fn end(&self, reason: LostReason) {
        if self.left().is_zero() {
            return;
        }
        let mut phase = self.phase.lock();
        if matches!(*phase, Phase::Valid { .. }) {
            *phase = Phase::Ended(reason);
        }
        drop(phase);
        self.lost.cancel();
    }

    pub(super) fn reason(&self) -> LeadershipLost {
        let reason = match &*self.phase.lock() {
            Phase::Ended(reason) => reason.clone(),
            // Only called once it has ended.
            Phase::Valid { .. } => LostReason::Resigned,
        };
        LeadershipLost {
            lease: self.lease.clone(),
            reason,
        }
    }
}
