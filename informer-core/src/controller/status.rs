//! The state of a controller: what runs, what waits, what fails.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::error::ReconcileError;
use super::runner::Stopped;
use crate::key::ObjectKey;
use crate::printable::Printable;
#[cfg(feature = "metrics")]
use crate::sync::Histogram;
use crate::sync::{LogLimit, RECONCILES, Recorder};
#[cfg(feature = "metrics")]
use crate::workqueue::QueueMetrics;
use crate::workqueue::QueueStatus;

/// What a controller is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerStatus {
    /// The name of the controller.
    pub name: String,
    /// The work queue.
    pub queue: QueueStatus,
    /// The keys that are being reconciled, the longest first.
    pub running: Vec<RunningKey>,
    /// The keys that wait until the caches show their writes, the longest first.
    pub waiting: Vec<WaitingKey>,
    /// The keys whose last reconcile failed, the most failures first. Bounded by the number of keys.
    pub failing: Vec<FailingKey>,
    /// Counts since the controller was built.
    pub totals: Totals,
}

/// A key that is being reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningKey {
    /// The key.
    pub key: ObjectKey,
    /// For how long.
    pub elapsed: Duration,
    /// The number of failures before this attempt.
    pub attempt: u32,
}

/// A key that waits until the caches show its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingKey {
    /// The key.
    pub key: ObjectKey,
    /// For how long.
    pub elapsed: Duration,
    /// The number of writes of its last reconcile.
    pub writes: usize,
}

/// A key whose last reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailingKey {
    /// The key.
    pub key: ObjectKey,
    /// The number of failures since the last success.
    pub failures: u32,
    /// The time since the first of them.
    pub elapsed: Duration,
    /// The delay that was chosen for the retry.
    pub retry_in: Duration,
    /// The last error, with its causes, cut to 1,024 characters.
    pub error: String,
}

/// Counts since the controller was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Reconciles that returned `Ok`.
    pub succeeded: u64,
    /// Reconciles that returned an error.
    pub failed: u64,
    /// Reconciles that panicked.
    pub panicked: u64,
    /// Reconciles that exceeded the time limit.
    pub timed_out: u64,
    /// Reconciles that were cancelled by a stop or by the loss of the leadership.
    pub cancelled: u64,
    /// Writes that no cache showed within the deadline, or that none can show.
    pub unconfirmed_writes: u64,
}

/// What the metrics of a controller need. Unlike [`ControllerStatus`] it names no key.
#[cfg(feature = "metrics")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerMetrics {
    /// The name of the controller.
    pub name: String,
    /// The work queue.
    pub queue: QueueMetrics,
    /// The number of keys that are being reconciled.
    pub running: usize,
    /// The number of keys that wait until the caches show their writes.
    pub waiting: usize,
    /// The number of keys whose last reconcile failed.
    pub failing: usize,
    /// Counts since the controller was built.
    pub totals: Totals,
    /// How long reconciles took, whatever their result.
    pub durations: Histogram,
}

/// The record behind [`ControllerStatus`].
pub(super) struct Book {
    running: HashMap<ObjectKey, (Instant, u32)>,
    waiting: HashMap<ObjectKey, (Instant, usize)>,
    failing: HashMap<ObjectKey, Failing>,
    totals: Totals,
    durations: Recorder,
    /// Keys that a worker took and did not start, or that became due again after the stop.
    not_started: Vec<ObjectKey>,
    cancelled: Vec<ObjectKey>,
    failure_log: LogLimit,
    write_log: LogLimit,
}

struct Failing {
    failures: u32,
    since: Instant,
    retry_in: Duration,
    error: String,
}

impl Book {
    pub(super) fn new() -> Self {
        Self {
            running: HashMap::new(),
            waiting: HashMap::new(),
            failing: HashMap::new(),
            totals: Totals::default(),
            durations: Recorder::new(RECONCILES),
            not_started: Vec::new(),
            cancelled: Vec::new(),
            failure_log: LogLimit::default(),
            write_log: LogLimit::default(),
        }
    }

    fn ended(&mut self, key: &ObjectKey) {
        if let Some((since, _)) = self.running.remove(key) {
            self.durations.record(|| since.elapsed());
        }
    }

    pub(super) fn started(&mut self, key: &ObjectKey, attempt: u32) {
        self.running.insert(key.clone(), (Instant::now(), attempt));
    }

    pub(super) fn succeeded(&mut self, key: &ObjectKey) {
        self.ended(key);
        self.failing.remove(key);
        self.totals.succeeded += 1;
    }

    /// Returns the number of suppressed log lines, or `None` if this failure is not logged.
    pub(super) fn failed(
        &mut self,
        key: &ObjectKey,
        failures: u32,
        retry_in: Duration,
        error: &ReconcileError,
    ) -> Option<u64> {
        let now = Instant::now();
        self.ended(key);
        let total = match error {
            ReconcileError::Failed(_) => &mut self.totals.failed,
            ReconcileError::Panicked(_) => &mut self.totals.panicked,
            ReconcileError::TimedOut(_) => &mut self.totals.timed_out,
        };
        *total += 1;
        let since = self.failing.get(key).map_or(now, |failing| failing.since);
        let failing = Failing {
            failures,
            since,
            retry_in,
            error: text_of(error),
        };
        self.failing.insert(key.clone(), failing);
        self.failure_log.news(now)
    }

    pub(super) fn cancelled(&mut self, key: &ObjectKey) {
        self.ended(key);
        self.totals.cancelled += 1;
        self.cancelled.push(key.clone());
    }

    pub(super) fn not_started(&mut self, key: ObjectKey) {
        self.not_started.push(key);
    }

    pub(super) fn wait_begins(&mut self, key: &ObjectKey, writes: usize) {
        self.waiting.insert(key.clone(), (Instant::now(), writes));
    }

    pub(super) fn wait_ends(&mut self, key: &ObjectKey) {
        self.waiting.remove(key);
    }

    /// Returns the number of suppressed log lines, or `None` if this is not logged.
    pub(super) fn unconfirmed(&mut self, writes: usize) -> Option<u64> {
        self.totals.unconfirmed_writes += writes as u64;
        self.write_log.news(Instant::now())
    }

    /// The keys that workers did not finish, at the end of a run.
    pub(super) fn stopped(&mut self) -> Stopped {
        Stopped {
            left: std::mem::take(&mut self.not_started),
            cancelled: std::mem::take(&mut self.cancelled),
            running: self.running.keys().cloned().collect(),
        }
    }

    /// The key that has been running for the longest time.
    pub(super) fn longest(&self) -> Option<RunningKey> {
        let (key, &(since, attempt)) = self.running.iter().min_by_key(|(_, (since, _))| *since)?;
        Some(RunningKey {
            key: key.clone(),
            elapsed: since.elapsed(),
            attempt,
        })
    }

    #[cfg(feature = "metrics")]
    pub(super) fn metrics(&self, name: &str, queue: QueueMetrics) -> ControllerMetrics {
        ControllerMetrics {
            name: name.to_owned(),
            queue,
            running: self.running.len(),
            waiting: self.waiting.len(),
            failing: self.failing.len(),
            totals: self.totals,
            durations: self.durations.histogram(),
        }
    }

    pub(super) fn status(&self, name: &str, queue: QueueStatus) -> ControllerStatus {
        let now = Instant::now();
        let mut running: Vec<RunningKey> = self
            .running
            .iter()
            .map(|(key, &(since, attempt))| RunningKey {
                key: key.clone(),
                elapsed: now.duration_since(since),
                attempt,
            })
            .collect();
        running.sort_by(|a, b| b.elapsed.cmp(&a.elapsed).then_with(|| a.key.cmp(&b.key)));
        let mut waiting: Vec<WaitingKey> = self
            .waiting
            .iter()
            .map(|(key, &(since, writes))| WaitingKey {
                key: key.clone(),
                elapsed: now.duration_since(since),
                writes,
            })
            .collect();
        waiting.sort_by(|a, b| b.elapsed.cmp(&a.elapsed).then_with(|| a.key.cmp(&b.key)));
        let mut failing: Vec<FailingKey> = self
            .failing
            .iter()
            .map(|(key, failing)| FailingKey {
                key: key.clone(),
                failures: failing.failures,
                elapsed: now.duration_since(failing.since),
                retry_in: failing.retry_in,
                error: failing.error.clone(),
            })
            .collect();
        failing.sort_by(|a, b| b.failures.cmp(&a.failures).then_with(|| a.key.cmp(&b.key)));
        ControllerStatus {
            name: name.to_owned(),
            queue,
            running,
            waiting,
            failing,
            totals: self.totals,
        }
    }
}

/// The error and its causes in one line.
pub(super) fn text_of(error: &ReconcileError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat their cause in their own message.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    Printable::message(&text).to_string()
}
