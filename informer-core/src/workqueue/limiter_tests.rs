//! Delays of the limiters, ported from client-go and beyond.

use super::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The next delays of a key.
fn delays(limiter: &impl RateLimiter<&'static str>, key: &'static str, count: usize) -> Vec<Duration> {
    (0..count).map(|_| limiter.when(&key)).collect()
}

/// Upstream: TestItemExponentialFailureRateLimiter.
#[test]
fn an_exponential_backoff_doubles_per_key_until_it_is_forgotten() {
    let limiter = ExponentialBackoff::new(ms(1), Duration::from_secs(1));
    assert_eq!(delays(&limiter, "one", 5), [1, 2, 4, 8, 16].map(ms));
    assert_eq!(limiter.retries(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [1, 2].map(ms));
    assert_eq!(limiter.retries(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.retries(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [ms(1)]);
}

/// Upstream: TestItemExponentialFailureRateLimiterOverFlow.
#[test]
fn an_exponential_backoff_ends_at_its_maximum_and_never_overflows() {
    let limiter = ExponentialBackoff::new(ms(1), Duration::from_secs(1_000));
    assert_eq!(delays(&limiter, "one", 5), [1, 2, 4, 8, 16].map(ms));
    let further = delays(&limiter, "one", 1_000);
    assert!(further.is_sorted());
    assert_eq!(further.last(), Some(&Duration::from_secs(1_000)));

    let long = ExponentialBackoff::new(Duration::from_secs(u64::MAX / 2), Duration::MAX);
    let last = delays(&long, "one", 40).pop();
    assert_eq!(last, Some(Duration::MAX));
    let max_below_base = ExponentialBackoff::new(ms(10), ms(3));
    assert_eq!(delays(&max_below_base, "one", 2), [3, 3].map(ms));
}

#[test]
fn jitter_shortens_a_delay_by_at_most_its_fraction() {
    for fraction in [0.3, 7.0, -1.0, f64::NAN] {
        let used = if fraction.is_nan() {
            0.0
        } else {
            fraction.clamp(0.0, 0.5)
        };
        let limiter = ExponentialBackoff::new(ms(1_000), ms(1_000)).jitter(fraction);
        let delays = delays(&limiter, "one", 200);
        let shortest = ms(1_000).mul_f64(1.0 - used);
        assert!(
            delays.iter().all(|delay| (shortest..=ms(1_000)).contains(delay)),
            "{fraction}: {delays:?}"
        );
        let differ = delays.iter().any(|delay| *delay != delays[0]);
        assert_eq!(differ, used > 0.0, "{fraction}");
    }
}

#[test]
fn the_same_seed_gives_the_same_jitter() {
    let delays = |seed| {
        let limiter = ExponentialBackoff::new(ms(1_000), ms(1_000))
            .jitter(0.5)
            .seed(seed);
        delays(&limiter, "one", 20)
    };
    assert_eq!(delays(7), delays(7));
    assert_ne!(delays(7), delays(8));
}

/// Upstream: TestItemFastSlowRateLimiter.
#[test]
fn a_fast_slow_limiter_is_fast_for_the_first_attempts_of_each_key() {
    let limiter = FastSlow::new(ms(5), ms(10_000), 3);
    let expected = [5, 5, 5, 10_000, 10_000].map(ms);
    assert_eq!(delays(&limiter, "one", 5), expected);
    assert_eq!(limiter.retries(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [5, 5].map(ms));
    limiter.forget(&"one");
    assert_eq!(limiter.retries(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 4), expected[..4]);
}

/// Upstream: TestMaxOfRateLimiter.
#[test]
fn the_longest_delay_and_the_highest_count_win() {
    let limiter = MaxOf::new(FastSlow::new(ms(5), ms(3_000), 3))
        .and(ExponentialBackoff::new(ms(1), Duration::from_secs(1)));
    assert_eq!(delays(&limiter, "one", 5), [5, 5, 5, 3_000, 3_000].map(ms));
    assert_eq!(limiter.retries(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [5, 5].map(ms));
    limiter.forget(&"one");
    assert_eq!(limiter.retries(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [ms(5)]);
}

/// Upstream: TestWithMaxWaitRateLimiter.
#[test]
fn a_maximum_shortens_the_delays_of_any_limiter() {
    let limiter = WithMaxWait::new(FastSlow::new(ms(5), ms(10_000), 3), ms(500));
    assert_eq!(delays(&limiter, "one", 5), [5, 5, 5, 500, 500].map(ms));
    assert_eq!(limiter.retries(&"one"), 5);
    limiter.forget(&"one");
    assert_eq!(limiter.retries(&"one"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_allows_its_burst_and_then_its_rate() {
    let limiter = TokenBucket::new(10.0, 3);
    assert_eq!(
        delays(&limiter, "any", 5),
        [ms(0), ms(0), ms(0), ms(100), ms(200)]
    );
    tokio::time::advance(ms(200)).await;
    assert_eq!(delays(&limiter, "any", 1), [ms(100)]);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert_eq!(delays(&limiter, "any", 4), [ms(0), ms(0), ms(0), ms(100)]);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_without_a_rate_waits_the_longest_delay() {
    for rate in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
        let limiter = TokenBucket::new(rate, 1);
        let ten_years = Duration::from_secs(10 * 365 * 24 * 3_600);
        assert_eq!(delays(&limiter, "any", 2), [Duration::ZERO, ten_years], "{rate}");
    }
    let unlimited = TokenBucket::new(f64::INFINITY, 1);
    assert_eq!(delays(&unlimited, "any", 3), [Duration::ZERO; 3]);
}

#[tokio::test(start_paused = true)]
async fn the_default_limiter_is_the_one_of_client_go() {
    let limiter = default_controller_limiter();
    assert_eq!(delays(&limiter, "one", 4), [5, 10, 20, 40].map(ms));
    for key in 0..96 {
        let key: &'static str = Box::leak(key.to_string().into_boxed_str());
        assert_eq!(limiter.when(&key), ms(5));
    }
    assert_eq!(limiter.when(&"the bucket is empty"), ms(100));
}
