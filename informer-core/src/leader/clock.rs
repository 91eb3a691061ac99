//! The clocks of an election: a candidate must never wait too short, a leader must never trust too long.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::sync::Mutex;

/// The time of one process. Elections use tokio's clock, the system's wall clock, and on Linux the time since
/// the boot; tests can pass another one to [`LeaderElection::clock`](super::LeaderElection::clock).
pub trait Clock: Send + Sync + 'static {
    /// The time since a fixed moment. Never goes backwards; may stop while the machine is suspended.
    fn monotonic(&self) -> Duration;

    /// The wall clock. May jump. Written to the lease, and used to notice that the machine was suspended.
    fn wall(&self) -> SystemTime;

    /// The time since a fixed moment, including the time in which the machine was suspended. Never goes
    /// backwards. Default: [`monotonic`](Self::monotonic), for platforms without such a clock.
    fn uptime(&self) -> Duration {
        self.monotonic()
    }

    /// How long tokio's timers must sleep until this much time has passed by this clock.
    fn timer(&self, duration: Duration) -> Duration {
        duration
    }
}

/// tokio's clock, the system's wall clock, and on Linux `CLOCK_BOOTTIME`.
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

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn uptime(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // The kernel never returns a negative time.
        time.try_into().unwrap_or_default()
    }
}

/// The clock of a leader: counts the largest of the monotonic time, the wall-clock time and the uptime.
///
/// A suspended machine stops the monotonic clock. The uptime counts that time, on platforms that have it; a
/// virtual machine that its host has paused, and other platforms, show it by the wall clock only. The largest
/// one is chosen for each step between two readings, so a wall clock that is set back never hides time that
/// passed before or after.
///
/// Candidates do not use it: for them the largest time is the dangerous one.
pub(super) struct LeaderClock {
    clock: Arc<dyn Clock>,
    last: Mutex<Reading>,
}

struct Reading {
    monotonic: Duration,
    wall: SystemTime,
    uptime: Duration,
    elapsed: Duration,
}

impl LeaderClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Reading {
            monotonic: clock.monotonic(),
            wall: clock.wall(),
            uptime: clock.uptime(),
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
        let (monotonic, wall, uptime) = (self.clock.monotonic(), self.clock.wall(), self.clock.uptime());
        let by_monotonic = monotonic.saturating_sub(last.monotonic);
        let by_wall = wall.duration_since(last.wall).unwrap_or_default();
        let by_uptime = uptime.saturating_sub(last.uptime);
        let step = by_monotonic.max(by_wall).max(by_uptime);
        *last = Reading {
            monotonic,
            wall,
            uptime,
            elapsed: last.elapsed.saturating_add(step),
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

    /// A clock that is set by hand: monotonic time, wall clock and uptime in seconds.
    struct Manual(Mutex<(u64, u64, u64)>);

    impl Clock for Manual {
        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.lock().0)
        }

        fn wall(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.lock().1)
        }

        fn uptime(&self) -> Duration {
            Duration::from_secs(self.0.lock().2)
        }
    }

    /// Moves the clock to each reading of monotonic time, wall clock and uptime, and compares the elapsed
    /// time.
    fn check(steps: &[((u64, u64, u64), u64)]) {
        let manual = Arc::new(Manual(Mutex::new((100, 1000, 500))));
        let clock = LeaderClock::new(manual.clone());
        for &(reading, elapsed) in steps {
            *manual.0.lock() = reading;
            assert_eq!(clock.now(), Duration::from_secs(elapsed), "at {reading:?}");
        }
    }

    #[test]
    fn the_largest_of_all_clocks_counts() {
        check(&[
            ((103, 1003, 503), 3),
            ((105, 1004, 504), 5),
            ((106, 1008, 505), 9),
            ((107, 1009, 510), 14),
        ]);
    }

    #[test]
    fn a_suspended_machine_is_noticed_by_the_wall_clock() {
        check(&[
            ((101, 1001, 501), 1),
            ((101, 1061, 501), 61),
            ((102, 1062, 502), 62),
        ]);
    }

    #[test]
    fn a_wall_clock_set_back_hides_no_time() {
        // Set back by an hour, then suspended for a minute.
        check(&[((101, 1001, 501), 1), ((102, 1, 502), 2), ((102, 61, 502), 62)]);
    }

    #[test]
    fn a_wall_clock_set_back_during_a_suspension_hides_no_uptime() {
        check(&[((101, 1001, 501), 1), ((101, 941, 561), 61)]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_uptime_of_the_system_counts_from_the_boot() {
        let clock = SystemClock::default();
        assert_eq!(clock.monotonic().as_secs(), 0);
        let uptime = clock.uptime();
        assert!(uptime > Duration::ZERO);
        assert!(clock.uptime() >= uptime);
    }
}
