//! A work queue for controllers: each key once, never with two workers, later or rate limited on request.
//!
//! See [`WorkQueue`], and [`limiter`] for the delays between retries.

mod builder;
mod delayed;
mod get;
mod item;
pub mod limiter;
mod lines;
mod moment;
mod shutdown;
mod slots;
mod state;
mod status;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

pub use builder::{Priorities, Priority, WorkQueueBuilder};
pub use get::Get;
pub use item::Item;
pub use limiter::{RateLimiter, default_controller_limiter};
pub use shutdown::Left;
#[cfg(feature = "metrics")]
pub use status::QueueMetrics;
pub use status::QueueStatus;

use crate::sync::{Distance, Mutex, MutexGuard};
use get::Waiters;
use moment::Clock;
use shutdown::Drains;
use slots::SlotId;
use state::{Effect, Given, State};

/// A type that can be a key of a [`WorkQueue`]: every type with these traits. Keys are cloned once per
/// addition, so a clone should be cheap, as that of an [`ObjectKey`](crate::ObjectKey) is.
pub trait QueueKey: Clone + Eq + Hash + Send + 'static {}

impl<T: Clone + Eq + Hash + Send + 'static> QueueKey for T {}

/// A queue of keys to be processed. Clones share one queue.
///
/// - A key that is added several times before it is taken is taken once.
/// - While an [`Item`] of a key exists, the key is not handed out again. If it is added meanwhile, it is
///   queued when the item is dropped: no addition is lost.
/// - Keys of one priority are taken in the order in which they became ready. Low-priority keys are taken
///   after normal ones, but wait for a bounded number of them: see [`Priorities`].
/// - The queue is not bounded: it holds one entry for each distinct key, and one for each delayed key. One of
///   1,000,000 ready keys takes 78 bytes, besides the strings of an [`ObjectKey`](crate::ObjectKey).
///
/// ```
/// use std::time::Duration;
///
/// use informer_core::ObjectKey;
/// use informer_core::workqueue::WorkQueue;
///
/// # async fn reconcile(_key: &ObjectKey) -> Result<(), ()> { Ok(()) }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let queue = WorkQueue::new();
/// queue.add(ObjectKey::namespaced("web", "front"));
/// queue.add(ObjectKey::namespaced("web", "front")); // merged with the first
/// queue.add_after(ObjectKey::namespaced("web", "back"), Duration::from_millis(20));
///
/// let worker = tokio::spawn({
///     let queue = queue.clone();
///     async move {
///         let mut reconciled = Vec::new();
///         while let Some(key) = queue.get().await {
///             match reconcile(&key).await {
///                 Ok(()) => queue.forget(&key),
///                 Err(()) => _ = queue.add_rate_limited(key.key().clone()),
///             }
///             reconciled.push(key.to_string()); // the end of the loop drops the item: done
///         }
///         reconciled
///     }
/// });
/// tokio::time::sleep(Duration::from_millis(100)).await;
///
/// let left = queue.drain().await;
/// assert!(left.delayed.is_empty());
/// assert_eq!(worker.await.unwrap(), ["web/front", "web/back"]);
/// # }
/// ```
///
/// # For users of client-go
///
/// | client-go | here |
/// |---|---|
/// | `NewTypedRateLimitingQueue` | [`with_limiter`](Self::with_limiter), [`new`](Self::new) |
/// | `Add`, `AddAfter`, `AddRateLimited` | [`add`](Self::add), [`add_after`](Self::add_after), [`add_rate_limited`](Self::add_rate_limited) |
/// | `Get`, `Done` | [`get`](Self::get), and dropping the [`Item`] |
/// | `Forget`, `NumRequeues` | [`forget`](Self::forget), [`retries`](Self::retries) |
/// | `Len`, `ShuttingDown` | [`len`](Self::len), [`is_shut_down`](Self::is_shut_down) |
/// | `ShutDown` | [`shut_down`](Self::shut_down); it does not wait |
/// | `ShutDownWithDrain` | [`drain`](Self::drain), which also waits for queued keys and reports delayed ones |
/// | `ShutDown` during a drain | [`abort`](Self::abort), which returns what is left |
/// | metrics | [`status`](Self::status); the feature `metrics` of the crate `informers` |
/// | `workqueue.Queue`, `Touch` | [`Priority`] |
pub struct WorkQueue<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    inner: Mutex<Inner<T>>,
    /// The number of ready keys after the last change. A hint, read without the lock.
    ready: AtomicUsize,
    clock: Clock,
    /// Outside of the lock, because it can be user code.
    limiter: Box<dyn RateLimiter<T>>,
}

struct Inner<T> {
    state: State<T>,
    waiters: Waiters,
    drains: Drains,
}

impl<T: QueueKey> WorkQueue<T> {
    /// Creates a queue with [`default_controller_limiter`].
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Creates a queue with a rate limiter.
    pub fn with_limiter(limiter: impl RateLimiter<T>) -> Self {
        Self::builder().limiter(limiter).build()
    }

    /// Creates a queue with options.
    pub fn builder() -> WorkQueueBuilder<T> {
        WorkQueueBuilder::new()
    }

    fn from_parts(limiter: Box<dyn RateLimiter<T>>, priorities: Priorities) -> Self {
        let inner = Inner {
            state: State::new(priorities),
            waiters: Waiters::default(),
            drains: Drains::default(),
        };
        Self {
            shared: Arc::new(Shared {
                inner: Mutex::new(inner),
                ready: AtomicUsize::new(0),
                clock: Clock::new(),
                limiter,
            }),
        }
    }

    /// Adds a key with normal priority. Ignored after a shut-down.
    pub fn add(&self, key: T) {
        self.add_with(key, Priority::Normal);
    }

    /// Adds a key with a priority. Ignored after a shut-down.
    ///
    /// A higher priority moves a queued key to the end of the line of that priority; a lower one changes
    /// nothing.
    pub fn add_with(&self, key: T, priority: Priority) {
        self.add_given(Given::Owned(key), priority);
    }

    /// Like [`add`](Self::add), but clones the key only if it is neither queued nor being processed. For
    /// callers that keep the key: most additions of a busy queue find theirs in it.
    pub fn add_ref(&self, key: &T) {
        self.add_given(Given::Borrowed(key), Priority::Normal);
    }

    fn add_given(&self, key: Given<'_, T>, priority: Priority) {
        let mut inner = self.shared.lock_to_add();
        // Most additions of a busy queue change nothing.
        if inner.state.add(key, priority, &self.shared.clock) == Effect::Changed {
            self.settle(inner);
        }
    }

    /// Adds a key after a delay, with normal priority. Ignored after a shut-down.
    ///
    /// Of several delays of one key, the one that ends first counts. It does not matter whether the key is
    /// queued or processed meanwhile. Delays above ten years are shortened to that.
    pub fn add_after(&self, key: T, delay: Duration) {
        self.add_after_with(key, delay, Priority::Normal);
    }

    /// Adds a key after a delay, with a priority. See [`add_after`](Self::add_after).
    pub fn add_after_with(&self, key: T, delay: Duration, priority: Priority) {
        self.update(|state, clock| state.add_after(key, delay, priority, clock));
    }

    /// Counts a failure of the key and adds it, with normal priority, after the delay that the rate limiter
    /// chooses. Returns that delay. After a shut-down the failure is counted, but the key is not added.
    pub fn add_rate_limited(&self, key: T) -> Duration {
        let delay = self.shared.limiter.when(&key);
        self.add_after(key, delay);
        delay
    }

    /// Resets the failures of a key in the rate limiter: it succeeded, or is not retried any more. A delayed
    /// addition stays.
    pub fn forget(&self, key: &T) {
        self.shared.limiter.forget(key);
    }

    /// Returns how often the key failed since it was last forgotten.
    pub fn retries(&self, key: &T) -> u32 {
        self.shared.limiter.retries(key)
    }

    /// Removes the delayed addition of a key. Returns whether one existed.
    pub fn cancel_delayed(&self, key: &T) -> bool {
        self.update(|state, clock| state.cancel_delayed(key, clock.now()))
    }

    /// Waits for a key and takes it. Returns `None` when the queue is shut down and no key can follow.
    ///
    /// After a shut-down it returns the keys that are queued, and waits for those that were added again while
    /// being processed. Any number of tasks can wait; the one that has waited longest is woken first.
    ///
    /// Cancel-safe: a future that is dropped has not taken a key, and passes on its wake-up. Do not keep one
    /// without polling it: it may hold the timer of the delayed keys, on which the others rely. Waiting for
    /// delayed keys needs a tokio runtime with its timer.
    pub fn get(&self) -> Get<'_, T> {
        Get::new(self)
    }

    fn done(&self, slot: SlotId) {
        let mut inner = self.shared.lock_to_take();
        inner.state.done(slot, &self.shared.clock);
        self.settle(inner);
    }

    /// Returns the number of keys that are ready. Those being processed and delayed ones do not count.
    pub fn len(&self) -> usize {
        self.update(|state, clock| {
            state.advance(clock.now());
            state.len()
        })
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`shut_down`](Self::shut_down), [`drain`](Self::drain) or [`abort`](Self::abort) was called.
    pub fn is_shut_down(&self) -> bool {
        self.shared.inner.lock().state.is_shut_down()
    }

    /// Returns counts and times.
    pub fn status(&self) -> QueueStatus {
        self.update(|state, clock| state.status(clock.now()))
    }

    /// Returns a function that reads the queue for metrics. It does not keep the queue alive, and returns
    /// `None` once the last handle was dropped.
    #[cfg(feature = "metrics")]
    pub fn metrics(&self) -> impl Fn() -> Option<QueueMetrics> + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move || {
            let queue = Self {
                shared: shared.upgrade()?,
            };
            Some(queue.read_metrics())
        }
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn read_metrics(&self) -> QueueMetrics {
        self.update(|state, clock| QueueMetrics {
            status: state.status(clock.now()),
            waits: state.waits.histogram(),
            work: state.work.histogram(),
        })
    }

    /// Changes the state, then wakes those for whom it changed.
    fn update<R>(&self, change: impl FnOnce(&mut State<T>, &Clock) -> R) -> R {
        let mut inner = self.shared.lock_to_add();
        let result = change(&mut inner.state, &self.shared.clock);
        self.settle(inner);
        result
    }

    /// Unlocks the state after a change, then wakes those for whom it changed.
    fn settle(&self, mut guard: MutexGuard<'_, Inner<T>>) {
        let inner = &mut *guard;
        let waiter = inner.waiters.rouse(&inner.state);
        let drains = inner.drains.take_if(inner.state.is_drained());
        self.shared.ready.store(inner.state.len(), Ordering::Relaxed);
        drop(guard);
        if let Some(waker) = waiter {
            waker.wake();
        }
        drains.into_iter().for_each(Waker::wake);
    }
}

/// With more ready keys than this, those who add stay away from the lock, and else those who take: both sides
/// are fastest if they do many operations in a row, and a short queue stays in the caches of the processor.
const BACKLOG: usize = 1_000;

impl<T> Shared<T> {
    fn lock_to_add(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock_in_turns(match self.has_backlog() {
            true => Distance::Long,
            false => Distance::Short,
        })
    }

    fn lock_to_take(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock_in_turns(match self.has_backlog() {
            true => Distance::Short,
            false => Distance::Long,
        })
    }

    fn has_backlog(&self) -> bool {
        self.ready.load(Ordering::Relaxed) > BACKLOG
    }
}

impl<T: QueueKey> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T: QueueKey> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "workqueue_model.rs"]
mod model;
#[cfg(all(test, not(feature = "__model")))]
#[path = "workqueue_tests.rs"]
mod tests;
