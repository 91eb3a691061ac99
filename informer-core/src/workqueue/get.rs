//! `Get`: the future that takes a key, and the tasks that wait for one.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker, ready};

use tokio::time::{Sleep, sleep_until};

use super::moment::Moment;
use super::state::State;
use super::{Item, QueueKey, WorkQueue};

/// The tasks that wait for a key. One of them, the timekeeper, also waits for the earliest delayed key.
///
/// A woken waiter is removed from the list. Until it is polled or dropped it owes the queue a call of
/// [`leave`](Self::leave) or [`wait`](Self::wait), which passes on what it does not use.
#[derive(Default)]
pub(super) struct Waiters {
    /// By number, so the one that has waited longest is the first.
    wakers: BTreeMap<u64, Waker>,
    timekeeper: Option<Timekeeper>,
    next: u64,
}

struct Timekeeper {
    waiter: u64,
    until: Moment,
}

impl Waiters {
    /// Removes one waiter that has something to do, to be woken after the lock is released.
    pub(super) fn rouse<T: QueueKey>(&mut self, state: &State<T>) -> Option<Waker> {
        if self.wakers.is_empty() {
            return None;
        }
        if state.len() > 0 || state.is_finished() {
            return self.pop_first();
        }
        let due = state.next_due()?;
        match &self.timekeeper {
            None => self.pop_first(),
            Some(keeper) if due < keeper.until => self.wakers.remove(&keeper.waiter),
            Some(_) => None,
        }
    }

    fn pop_first(&mut self) -> Option<Waker> {
        self.wakers.pop_first().map(|(_, waker)| waker)
    }

    /// Removes all waiters, to be woken after the lock is released.
    pub(super) fn take_all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers).into_values().collect()
    }

    /// Registers a waiter. Returns the time until which it has to sleep if it is the timekeeper.
    fn wait(&mut self, waiter: &mut Option<u64>, waker: &Waker, due: Option<Moment>) -> Option<Moment> {
        let waiter = *waiter.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.wakers.insert(waiter, waker.clone());
        match (&self.timekeeper, due) {
            (Some(keeper), _) if keeper.waiter != waiter => None,
            (_, None) => {
                self.timekeeper = None;
                None
            }
            (_, Some(until)) => {
                self.timekeeper = Some(Timekeeper { waiter, until });
                Some(until)
            }
        }
    }

    /// Removes a waiter that stops waiting, and returns the one that takes over its duties.
    fn leave<T: QueueKey>(&mut self, waiter: Option<u64>, state: &State<T>) -> Option<Waker> {
        if let Some(waiter) = waiter {
            self.wakers.remove(&waiter);
            self.timekeeper.take_if(|keeper| keeper.waiter == waiter);
        }
        self.rouse(state)
    }
}

/// The future of [`WorkQueue::get`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Get<'a, T: QueueKey> {
    queue: &'a WorkQueue<T>,
    /// The number in the list of waiters, from the first time it has to wait.
    waiter: Option<u64>,
    /// Exists while this is the timekeeper.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'a, T: QueueKey> Get<'a, T> {
    pub(super) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self {
            queue,
            waiter: None,
            sleep: None,
        }
    }

    /// Sleeps until `until`.
    fn poll_sleep(&mut self, until: Moment, cx: &mut Context<'_>) -> Poll<()> {
        let until = self.queue.shared.clock.instant(until);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        sleep.as_mut().poll(cx)
    }
}

impl<T: QueueKey> Future for Get<'_, T> {
    type Output = Option<Item<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A worker that never waits for anything else still lets other tasks run.
        let budget = ready!(tokio::task::coop::poll_proceed(cx));
        let this = &mut *self;
        loop {
            let mut guard = this.queue.shared.lock_to_take();
            let inner = &mut *guard;
            let taken = inner.state.take(&this.queue.shared.clock);
            if taken.is_some() || inner.state.is_finished() {
                let next = inner.waiters.leave(this.waiter.take(), &inner.state);
                this.queue
                    .shared
                    .ready
                    .store(inner.state.len(), Ordering::Relaxed);
                drop(guard);
                next.into_iter().for_each(Waker::wake);
                this.sleep = None;
                budget.made_progress();
                return Poll::Ready(taken.map(|taken| Item::new(this.queue.clone(), taken)));
            }
            let until = inner
                .waiters
                .wait(&mut this.waiter, cx.waker(), inner.state.next_due());
            drop(guard);
            let Some(until) = until else {
                this.sleep = None;
                return Poll::Pending;
            };
            ready!(this.poll_sleep(until, cx));
        }
    }
}

impl<T: QueueKey> Drop for Get<'_, T> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter else { return };
        let mut guard = self.queue.shared.lock_to_take();
        let inner = &mut *guard;
        let next = inner.waiters.leave(Some(waiter), &inner.state);
        drop(guard);
        next.into_iter().for_each(Waker::wake);
    }
}

impl<T: QueueKey> fmt::Debug for Get<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "get_tests.rs"]
mod tests;
