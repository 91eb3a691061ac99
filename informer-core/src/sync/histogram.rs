//! Histograms of times, with fixed buckets.

use std::time::Duration;

/// The most buckets of a histogram, without the last one, which has no bound.
#[cfg(feature = "metrics")]
const MOST: usize = 14;

/// The buckets of client-go's histograms of work queues: 10 ns to 10 s, each ten times the one before.
pub(crate) const QUEUE: &[Duration] = &[
    Duration::from_nanos(10),
    Duration::from_nanos(100),
    Duration::from_micros(1),
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// The buckets of `informer_processing_latency_seconds` of Kubernetes: 1 ms to 10 s.
pub(crate) const CALLS: &[Duration] = &[
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// The buckets of reconciles, which wait for the server: 5 ms to 10 minutes, the default time limit.
pub(crate) const RECONCILES: &[Duration] = &[
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(600),
];

/// Records times. Without the feature `metrics` it has no size and does nothing.
///
/// It is behind the lock of what it measures, so it needs neither atomics nor a lock of its own.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    #[cfg(feature = "metrics")]
    histogram: Histogram,
}

impl Recorder {
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, reason = "nothing is recorded")
    )]
    pub(crate) fn new(bounds: &'static [Duration]) -> Self {
        Self {
            #[cfg(feature = "metrics")]
            histogram: Histogram::new(bounds),
        }
    }

    /// Records a time. `time` is called only if times are recorded.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, reason = "nothing is recorded")
    )]
    pub(crate) fn record(&mut self, time: impl FnOnce() -> Duration) {
        #[cfg(feature = "metrics")]
        self.histogram.observe(time());
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn histogram(&self) -> Histogram {
        self.histogram
    }
}

/// The time since its start. Without the feature `metrics` it has no size and reads no clock.
pub(crate) struct Stopwatch {
    #[cfg(feature = "metrics")]
    start: tokio::time::Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(feature = "metrics")]
            start: tokio::time::Instant::now(),
        }
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// How many observed times fell into which bucket, since what they measure was created.
///
/// The buckets are fixed, so a histogram has a fixed size and two of one metric can be
/// [merged](Self::merge).
#[cfg(feature = "metrics")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    bounds: &'static [Duration],
    /// One for each bound; those above the last bound are only in `count`.
    counts: [u64; MOST],
    count: u64,
    sum: Duration,
}

#[cfg(feature = "metrics")]
impl Histogram {
    fn new(bounds: &'static [Duration]) -> Self {
        debug_assert!(bounds.len() <= MOST, "raise MOST");
        Self {
            bounds,
            counts: [0; MOST],
            count: 0,
            sum: Duration::ZERO,
        }
    }

    fn observe(&mut self, time: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(time);
        let bucket = self.bounds.iter().position(|bound| time <= *bound);
        if let Some(count) = bucket.and_then(|bucket| self.counts.get_mut(bucket)) {
            *count += 1;
        }
    }

    /// Returns each bucket: its upper bound, which belongs to it, and the number of times in it. Times above
    /// the last bound are in no bucket: [`count`](Self::count) has all of them.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.bounds.iter().copied().zip(self.counts)
    }

    /// The number of observed times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all observed times.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Adds the times of another histogram. One with other buckets is ignored.
    pub fn merge(&mut self, other: &Self) {
        if self.bounds != other.bounds {
            return;
        }
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use super::*;

    fn buckets_of(histogram: &Histogram) -> Vec<u64> {
        histogram.buckets().map(|(_, count)| count).collect()
    }

    #[test]
    fn a_time_is_in_the_first_bucket_that_is_not_smaller() {
        let mut recorder = Recorder::new(QUEUE);
        for time in [0, 10, 11, 1_000_000_000, 10_000_000_000, 10_000_000_001] {
            recorder.record(|| Duration::from_nanos(time));
        }
        let histogram = recorder.histogram();
        assert_eq!(buckets_of(&histogram), [2, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(histogram.count(), 6, "one is above the last bound");
        assert_eq!(histogram.sum(), Duration::from_nanos(21_000_000_022));
    }

    #[test]
    fn merged_histograms_have_all_times_of_the_same_buckets() {
        let mut calls = Recorder::new(CALLS);
        calls.record(|| Duration::from_secs(1));
        let mut histogram = calls.histogram();
        histogram.merge(&calls.histogram());
        histogram.merge(&Recorder::new(QUEUE).histogram());
        assert_eq!((histogram.count(), histogram.sum().as_secs()), (2, 2));
        assert_eq!(buckets_of(&histogram).iter().sum::<u64>(), 2);
    }

    #[test]
    fn no_bucket_is_left_out_and_all_are_in_order() {
        for bounds in [QUEUE, CALLS, RECONCILES] {
            assert!(bounds.len() <= MOST && bounds.is_sorted());
        }
    }
}
