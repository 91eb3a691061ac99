//! The rules of the election: who may take the lease, and what one attempt does. No loops and no timers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tracing::{info, warn};

use super::clock::{Clock, LeaderClock};
use super::error::LeaseError;
use super::lease::Lease;
use super::lock::{LeaseLock, Write};
use super::options::{Options, SECOND};
use super::status::LeaderStatus;
use crate::mutant;
use crate::printable::Printable;

/// Conflicts that one renewal resolves at once. Further ones are left to the next attempt.
const CONFLICTS: usize = 3;

/// One candidate and its view of the lease.
pub(super) struct Elector {
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) leader_clock: Arc<LeaderClock>,
    lock: LeaseLock,
    status: watch::Sender<LeaderStatus>,
    /// The Lease as last read or written; the next update depends on its version.
    lease: Option<Lease>,
    observed: Option<Observed>,
}

/// The record that was observed last, and when it was observed first.
struct Observed {
    spec: Value,
    /// By the monotonic clock, after the answer arrived: the record is at least this old.
    at: Duration,
}

/// How an attempt to acquire the lease ended.
#[derive(Debug)]
pub(super) enum Attempt {
    /// This process holds the lease since a request that began at this time of the leader clock.
    Acquired { began: Duration },
    /// Another process holds it, or was faster.
    Held,
}

/// How a renewal ended.
#[derive(Debug)]
pub(super) enum Renewal {
    /// The lease is held since a request that began at this time of the leader clock.
    Renewed { began: Duration },
    /// Another process holds the lease.
    TakenOver { by: String },
}

impl Elector {
    pub(super) fn new(
        options: Options,
        clock: Arc<dyn Clock>,
        lock: LeaseLock,
        status: watch::Sender<LeaderStatus>,
    ) -> Self {
        Self {
            options,
            leader_clock: Arc::new(LeaderClock::new(clock.clone())),
            clock,
            lock,
            status,
            lease: None,
            observed: None,
        }
    }

    /// Reads the lease. Nothing is written, so this future may be dropped.
    pub(super) async fn read(&mut self) -> Result<(), LeaseError> {
        let lease = self.lock.get(self.options.retry_period).await;
        let lease = self.note(lease)?;
        if let Some(lease) = &lease {
            self.observe(lease);
        }
        self.lease = lease;
        Ok(())
    }

    /// Takes the lease that was read, if it may be taken.
    pub(super) async fn take(&mut self) -> Result<Attempt, LeaseError> {
        if !self.may_take() {
            return Ok(Attempt::Held);
        }
        let lease = self.lease.clone();
        match self.write(lease, self.options.retry_period).await? {
            Some(began) => Ok(Attempt::Acquired { began }),
            None => Ok(Attempt::Held),
        }
    }

    /// A lease may be taken if none exists, nobody or this process holds it, or its record did not change for
    /// its whole duration, counted from the moment this process first saw the record.
    ///
    /// The times in the lease are ignored: they come from the wall clock of another machine. The wall clock
    /// of this machine is ignored as well: if it jumps ahead, the holder's does not.
    fn may_take(&self) -> bool {
        let Some(lease) = &self.lease else { return true };
        if lease.holder().is_empty() || lease.holder() == self.options.identity {
            return true;
        }
        let Some(observed) = &self.observed else {
            return false;
        };
        // A record without a usable duration is trusted as long as one of our own.
        let duration = lease.duration().unwrap_or(self.options.lease_duration);
        self.clock.monotonic().saturating_sub(observed.at) >= duration
    }

    /// Renews the lease: updates the version that was written last, and reads it only after a conflict.
    pub(super) async fn renew(&mut self, left: Duration) -> Result<Renewal, LeaseError> {
        let limit = self.options.retry_period.min(left).max(SECOND);
        for _ in 0..CONFLICTS {
            let lease = self.lease.clone();
            if let Some(began) = self.write(lease, limit).await? {
                return Ok(Renewal::Renewed { began });
            }
            let read = self.lock.get(limit).await;
            let read = self.note(read)?;
            if let Some(lease) = &read {
                self.observe(lease);
                // An empty holder was cleared by a third party; as in client-go, the leader takes it back.
                if !lease.holder().is_empty() && lease.holder() != self.options.identity {
                    let by = lease.holder().to_owned();
                    return Ok(Renewal::TakenOver { by });
                }
            }
            self.lease = read;
        }
        // Others keep writing to the lease without taking it.
        self.lock.get(limit).await.map(|lease| self.lease = lease)?;
        Err(self.lock.contended())
    }

    /// Writes this process into the lease, or into a new one. Returns when the request began, or nothing
    /// after a conflict.
    async fn write(&mut self, lease: Option<Lease>, limit: Duration) -> Result<Option<Duration>, LeaseError> {
        let is_new = lease.is_none();
        let mut lease = lease.unwrap_or_else(|| self.lock.fresh());
        lease.hold(
            &self.options.identity,
            self.options.lease_seconds(),
            self.clock.wall(),
        );
        let mut began = self.leader_clock.now();
        let written = match is_new {
            true => self.lock.create(&lease, limit).await,
            false => self.lock.update(&lease, limit).await,
        };
        if mutant::is("C6") {
            // Trusts the lease from the answer on, although others count from the write.
            began = self.leader_clock.now();
        }
        match self.note(written)? {
            Write::Stored(lease) => {
                self.observe(&lease);
                self.lease = Some(*lease);
                Ok(Some(began))
            }
            Write::Conflict => Ok(None),
        }
    }

    /// Clears the holder, if this process still is the holder. Conflicts are retried.
    pub(super) async fn release(&mut self) -> Result<(), LeaseError> {
        let limit = self.options.retry_period;
        loop {
            // A renewal that was dropped may have been stored: read the version to release.
            let lease = self.lock.get(limit).await;
            let Some(mut lease) = self.note(lease)? else {
                return Ok(());
            };
            if lease.holder() != self.options.identity {
                return Ok(());
            }
            lease.release(self.clock.wall());
            let written = self.lock.update(&lease, limit).await;
            if let Write::Stored(lease) = self.note(written)? {
                self.observe(&lease);
                return Ok(());
            }
        }
    }

    fn observe(&mut self, lease: &Lease) {
        let is_new = |observed: &Observed| observed.spec != *lease.spec();
        if self.observed.as_ref().is_none_or(is_new) {
            self.observed = Some(Observed {
                spec: lease.spec().clone(),
                at: self.clock.monotonic(),
            });
        }
        let status = LeaderStatus::of(lease, &self.options.identity);
        self.status.send_if_modified(|current| {
            if current.leader != status.leader {
                let leader = status.leader.as_deref().unwrap_or_default();
                info!(lease = %self.lock, leader = %Printable::name(leader), "observed a new leader");
            }
            let differs = current.differs(&status);
            *current = status;
            differs
        });
    }

    /// Records whether a request succeeded. Logs a failure once until it changes or ends.
    fn note<T>(&self, result: Result<T, LeaseError>) -> Result<T, LeaseError> {
        let error = result.as_ref().err();
        self.status.send_if_modified(|status| {
            let text = |error: Option<&LeaseError>| error.map(ToString::to_string);
            if text(status.last_error.as_ref()) == text(error) {
                return false;
            }
            match error {
                Some(error) => warn!(lease = %self.lock, %error, "a request for the lease failed"),
                None => info!(lease = %self.lock, "requests for the lease succeeded again"),
            }
            status.last_error = error.cloned();
            true
        });
        result
    }
}
