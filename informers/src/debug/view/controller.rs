//! One controller: its queue, and the keys it works on.

use std::time::Duration;

use informer_core::ObjectKey;
use informer_core::controller::ControllerStatus;
use serde::Serialize;

use super::{Level, Messages, SHOWN, seconds};

/// One controller.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct ControllerView {
    pub(in crate::debug) name: String,
    pub(in crate::debug) level: Level,
    pub(in crate::debug) queue: QueueView,
    pub(in crate::debug) running: Keys,
    /// The keys that wait until the caches show their writes.
    pub(in crate::debug) waiting: Keys,
    pub(in crate::debug) failing: Keys,
    pub(in crate::debug) totals: TotalsView,
}

/// The work queue of a controller.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct QueueView {
    pub(in crate::debug) ready: usize,
    pub(in crate::debug) low_priority: usize,
    pub(in crate::debug) delayed: usize,
    pub(in crate::debug) processing: usize,
    pub(in crate::debug) adds: u64,
    pub(in crate::debug) retries: u64,
    pub(in crate::debug) oldest_waiting_seconds: Option<f64>,
    pub(in crate::debug) longest_running_seconds: Option<f64>,
}

/// Some keys of a set, and how many it has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct Keys {
    pub(in crate::debug) count: usize,
    /// The first of them: the longest, or those with the most failures.
    pub(in crate::debug) keys: Vec<KeyView>,
}

impl Keys {
    fn new<T>(all: &[T], view: impl Fn(&T) -> KeyView) -> Self {
        Self {
            count: all.len(),
            keys: all.iter().take(SHOWN).map(view).collect(),
        }
    }
}

/// A key that a controller works on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct KeyView {
    pub(in crate::debug) key: String,
    /// Since it is in this state.
    pub(in crate::debug) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::debug) failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::debug) retry_in_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::debug) writes: Option<usize>,
    /// Only if messages are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::debug) error: Option<String>,
}

impl KeyView {
    fn new(key: &ObjectKey, elapsed: Duration) -> Self {
        Self {
            key: key.to_string(),
            seconds: seconds(elapsed),
            failures: None,
            retry_in_seconds: None,
            writes: None,
            error: None,
        }
    }
}

/// Counts since the controller was built.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct TotalsView {
    pub(in crate::debug) succeeded: u64,
    pub(in crate::debug) failed: u64,
    pub(in crate::debug) panicked: u64,
    pub(in crate::debug) timed_out: u64,
    pub(in crate::debug) cancelled: u64,
    pub(in crate::debug) unconfirmed_writes: u64,
}

impl ControllerView {
    pub(super) fn new(status: &ControllerStatus, messages: Messages) -> Self {
        let ControllerStatus { queue, totals, .. } = status;
        Self {
            name: status.name.clone(),
            level: match status.failing.is_empty() {
                true => Level::Ok,
                false => Level::Warning,
            },
            queue: QueueView {
                ready: queue.ready,
                low_priority: queue.low_priority,
                delayed: queue.delayed,
                processing: queue.processing,
                adds: queue.adds,
                retries: queue.retries,
                oldest_waiting_seconds: queue.oldest_waiting.map(seconds),
                longest_running_seconds: queue.longest_running.map(seconds),
            },
            running: Keys::new(&status.running, |running| KeyView {
                failures: Some(running.attempt),
                ..KeyView::new(&running.key, running.elapsed)
            }),
            waiting: Keys::new(&status.waiting, |waiting| KeyView {
                writes: Some(waiting.writes),
                ..KeyView::new(&waiting.key, waiting.elapsed)
            }),
            failing: Keys::new(&status.failing, |failing| KeyView {
                failures: Some(failing.failures),
                retry_in_seconds: Some(seconds(failing.retry_in)),
                error: messages.show(Some(&failing.error)),
                ..KeyView::new(&failing.key, failing.elapsed)
            }),
            totals: TotalsView {
                succeeded: totals.succeeded,
                failed: totals.failed,
                panicked: totals.panicked,
                timed_out: totals.timed_out,
                cancelled: totals.cancelled,
                unconfirmed_writes: totals.unconfirmed_writes,
            },
        }
    }
}
