//! The clocks of an election: a candidate must never wait too short, a leader must never trust too long.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::sync::Mutex;

/// The time of one process. Elections use tokio's clock and the system's wall clock; tests can pass another
/// one to [`LeaderElection::clock`](super::LeaderElection::clock).
pub trait Clock: Send + Sync + 'static {
    /// The time since a fixed moment. Never goes backwards; may stop while the machine is suspended.
    fn monotonic(&self) -> Duration;

    /// The wall clock. May jump. Written to the lease, and used to notice that the machine was suspended.
    fn wall(&self) -> SystemTime;

    /// How long tokio's timers must sleep until this much time has passed by this clock.
    fn timer(&self, duration: Duration) -> Duration {
        duration
    }
}

/// tokio's clock, and the system's wall clock.
#[derive(Debug, Default)]
pub(super) struct SystemClock {
    start: OnceLock<Instant>,
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.get_or_init(Instant::now).elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The clock of a leader: counts the larger of the monotonic and the wall-clock time.
///
/// A suspended machine stops the monotonic clock, and only the wall clock shows that others had time to take
/// the lease. The larger one is chosen for each step between two readings, so a wall clock that is set back
/// never hides time that passed before or after.
///
/// Candidates do not use it: for them the larger time is the dangerous one.
pub(super) struct LeaderClock {
    clock: Arc<dyn Clock>,
    last: Mutex<Reading>,
}

struct Reading {
    monotonic: Duration,
    wall: SystemTime,
    elapsed: Duration,
}

impl LeaderClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Reading {
            monotonic: clock.monotonic(),
            wall: clock.wall(),
            elapsed: Duration::ZERO,
        };
        Self {
            clock,
            last: Mutex::new(last),
        }
    }

    /// The time since this clock was created.
    pub(super) fn now(&self) -> Duration {
        let mut last = self.last.lock();
        // Read under the lock, so that readings are in order.
        let (monotonic, wall) = (self.clock.monotonic(), self.clock.wall());
        let by_monotonic = monotonic.saturating_sub(last.monotonic);
        let by_wall = wall.duration_since(last.wall).unwrap_or_default();
        *last = Reading {
            monotonic,
            wall,
            elapsed: last.elapsed.saturating_add(by_monotonic.max(by_wall)),
        };
        last.elapsed
    }

    /// Sleeps for this much time of the clock, by tokio's timers.
    pub(super) async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(self.clock.timer(duration)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is set by hand.
    #[derive(Default)]
    struct Manual(Mutex<(u64, u64)>);

    impl Clock for Manual {
        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.lock().0)
        }

        fn wall(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.lock().1)
        }
    }

    /// Moves the clock to each pair of monotonic and wall time, and compares the elapsed time.
    fn check(steps: &[(u64, u64, u64)]) {
        let manual = Arc::new(Manual(Mutex::new((100, 1000))));
        let clock = LeaderClock::new(manual.clone());
        for &(monotonic, wall, elapsed) in steps {
            *manual.0.lock() = (monotonic, wall);
            assert_eq!(
                clock.now(),
                Duration::from_secs(elapsed),
                "at {monotonic} and {wall}"
            );
        }
    }

    #[test]
    fn the_larger_of_both_clocks_counts() {
        check(&[(103, 1003, 3), (105, 1004, 5), (106, 1008, 9)]);
    }

    #[test]
    fn a_suspended_machine_is_noticed_by_the_wall_clock() {
        check(&[(101, 1001, 1), (101, 1061, 61), (102, 1062, 62)]);
    }

    #[test]
    fn a_wall_clock_set_back_hides_no_time() {
        // Set back by an hour, then suspended for a minute.
        check(&[(101, 1001, 1), (102, 1, 2), (102, 61, 62)]);
    }
}
