//! One shift of a handler on a thread of the blocking pool: the thread calls it while events wait, and stays
//! for a short while after the last one.
//!
//! Starting a shift wakes a thread, and ending it wakes the handler's task. Under a steady stream of events
//! both cost more than most handlers do, so a thread that stays is given the next event instead.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use super::listener::Listener;
use crate::fast_paths;
use crate::object::Object;
use crate::sync::can_spin;

/// How long a thread looks for the next event before it sleeps, if the last one came as soon.
const LOOK: Duration = Duration::from_micros(100);

/// How long a thread stays after the last event. A pool with few threads has other work for it.
const STAY: Duration = Duration::from_millis(5);

/// After this time a thread goes back to the pool even if events wait, so that handlers take turns if there
/// are more of them than threads.
const LONGEST: Duration = Duration::from_millis(100);

/// Whether threads stay with a handler after its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// They leave at once: on the current-thread runtime a paused clock stands still while a thread works.
    Leave,
    /// They sleep until the next event.
    Sleep,
    /// They look for the next event before they sleep: the last one came within moments.
    Look,
}

impl Rest {
    pub(super) fn of_current_runtime() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::CurrentThread) | Err(_) => Self::Leave,
            Ok(_) if fast_paths::are_on() => Self::Sleep,
            Ok(_) => Self::Leave,
        }
    }
}

/// One shift.
pub(super) struct Shift {
    began: Instant,
    rest: Rest,
}

impl Shift {
    pub(super) fn begin(rest: Rest) -> Self {
        Self {
            began: Instant::now(),
            rest,
        }
    }

    /// Waits for the next event after the listener had none. `false` if the shift is over.
    pub(super) fn wait<K: Object>(&mut self, listener: &Listener<K>) -> bool {
        let idle_since = Instant::now();
        if self.rest == Rest::Leave || self.is_over(idle_since) {
            return false;
        }
        if self.rest == Rest::Look {
            while idle_since.elapsed() < LOOK {
                (0..32).for_each(|_| std::hint::spin_loop());
                if listener.has_event() {
                    return true;
                }
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        while listener.poll_ready(&Context::from_waker(&waker)).is_pending() {
            let Some(left) = STAY.checked_sub(idle_since.elapsed()) else {
                self.rest = Rest::Sleep;
                return false;
            };
            thread::park_timeout(left);
        }
        self.rest = match can_spin() && idle_since.elapsed() < LOOK * 2 {
            true => Rest::Look,
            false => Rest::Sleep,
        };
        listener.is_active()
    }

    /// Whether the thread has been here for long enough.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= LONGEST
    }

    /// What the next shift begins with.
    pub(super) fn rest(&self) -> Rest {
        self.rest
    }
}

/// Wakes a thread that sleeps.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "shift_tests.rs"]
mod tests;
