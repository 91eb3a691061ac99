//! The source of timestamps in objects.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The server's clock, used for `creationTimestamp` and other timestamps in objects.
///
/// Timeouts and bookmark intervals always follow tokio's clock, so `tokio::time::pause` affects them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Clock {
    /// The system clock. The default.
    #[default]
    Wall,
    /// Always the same instant.
    Fixed(Timestamp),
    /// Starts at this instant when the server starts and follows tokio's clock, so that a test with a paused
    /// clock is reproducible byte for byte.
    ///
    /// Leases need no more than this: the server never compares the times in a Lease, and candidates measure
    /// its expiry by their own clock, which is tokio's. So an election runs in virtual time: the next leader
    /// takes over after 15 seconds of tokio's clock, and `creationTimestamp`s agree with it.
    /// [`ApiServer::now`](crate::ApiServer::now) returns this time, for wall clocks of the code under test.
    Tokio(Timestamp),
}

/// A running clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningClock {
    clock: Clock,
    started: Instant,
}

impl RunningClock {
    pub(crate) fn start(clock: Clock) -> Self {
        Self {
            clock,
            started: Instant::now(),
        }
    }

    /// The time since the server started, by tokio's clock.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn now(&self) -> Timestamp {
        match self.clock {
            Clock::Wall => Timestamp::now(),
            Clock::Fixed(at) => at,
            Clock::Tokio(epoch) => epoch.checked_add(self.elapsed()).unwrap_or(epoch),
        }
    }

    /// Returns the time in the format of `metadata`: UTC, whole seconds.
    pub(crate) fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_tokio_clock_moves_with_paused_time() {
        let clock = RunningClock::start(Clock::Tokio(Timestamp::UNIX_EPOCH));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(clock.stamp(), "1970-01-01T00:01:01Z");
    }
}
