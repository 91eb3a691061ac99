//! What a queue reports of itself.

use std::time::Duration;

#[cfg(feature = "metrics")]
use crate::sync::Histogram;

/// The state of a [`WorkQueue`](super::WorkQueue) at one moment.
///
/// The names of client-go's metrics are in parentheses. Its two histograms exist with the feature `metrics`:
/// [`Item::waited`](super::Item::waited) is what `queue_duration_seconds` observes, and the time between
/// [`get`](super::WorkQueue::get) and the drop of an item is what `work_duration_seconds` observes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// The keys that can be taken now, of both priorities (`depth`).
    pub ready: usize,
    /// Those of them with low priority.
    pub low_priority: usize,
    /// The keys that become ready later. A key can be delayed and ready at the same time.
    pub delayed: usize,
    /// The keys that are being processed: the items that exist.
    pub processing: usize,
    /// How many keys were added, without those that were queued already (`adds_total`).
    pub adds: u64,
    /// The calls of `add_after` and `add_rate_limited` before the shut-down (`retries_total`).
    pub retries: u64,
    /// How long the first key of a line has been ready, the longer time of the two lines. It is a lower bound
    /// of the longest wait: a key that was raised to normal priority can have waited longer.
    pub oldest_waiting: Option<Duration>,
    /// How long the oldest item has existed (`longest_running_processor_seconds`).
    pub longest_running: Option<Duration>,
    /// How long all items have existed together (`unfinished_work_seconds`). It grows without bound if a
    /// worker is stuck.
    pub unfinished: Duration,
}

/// What the metrics of a [`WorkQueue`](super::WorkQueue) need.
#[cfg(feature = "metrics")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueueMetrics {
    /// Counts and times.
    pub status: QueueStatus,
    /// How long keys were ready before they were taken (`queue_duration_seconds`).
    pub waits: Histogram,
    /// How long items existed (`work_duration_seconds`).
    pub work: Histogram,
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "status_tests.rs"]
mod tests;
