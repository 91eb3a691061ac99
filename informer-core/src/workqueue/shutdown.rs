//! The end of a queue: shut down, drain or abort.

use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::{QueueKey, WorkQueue};

/// What a [drain](WorkQueue::drain) did not process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left<T> {
    /// The delayed keys with the rest of their delays, the earliest first. They were not added.
    pub delayed: Vec<(T, Duration)>,
    /// The number of items that still exist. Not zero only if [`abort`](WorkQueue::abort) ended the wait.
    pub running: usize,
}

/// The tasks that wait for the end of a drain.
#[derive(Default)]
pub(super) struct Drains(Vec<Waker>);

impl Drains {
    fn wait(&mut self, waker: &Waker) {
        if !self.0.iter().any(|held| held.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    /// Removes all of them if the drain has ended, to be woken after the lock is released.
    pub(super) fn take_if(&mut self, drained: bool) -> Vec<Waker> {
        match drained {
            true => std::mem::take(&mut self.0),
            false => Vec::new(),
        }
    }
}

impl<T: QueueKey> WorkQueue<T> {
    /// Ignores all further additions. [`get`](Self::get) returns what is queued, then `None`. Delayed keys
    /// are not processed: [`drain`](Self::drain) or [`abort`](Self::abort) returns them.
    pub fn shut_down(&self) {
        self.update(|state, clock| state.shut_down(clock.now()));
        self.wake_all();
    }

    /// [Shuts down](Self::shut_down), then waits until all queued keys are taken and all items are dropped.
    /// Returns the delayed keys, which are not processed, each to one caller.
    ///
    /// Workers must continue to call [`get`](Self::get), or it waits without end; to limit the time, call
    /// [`abort`](Self::abort) from elsewhere, which ends the wait. Cancel-safe: if it is dropped, the queue
    /// stays shut down and the delayed keys stay in it.
    ///
    /// client-go's `ShutDownWithDrain` waits only for keys that are being processed, and loses delayed keys.
    pub async fn drain(&self) -> Left<T> {
        self.shut_down();
        poll_fn(|cx| {
            let now = self.shared.clock.now();
            let mut guard = self.shared.inner.lock();
            let inner = &mut *guard;
            if inner.state.is_drained() {
                return Poll::Ready(inner.state.take_left(now));
            }
            inner.drains.wait(cx.waker());
            Poll::Pending
        })
        .await
    }

    /// Shuts down and takes back every key that is queued, delayed, or was added again while being processed,
    /// each once. From now on [`get`](Self::get) returns `None`. Existing items are not affected.
    ///
    /// The order is that of the lines, normal priority first; then keys added again, in the order in which
    /// their items were taken; then delayed ones, the earliest first.
    pub fn abort(&self) -> Vec<T> {
        let keys = self.update(|state, clock| state.abort(clock.now()));
        self.wake_all();
        keys
    }

    /// Wakes every waiting task.
    fn wake_all(&self) {
        let wakers = self.shared.inner.lock().waiters.take_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "shutdown_tests.rs"]
mod tests;
