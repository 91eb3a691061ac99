//! The clock of one process: its rate, jumps of the wall clock, and times when the process does not run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use informer_core::leader::Clock;
use tokio::time::Instant;

use super::plan::Freeze;

/// A clock that runs at a rate of tokio's. While the process is frozen it stands still, as for a process that
/// cannot read it; afterwards it has jumped. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ProcessClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    start: Instant,
    rate: f64,
    /// How far the wall clock was set ahead or back, in seconds.
    ahead: f64,
    /// For how many seconds the machine was suspended.
    suspended: f64,
    frozen: Option<(Freeze, f64)>,
}

impl ProcessClock {
    pub(super) fn new(rate: f64) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            start: Instant::now(),
            rate,
            ahead: 0.0,
            suspended: 0.0,
            frozen: None,
        })))
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_wall(&self, seconds: f64) {
        self.hands().ahead += seconds;
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
}

impl Clock for ProcessClock {
    fn monotonic(&self) -> Duration {
        let hands = self.hands();
        Duration::from_secs_f64((hands.seen() - hands.suspended).max(0.0))
    }

    fn wall(&self) -> SystemTime {
        let hands = self.hands();
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(1e9 + hands.seen() + hands.ahead)
    }

    fn timer(&self, duration: Duration) -> Duration {
        duration.div_f64(self.hands().rate)
    }
}
