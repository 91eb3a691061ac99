//! Limiters that change the delays of others.

use std::fmt;
use std::time::Duration;

use super::RateLimiter;

/// Uses the longest delay, and the highest number of retries, of several limiters. client-go's
/// `MaxOfRateLimiter`.
pub struct MaxOf<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T: 'static> MaxOf<T> {
    /// Starts with one limiter.
    pub fn new(limiter: impl RateLimiter<T>) -> Self {
        Self {
            limiters: vec![Box::new(limiter)],
        }
    }

    /// Adds another limiter.
    #[must_use]
    pub fn and(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiters.push(Box::new(limiter));
        self
    }
}

impl<T: 'static> RateLimiter<T> for MaxOf<T> {
    fn when(&self, key: &T) -> Duration {
        let delays = self.limiters.iter().map(|limiter| limiter.when(key));
        delays.max().unwrap_or_default()
    }

    fn forget(&self, key: &T) {
        self.limiters.iter().for_each(|limiter| limiter.forget(key));
    }

    fn retries(&self, key: &T) -> u32 {
        let counts = self.limiters.iter().map(|limiter| limiter.retries(key));
        counts.max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf")
            .field("limiters", &self.limiters.len())
            .finish()
    }
}

/// Shortens the delays of another limiter to a maximum. client-go's `WithMaxWaitRateLimiter`.
#[derive(Clone, Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWait<L> {
    /// Wraps a limiter, whose delays become at most `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for WithMaxWait<L> {
    fn when(&self, key: &T) -> Duration {
        self.limiter.when(key).min(self.max)
    }

    fn forget(&self, key: &T) {
        self.limiter.forget(key);
    }

    fn retries(&self, key: &T) -> u32 {
        self.limiter.retries(key)
    }
}
