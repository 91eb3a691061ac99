//! Synchronisation primitives: a lock that ignores poisoning, a latch, a signal, and threads for long work.

pub(crate) mod offload;

mod histogram;
mod log_limit;
mod streak;

#[cfg(feature = "__simulation")]
pub mod simulation;
#[cfg(not(feature = "__simulation"))]
pub(crate) mod simulation;

use tokio::sync::watch;

#[cfg(feature = "metrics")]
pub use histogram::Histogram;
pub(crate) use histogram::{CALLS, QUEUE, RECONCILES, Recorder, Stopwatch};
pub(crate) use log_limit::LogLimit;
pub(crate) use streak::Streak;

/// A mutex that ignores poisoning: every critical section of this crate keeps its data valid at each step.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(inner::Mutex<T>);

#[cfg(not(feature = "__model"))]
use std::sync as inner;

#[cfg(feature = "__model")]
use loom::sync as inner;

pub(crate) use inner::MutexGuard;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(inner::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Like [`lock`](Self::lock), for a lock that several threads take for a moment each, very often.
    ///
    /// A thread that finds the lock taken stays away from it for some microseconds before it looks again, so
    /// that the other thread does many operations in a row. With a plain lock the threads alternate, and
    /// every operation waits for cache lines of the other core. After a few looks it waits as `lock` does.
    pub(crate) fn lock_in_turns(&self, distance: Distance) -> MutexGuard<'_, T> {
        if let Some(guard) = self.try_lock() {
            return guard;
        }
        for pause in distance.pauses() {
            (0..pause).for_each(|_| std::hint::spin_loop());
            if let Some(guard) = self.try_lock() {
                return guard;
            }
        }
        self.lock()
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// How long a thread stays away from a lock it found taken: see [`Mutex::lock_in_turns`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Distance {
    /// For the thread whose operations should be fast, such as the only producer.
    Short,
    /// For the others. Measured: shorter pauses of workers halve what a producer achieves.
    Long,
}

impl Distance {
    /// The pauses between looks, in spins of about 50 ns. At most 0.4 ms in all.
    #[cfg(not(feature = "__model"))]
    fn pauses(self) -> impl Iterator<Item = u32> {
        const LOOKS: u32 = 5;
        let first = match self {
            Self::Short => 32,
            Self::Long => 256,
        };
        let looks = if can_spin() { LOOKS } else { 0 };
        (0..looks).map(move |look| first << look)
    }

    /// Loom explores the order of operations, not their speed.
    #[cfg(feature = "__model")]
    fn pauses(self) -> impl Iterator<Item = u32> {
        std::iter::empty()
    }
}

/// Whether a thread may spin: with one core, nothing happens meanwhile.
pub(crate) fn can_spin() -> bool {
    use std::sync::LazyLock;
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    *CORES > 1
}

/// An event that happens once. Any number of tasks may wait for it, before or after; all are woken.
#[derive(Clone, Debug)]
pub(crate) struct Latch(watch::Sender<bool>);

impl Latch {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn set(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    pub(crate) async fn wait(&self) {
        // The sender lives in `self`, so the channel cannot close while this waits.
        let _ = self.0.subscribe().wait_for(|set| *set).await;
    }
}

/// Notifies any number of tasks that something changed, without saying what.
#[derive(Clone, Debug)]
pub(crate) struct Signal(watch::Sender<u64>);

impl Signal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn notify(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// Where long work and user code run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offload {
    /// On other threads, so that no async worker is blocked. The default.
    ///
    /// Handlers run on tokio's blocking pool. The informer's own work (decoding large bodies, large
    /// commits, dropping old snapshots), transforms and index functions run on threads that handlers never
    /// occupy: a handler that blocks does not delay an informer, and a transform or index function that
    /// blocks delays only its own informer.
    #[default]
    BlockingPool,
    /// On the async task. For simulations that need one deterministic thread, and for handlers, transforms
    /// and index functions that are known to be fast.
    Inline,
}

/// The message of a caught panic, if it is a literal.
///
/// Only a literal is known to hold nothing of an object. A formatted message may quote one by accident, as
/// the `unwrap` of an error does, and this text is part of `status()`. The panic hook of the program has
/// received the whole message, with the place of the panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(literal) = payload.downcast_ref::<&'static str>() {
        return (*literal).to_owned();
    }
    let text = match payload.is::<String>() {
        true => "its message is formatted and may quote an object; the panic hook received it",
        false => "a panic without a message",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::panic_text;

    fn check(panic: impl FnOnce() + std::panic::UnwindSafe, expected: &str) {
        let payload = std::panic::catch_unwind(panic).expect_err("it panics");
        assert_eq!(panic_text(payload.as_ref()), expected);
    }

    #[test]
    fn only_a_literal_message_of_a_panic_is_kept() {
        check(|| panic!("no luck"), "no luck");
        let value = std::hint::black_box("confidential");
        let hidden = "its message is formatted and may quote an object; the panic hook received it";
        check(|| panic!("cannot use {value}"), hidden);
        let failed: Result<(), &str> = std::hint::black_box(Err(value));
        check(move || failed.unwrap(), hidden);
        check(|| std::panic::panic_any(7), "a panic without a message");
    }
}
