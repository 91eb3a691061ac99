//! Where timestamps in objects come from.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The server's clock, which stamps `creationTimestamp` and the like.
///
/// Timeouts and bookmark intervals always follow tokio's clock, so they obey `tokio::time::pause`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Clock {
    /// The machine's clock. The default.
    #[default]
    Wall,
    /// One instant for ever.
    Fixed(Timestamp),
    /// Starts at this instant when the server starts and then follows tokio's clock, so that a paused test is
    /// reproducible to the byte.
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

    /// Time since the server started, by tokio's clock.
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

    /// The time as it stands in `metadata`: UTC, whole seconds.
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
