//! Who leads, as this process last observed it.

use std::time::SystemTime;

use tokio::sync::watch;

use super::error::LeaseError;
use super::lease::Lease;

/// Who leads, as this process last observed it.
/// [`LeaderElection::status`](super::LeaderElection::status) returns it.
///
/// For display and logs. It may be old: whether this process may act is known to
/// [`Leadership::is_valid`](super::Leadership::is_valid) only.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LeaderStatus {
    /// The identity in the lease. `None` if nobody holds it, or none was read yet.
    pub leader: Option<String>,
    /// Whether this process is that leader.
    pub is_self: bool,
    /// How often the lease changed hands.
    pub transitions: i32,
    /// When the leader acquired the lease, by the leader's wall clock.
    pub since: Option<SystemTime>,
    /// Why the last request failed; `None` if it succeeded.
    pub last_error: Option<LeaseError>,
}

impl LeaderStatus {
    pub(super) fn of(lease: &Lease, identity: &str) -> Self {
        let leader = Some(lease.holder().to_owned()).filter(|holder| !holder.is_empty());
        Self {
            is_self: lease.holder() == identity && leader.is_some(),
            since: leader.as_ref().and_then(|_| lease.acquired()),
            leader,
            transitions: lease.transitions(),
            last_error: None,
        }
    }

    /// Whether a reader of the status sees a difference.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.leader != other.leader
            || self.is_self != other.is_self
            || self.transitions != other.transitions
            || self.since != other.since
            || self.last_error.as_ref().map(ToString::to_string)
                != other.last_error.as_ref().map(ToString::to_string)
    }
}

/// Waits for changes of the [`LeaderStatus`].
/// [`LeaderElection::observe`](super::LeaderElection::observe) returns it.
#[derive(Clone, Debug)]
pub struct LeaderWatch(watch::Receiver<LeaderStatus>);

impl LeaderWatch {
    pub(super) fn new(receiver: watch::Receiver<LeaderStatus>) -> Self {
        Self(receiver)
    }

    /// Waits for the next change since the last call and returns the newest status. Changes in between are
    /// skipped. Returns `None` once the election and its leadership were dropped. Cancel safe.
    pub async fn changed(&mut self) -> Option<LeaderStatus> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}
