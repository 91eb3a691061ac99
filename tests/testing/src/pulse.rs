//! Wakes open watches: a value that changes, and waiters that are woken in the order of their registration.
//!
//! tokio's watch channel wakes its receivers in a random order that cannot be seeded, so two runs of one test
//! could differ.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The value that open watches wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pulse {
    /// Incremented by every write.
    pub(crate) tick: u64,
    /// Incremented to close all open watches.
    pub(crate) generation: u64,
    /// The server was dropped.
    pub(crate) stopped: bool,
}

/// The sending end.
#[derive(Debug, Default)]
pub(crate) struct Heart(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The pulse and its number of changes.
    pulse: Mutex<(Pulse, u64)>,
    changed: Notify,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, (Pulse, u64)> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heart {
    pub(crate) fn beat(&self, change: impl FnOnce(&mut Pulse)) {
        {
            let mut pulse = self.0.lock();
            change(&mut pulse.0);
            pulse.1 += 1;
        }
        self.0.changed.notify_waiters();
    }

    pub(crate) fn pulse(&self) -> Pulse {
        self.0.lock().0
    }

    pub(crate) fn subscribe(&self) -> Listener {
        let seen = self.0.lock().1;
        Listener {
            heart: self.0.clone(),
            seen,
        }
    }
}

/// The receiving end. Dropping the server's handle sends a last change, so no receiver waits for ever.
#[derive(Debug)]
pub(crate) struct Listener {
    heart: Arc<Inner>,
    seen: u64,
}

impl Listener {
    /// Returns the current pulse and marks it as seen.
    pub(crate) fn pulse(&mut self) -> Pulse {
        let pulse = self.heart.lock();
        self.seen = pulse.1;
        pulse.0
    }

    /// Waits for a change since the pulse was last seen.
    pub(crate) async fn changed(&mut self) {
        loop {
            let notified = self.heart.changed.notified();
            let mut notified = std::pin::pin!(notified);
            // Registered before the check, so that a change in between is not missed.
            notified.as_mut().enable();
            let beats = self.heart.lock().1;
            if beats != self.seen {
                self.seen = beats;
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn listeners_wake_in_the_order_in_which_they_waited() {
        let heart = Heart::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..20 {
            let (mut listener, order) = (heart.subscribe(), order.clone());
            tasks.push(tokio::spawn(async move {
                listener.changed().await;
                order.lock().unwrap().push(number);
            }));
        }
        tokio::task::yield_now().await;
        heart.beat(|pulse| pulse.tick += 1);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_change_before_the_wait_is_noticed() {
        let heart = Heart::default();
        let mut listener = heart.subscribe();
        heart.beat(|pulse| pulse.stopped = true);
        listener.changed().await;
        assert!(listener.pulse().stopped);
    }
}
