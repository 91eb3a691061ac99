//! The waits between requests: a minimum, and exponential with jitter after failures. Only a healthy watch
//! resets them.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::state::Health;

/// The waits after failures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackoffConfig {
    /// The first wait. Default 800 ms.
    pub initial: Duration,
    /// The factor between one wait and the next. Default 2.
    pub factor: f64,
    /// How much random time is added, as a fraction of the wait. Default 1: up to twice the wait.
    pub jitter: f64,
    /// The longest wait before jitter. Default 30 s.
    pub cap: Duration,
    /// How long a watch without data, or one followed by a relist, must have been open to reset the waits. A
    /// watch that delivered data and can be resumed resets them after one second. Default 2 minutes.
    pub reset_after: Duration,
    /// The shortest pause between two consecutive requests, with jitter: also after a watch that ended
    /// normally, and whatever the other settings are. Default 100 ms, at least 10 ms.
    pub minimum: Duration,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            jitter: 1.0,
            cap: Duration::from_secs(30),
            reset_after: Duration::from_secs(120),
            minimum: Duration::from_millis(100),
        }
    }
}

/// The smallest accepted minimum: without one, a failing server would get requests as fast as it answers.
const SHORTEST: Duration = Duration::from_millis(10);

/// The waits of one reflector.
///
/// Upstream resets them after a time, even while everything fails. Here only a healthy watch does.
#[derive(Debug)]
pub(super) struct Backoff {
    config: BackoffConfig,
    next: Duration,
    random: SmallRng,
}

impl Backoff {
    pub(super) fn new(mut config: BackoffConfig, seed: u64) -> Self {
        config.minimum = config.minimum.max(SHORTEST);
        config.initial = config.initial.max(config.minimum);
        config.cap = config.cap.max(config.minimum);
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
        self.jittered(base)
    }

    /// The pause between requests without a failure.
    pub(super) fn minimum(&mut self) -> Duration {
        self.jittered(self.config.minimum)
    }

    /// Raises a fixed wait to the minimum.
    pub(super) fn at_least_minimum(&self, wait: Duration) -> Duration {
        wait.max(self.config.minimum)
    }

    fn jittered(&mut self, base: Duration) -> Duration {
        scale(
            base,
            1.0 + self.config.jitter.max(0.0) * self.random.random::<f64>(),
        )
    }

    /// Resets the waits if a watch was healthy enough.
    pub(super) fn saw(&mut self, health: Health) {
        let is_enough = match health {
            Health::Proven => true,
            Health::For(time) => time >= self.config.reset_after,
        };
        if is_enough {
            self.next = self.config.initial;
        }
    }
}

/// Multiplies a duration; returns a very long one if the factor is too large.
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
        backoff.saw(Health::For(Duration::from_secs(119)));
        assert_eq!(backoff.next(), Duration::from_millis(3_200));
        backoff.saw(Health::For(Duration::from_secs(120)));
        assert_eq!(backoff.next(), Duration::from_millis(800));
        backoff.next();
        backoff.saw(Health::Proven);
        assert_eq!(backoff.next(), Duration::from_millis(800));
    }

    #[test]
    fn no_wait_is_shorter_than_the_minimum() {
        let config = BackoffConfig {
            initial: Duration::ZERO,
            cap: Duration::ZERO,
            jitter: 0.0,
            ..BackoffConfig::default()
        };
        let minimum = Duration::from_millis(100);
        let mut backoff = Backoff::new(config.clone(), 7);
        assert_eq!(
            (backoff.next(), backoff.next(), backoff.minimum()),
            (minimum, minimum, minimum)
        );
        assert_eq!(backoff.at_least_minimum(Duration::ZERO), minimum);
        let mut backoff = Backoff::new(
            BackoffConfig {
                minimum: Duration::ZERO,
                ..config
            },
            7,
        );
        assert_eq!((backoff.next(), backoff.minimum()), (SHORTEST, SHORTEST));
    }
}
