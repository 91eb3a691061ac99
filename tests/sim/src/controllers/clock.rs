//! The clock of one process: its rate, jumps of the wall clock, and times when the process does not run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use informer_core::leader::Clock;
use tokio::time::Instant;

use super::plan::{Freeze, Uptime};

/// A clock that runs at a rate of tokio's. While the process is frozen it stands still, as for a process that
/// cannot read it; afterwards it has jumped. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ProcessClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    start: Instant,
    rate: f64,
    uptime: Uptime,
    /// How far the wall clock was set ahead or back, in seconds.
    ahead: f64,
    /// For how many seconds the machine was suspended.
    suspended: f64,
    frozen: Option<(Freeze, f64)>,
}

impl ProcessClock {
    pub(super) fn new(rate: f64, uptime: Uptime) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            start: Instant::now(),
            rate,
            uptime,
            ahead: 0.0,
            suspended: 0.0,
            frozen: None,
        })))
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the wall clock ahead or back, unless it would hide a suspension from all clocks.
    pub(super) fn set_wall(&self, seconds: f64) {
        let mut hands = self.hands();
        let is_suspended = matches!(hands.frozen, Some((Freeze::Machine, _)));
        if !is_suspended || hands.uptime == Uptime::Counted {
            hands.ahead += seconds;
        }
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.hands().frozen.is_some()
    }

    pub(super) fn freeze(&self, freeze: Freeze) {
        let mut hands = self.hands();
        if hands.frozen.is_none() {
            hands.frozen = Some((freeze, hands.elapsed()));
        }
    }

    pub(super) fn thaw(&self) {
        let mut hands = self.hands();
        if let Some((Freeze::Machine, since)) = hands.frozen.take() {
            hands.suspended += hands.elapsed() - since;
        }
    }
}

impl Hands {
    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * self.rate
    }

    /// The time that the process can see.
    fn seen(&self) -> f64 {
        self.frozen.map_or_else(|| self.elapsed(), |(_, since)| since)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs_f64((self.seen() - self.suspended).max(0.0))
    }
}

impl Clock for ProcessClock {
    fn monotonic(&self) -> Duration {
        self.hands().monotonic()
    }

    fn wall(&self) -> SystemTime {
        let hands = self.hands();
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(1e9 + hands.seen() + hands.ahead)
    }

    fn uptime(&self) -> Duration {
        let hands = self.hands();
        match hands.uptime {
            Uptime::Counted => Duration::from_secs_f64(hands.seen()),
            Uptime::Missing => hands.monotonic(),
        }
    }

    fn timer(&self, duration: Duration) -> Duration {
        duration.div_f64(self.hands().rate)
    }
}
