//! Times within one queue, in eight bytes.

use std::time::Duration;

use tokio::time::Instant;

/// The longest delay, ten years: longer ones are shortened to it, so that no sum of times overflows.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A time, as nanoseconds since the queue was created. Half the size of an `Instant`: every key has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

impl Moment {
    /// The time from `earlier` to this one, zero if it is later.
    pub(super) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time after `delay`, of which at most [`LONGEST`] counts.
    pub(super) fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(delay.min(LONGEST))))
    }
}

/// Reads tokio's clock, which tests can pause.
#[derive(Debug)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment(nanoseconds(Instant::now().saturating_duration_since(self.origin)))
    }

    pub(super) fn instant(&self, moment: Moment) -> Instant {
        self.origin + Duration::from_nanos(moment.0)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
