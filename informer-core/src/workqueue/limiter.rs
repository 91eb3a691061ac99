//! Rate limiters: how long a key waits before it is retried.

mod bucket;
mod combined;
mod per_key;

use std::time::Duration;

pub use bucket::TokenBucket;
pub use combined::{MaxOf, WithMaxWait};
pub use per_key::{ExponentialBackoff, FastSlow};

use super::QueueKey;

/// Chooses the delay before a key is retried. client-go's `TypedRateLimiter`.
///
/// A queue calls it without holding a lock, from any thread.
pub trait RateLimiter<T>: Send + Sync + 'static {
    /// Counts a failure of the key, and returns how long it has to wait.
    fn when(&self, key: &T) -> Duration;

    /// Resets the key: it succeeded, or is not retried any more.
    fn forget(&self, key: &T);

    /// Returns how often the key failed since it was last forgotten. client-go's `NumRequeues`.
    fn retries(&self, key: &T) -> u32;
}

impl<T: 'static> RateLimiter<T> for Box<dyn RateLimiter<T>> {
    fn when(&self, key: &T) -> Duration {
        (**self).when(key)
    }

    fn forget(&self, key: &T) {
        (**self).forget(key);
    }

    fn retries(&self, key: &T) -> u32 {
        (**self).retries(key)
    }
}

/// Returns the limiter that controllers use by default, the same as client-go's: the longer delay of
/// [`ExponentialBackoff`] from 5 ms to 1000 s per key, and a [`TokenBucket`] of 10 retries per second with
/// bursts of 100 for all keys together.
pub fn default_controller_limiter<T: QueueKey>() -> MaxOf<T> {
    MaxOf::new(ExponentialBackoff::default()).and(TokenBucket::default())
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "limiter_tests.rs"]
mod tests;
