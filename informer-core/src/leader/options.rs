//! The options of an election, and the checks on them.

use std::time::Duration;

/// Retries are up to this much of the period later, as in client-go.
pub(super) const JITTER: f64 = 1.2;
/// The shortest period and the shortest time limit of a request.
pub(super) const SECOND: Duration = Duration::from_secs(1);
/// Longer leases do not fit into `leaseDurationSeconds`.
const LONGEST: Duration = Duration::from_secs(i32::MAX as u64);

/// Everything about an election except its lease and its client.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) identity: String,
    pub(super) lease_duration: Duration,
    pub(super) renew_deadline: Duration,
    pub(super) retry_period: Duration,
    pub(super) clock_drift: f64,
    pub(super) on_exit: OnExit,
    pub(super) seed: Option<u64>,
}

/// What happens to the lease when a leader resigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnExit {
    Release,
    Keep,
}

impl Options {
    pub(super) fn new(identity: String) -> Self {
        Self {
            identity,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            clock_drift: 1.1,
            on_exit: OnExit::Release,
            seed: None,
        }
    }

    /// The duration in the lease: whole seconds, rounded up, since a longer lease is the safe side.
    pub(super) fn lease_seconds(&self) -> i32 {
        let rounded = self.lease_duration.as_secs_f64().ceil();
        // Saturates; `check` refuses what does not fit.
        rounded as i32
    }

    pub(super) fn check(&self, namespace: &str, name: &str) -> Result<(), LeaderElectionError> {
        let empty = [
            ("namespace", namespace),
            ("name", name),
            ("identity", self.identity.as_str()),
        ];
        if let Some((what, _)) = empty.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(LeaderElectionError::Empty { what });
        }
        let periods = [
            ("lease_duration", self.lease_duration),
            ("renew_deadline", self.renew_deadline),
            ("retry_period", self.retry_period),
        ];
        if let Some(&(what, value)) = periods.iter().find(|(_, value)| *value < SECOND) {
            return Err(LeaderElectionError::TooShort { what, value });
        }
        if self.lease_duration > LONGEST {
            return Err(LeaderElectionError::TooLong {
                value: self.lease_duration,
            });
        }
        if !(1.0..=10.0).contains(&self.clock_drift) {
            return Err(LeaderElectionError::Drift {
                ratio: self.clock_drift,
            });
        }
        if self.lease_duration.as_secs_f64() <= self.renew_deadline.as_secs_f64() * self.clock_drift {
            return Err(LeaderElectionError::LeaseTooShort {
                lease_duration: self.lease_duration,
                renew_deadline: self.renew_deadline,
                clock_drift: self.clock_drift,
            });
        }
        if self.renew_deadline.as_secs_f64() <= self.retry_period.as_secs_f64() * JITTER {
            return Err(LeaderElectionError::DeadlineTooShort {
                renew_deadline: self.renew_deadline,
                retry_period: self.retry_period,
            });
        }
        Ok(())
    }
}

/// Why the options of an election are refused.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderElectionError {
    /// A required text is empty.
    #[error("the {what} of a leader election is empty")]
    Empty {
        /// `namespace`, `name` or `identity`.
        what: &'static str,
    },
    /// A period is shorter than a second.
    #[error("`{what}` of a leader election is {value:?}; use at least 1 s")]
    TooShort {
        /// The option.
        what: &'static str,
        /// Its value.
        value: Duration,
    },
    /// The lease is longer than a Lease can express.
    #[error("`lease_duration` of a leader election is {value:?}; use at most 2147483647 s")]
    TooLong {
        /// The duration.
        value: Duration,
    },
    /// The ratio of the clocks is not usable.
    #[error("`clock_drift` of a leader election is {ratio}; use a ratio from 1 to 10")]
    Drift {
        /// The ratio.
        ratio: f64,
    },
    /// Another process could take the lease while this one still trusts it.
    #[error(
        "`lease_duration` ({lease_duration:?}) of a leader election must exceed `renew_deadline` \
         ({renew_deadline:?}) times `clock_drift` ({clock_drift})"
    )]
    LeaseTooShort {
        /// The duration of the lease.
        lease_duration: Duration,
        /// The deadline.
        renew_deadline: Duration,
        /// The ratio of the clocks.
        clock_drift: f64,
    },
    /// The deadline leaves no time for a second attempt.
    #[error(
        "`renew_deadline` ({renew_deadline:?}) of a leader election must exceed `retry_period` \
         ({retry_period:?}) times 1.2"
    )]
    DeadlineTooShort {
        /// The deadline.
        renew_deadline: Duration,
        /// The period.
        retry_period: Duration,
    },
}

crate::__debug_is_the_message!(LeaderElectionError);

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
