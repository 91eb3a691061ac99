//! Waits between failures: exponential, jittered, and only reset by health.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How long to wait after a failure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackoffConfig {
    /// The first wait. Default 800 ms.
    pub initial: Duration,
    /// What each further wait is multiplied with. Default 2.
    pub factor: f64,
    /// How much random time is added, as a part of the wait. Default 1: up to twice the wait.
    pub jitter: f64,
    /// The longest wait before jitter. Default 30 s.
    pub cap: Duration,
    /// How long a watch must have been well for the next wait to be the first again. Default 2 minutes.
    pub reset_after: Duration,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            jitter: 1.0,
            cap: Duration::from_secs(30),
            reset_after: Duration::from_secs(120),
        }
    }
}

/// The shortest wait, whatever is configured.
const SHORTEST: Duration = Duration::from_millis(1);

/// The waits of one reflector.
///
/// Upstream resets by the clock, even while everything fails; here only a watch that was well for `reset_after` resets.
#[derive(Debug)]
pub(super) struct Backoff {
    config: BackoffConfig,
    next: Duration,
    random: SmallRng,
}

impl Backoff {
    pub(super) fn new(mut config: BackoffConfig, seed: u64) -> Self {
        // A wait of nothing would ask a failing server without a pause.
        config.initial = config.initial.max(SHORTEST);
        config.cap = config.cap.max(SHORTEST);
        Self {
            next: config.initial,
            config,
            random: SmallRng::seed_from_u64(seed),
        }
    }

    /// The next wait.
    pub(super) fn next(&mut self) -> Duration {
        let base = self.next.min(self.config.cap);
        self.next = scale(base, self.config.factor.max(1.0)).min(self.config.cap);
        scale(
            base,
            1.0 + self.config.jitter.max(0.0) * self.random.random::<f64>(),
        )
    }

    /// A watch was well for this long.
    pub(super) fn healthy_for(&mut self, lived: Duration) {
        if lived >= self.config.reset_after {
            self.next = self.config.initial;
        }
    }
}

/// A multiple of a time; the longest there is where a configured factor is out of all measure.
pub(super) fn scale(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_with_up_to_as_much_jitter() {
        let mut backoff = Backoff::new(BackoffConfig::default(), 7);
        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
            let wait = backoff.next().as_secs_f64();
            assert!(
                (expected..2.0 * expected).contains(&wait),
                "{wait} is not in {expected}..{}",
                2.0 * expected
            );
        }
    }

    #[test]
    fn only_health_resets() {
        let mut backoff = Backoff::new(
            BackoffConfig {
                jitter: 0.0,
                ..BackoffConfig::default()
            },
            7,
        );
        backoff.next();
        backoff.next();
        backoff.healthy_for(Duration::from_secs(119));
        assert_eq!(backoff.next(), Duration::from_millis(3_200));
        backoff.healthy_for(Duration::from_secs(120));
        assert_eq!(backoff.next(), Duration::from_millis(800));
    }
}
