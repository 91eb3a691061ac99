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

/// How long a thread stays after the last event, if the one before it came as soon. A pool with few threads
/// has other work for it.
const STAY: Duration = Duration::from_millis(20);

/// After this time a thread goes back to the pool even if events wait, so that handlers take turns if there
/// are more of them than threads.
const LONGEST: Duration = Duration::from_millis(100);

/// What a thread does when its handler has no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// It always leaves at once: on the current-thread runtime a paused clock stands still while a thread
    /// works.
    Never,
    /// It leaves at once: events come so rarely that it would stay in vain.
    Leave,
    /// It sleeps until the next event.
    Sleep,
    /// It looks for the next event before it sleeps: the last one came within moments.
    Look,
}

impl Rest {
    /// Events come at about the same pace for a while, so the last gap predicts the next one.
    fn after(gap: Duration) -> Self {
        match gap {
            _ if gap >= STAY => Self::Leave,
            _ if gap < LOOK * 2 && can_spin() => Self::Look,
            _ => Self::Sleep,
        }
    }
}

/// The shifts of one handler, one after the other.
pub(super) struct Shift {
    began: Instant,
    /// When the last event was handled.
    idle_since: Instant,
    rest: Rest,
}

impl Shift {
    pub(super) fn of_current_runtime() -> Self {
        let rest = match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::CurrentThread) | Err(_) => Rest::Never,
            Ok(_) if fast_paths::are_on() => Rest::Leave,
            Ok(_) => Rest::Never,
        };
        let now = Instant::now();
        Self {
            began: now,
            idle_since: now,
            rest,
        }
    }

    /// Begins a shift, because an event came.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
        self.event_came(self.began);
    }

    fn event_came(&mut self, now: Instant) {
        if self.rest != Rest::Never {
            self.rest = Rest::after(now.saturating_duration_since(self.idle_since));
        }
    }

    /// Waits for the next event after the listener had none. `false` if the shift is over.
    pub(super) fn wait<K: Object>(&mut self, listener: &Listener<K>) -> bool {
        let idle_since = Instant::now();
        self.idle_since = idle_since;
        if matches!(self.rest, Rest::Never | Rest::Leave) || self.is_over(idle_since) {
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
                return false;
            };
            thread::park_timeout(left);
        }
        self.event_came(Instant::now());
        listener.is_active()
    }

    /// Whether the shift is over, after a call that returned now.
    pub(super) fn ends(&mut self, now: Instant) -> bool {
        self.idle_since = now;
        self.is_over(now)
    }

    /// Whether the thread has been here for long enough.
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= LONGEST
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
