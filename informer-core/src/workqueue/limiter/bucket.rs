//! `TokenBucket`: a limit for all keys together.

use std::time::Duration;

use tokio::time::Instant;

use super::super::moment::LONGEST;
use super::RateLimiter;
use crate::sync::Mutex;

/// Limits the retries of all keys together: bursts, and a steady rate. client-go's `BucketRateLimiter`.
///
/// A retry takes one token. Without a token it waits until its own is there, behind all retries before it.
/// The default is 10 per second with bursts of 100. It does not count per key: `retries` is 0.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    /// Below zero: the number of retries that wait for their tokens.
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// Creates a full bucket of `burst` tokens, to which `per_second` are added. With a rate that is not
    /// positive, a retry without a token waits ten years, the longest delay.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self {
            per_second: if per_second > 0.0 { per_second } else { 0.0 },
            burst,
            level: Mutex::new(Level {
                tokens: burst,
                at: Instant::now(),
            }),
        }
    }
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self::new(10.0, 100)
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _key: &T) -> Duration {
        let now = Instant::now();
        let mut level = self.level.lock();
        let passed = now.saturating_duration_since(level.at).as_secs_f64();
        level.at = now;
        let refilled = level.tokens + passed * self.per_second;
        level.tokens = refilled.min(self.burst) - 1.0;
        let missing = -level.tokens;
        if missing <= 0.0 {
            return Duration::ZERO;
        }
        let delay = Duration::try_from_secs_f64(missing / self.per_second);
        delay.unwrap_or(LONGEST).min(LONGEST)
    }

    fn forget(&self, _key: &T) {}

    fn retries(&self, _key: &T) -> u32 {
        0
    }
}
