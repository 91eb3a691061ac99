//! Limiters that count the failures of each key.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::super::QueueKey;
use super::RateLimiter;
use crate::mutant;
use crate::sync::Mutex;

/// Doubles the delay of a key with each failure. client-go's `ItemExponentialFailureRateLimiter`.
///
/// The delay is `base * 2^failures`, at most `max`. The default is 5 ms to 1000 s, without jitter. Keeps one
/// counter for each key that failed since it was last forgotten.
pub struct ExponentialBackoff<T> {
    base: Duration,
    max: Duration,
    jitter: f64,
    random: Mutex<SmallRng>,
    failures: Failures<T>,
}

impl<T: QueueKey> ExponentialBackoff<T> {
    /// Creates a limiter with the first and the longest delay.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            jitter: 0.0,
            random: Mutex::new(SmallRng::from_rng(&mut rand::rng())),
            failures: Failures::new(),
        }
    }

    /// Shortens each delay by a random part of up to this fraction, so that keys that failed together are not
    /// retried together. From 0 to 0.5; other values are treated as the nearest of them.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction.is_nan() {
            0.0
        } else {
            fraction.clamp(0.0, 0.5)
        };
        self
    }

    /// Sets the seed of the jitter. Default: random. For reproducible tests.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.random = Mutex::new(SmallRng::seed_from_u64(seed));
        self
    }
}

impl<T: QueueKey> Default for ExponentialBackoff<T> {
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1_000))
    }
}

impl<T: QueueKey> RateLimiter<T> for ExponentialBackoff<T> {
    fn when(&self, key: &T) -> Duration {
        let before = match self.failures.add(key) {
            _ if mutant::is("C3") => 0,
            failures => failures - 1,
        };
        let factor = 1_u32.checked_shl(before);
        let delay = factor.and_then(|factor| self.base.checked_mul(factor));
        let delay = delay.unwrap_or(Duration::MAX).min(self.max);
        match self.jitter {
            0.0 => delay,
            jitter => delay - delay.mul_f64(jitter * self.random.lock().random::<f64>()),
        }
    }

    fn forget(&self, key: &T) {
        self.failures.remove(key);
    }

    fn retries(&self, key: &T) -> u32 {
        self.failures.get(key)
    }
}

/// Waits a short time after the first failures of a key, and a long time after further ones. client-go's
/// `ItemFastSlowRateLimiter`.
///
/// Keeps one counter for each key that failed since it was last forgotten.
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures<T>,
}

impl<T: QueueKey> FastSlow<T> {
    /// Creates a limiter that waits `fast` after the first `fast_attempts` failures, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            fast_attempts,
            failures: Failures::new(),
        }
    }
}

impl<T: QueueKey> RateLimiter<T> for FastSlow<T> {
    fn when(&self, key: &T) -> Duration {
        match self.failures.add(key) <= self.fast_attempts {
            true => self.fast,
            false => self.slow,
        }
    }

    fn forget(&self, key: &T) {
        self.failures.remove(key);
    }

    fn retries(&self, key: &T) -> u32 {
        self.failures.get(key)
    }
}

/// The failures of each key since it was last forgotten.
struct Failures<T>(Mutex<HashMap<T, u32>>);

impl<T: QueueKey> Failures<T> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Counts a failure, and returns the number of failures with it.
    fn add(&self, key: &T) -> u32 {
        let mut failures = self.0.lock();
        if let Some(count) = failures.get_mut(key) {
            *count = count.saturating_add(1);
            return *count;
        }
        failures.insert(key.clone(), 1);
        1
    }

    fn get(&self, key: &T) -> u32 {
        self.0.lock().get(key).copied().unwrap_or(0)
    }

    fn remove(&self, key: &T) {
        self.0.lock().remove(key);
    }
}

impl<T> fmt::Debug for ExponentialBackoff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExponentialBackoff")
            .field("base", &self.base)
            .field("max", &self.max)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for FastSlow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastSlow")
            .field("fast", &self.fast)
            .field("slow", &self.slow)
            .field("fast_attempts", &self.fast_attempts)
            .finish_non_exhaustive()
    }
}
