//! The judge: what it records of each key, and the checks of C1 to C7.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::ObjectKey;
use informer_core::controller::{FailedReconcile, Stopped};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use super::network::LeaseWrite;
use super::objects::{self, parent_name};
use super::plan::{Filter, Host, Notice, PARENTS};
use super::process::{Caches, Phase, Process};
use crate::observer;
use crate::verdict::{observe, report};

/// The duration of leases, the shortest that fits the renew deadline of 10 s and clocks that differ by 10 %.
pub(super) const LEASE: Duration = Duration::from_secs(12);

/// How long a controller is idle before the judge compares what it has seen with its caches.
const QUIET: Duration = Duration::from_secs(1);

/// The default of `Priorities`: every eighth key is one of low priority, if one waits.
const LOW_EVERY: usize = 8;

/// What is known of one key in one process.
#[derive(Default)]
pub(super) struct Record {
    last: Last,
    /// What the caches showed of the key when its last reconcile started.
    seen: String,
    failures: u32,
    /// The writes of the last reconcile.
    writes: Vec<Written>,
    /// When the last reconcile ended.
    ended: Option<Instant>,
}

/// The last reconcile of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Last {
    #[default]
    None,
    Running,
    /// It was dropped before its end, and no failure was reported.
    Dropped,
    Done,
    Requeued,
    Failed,
}

/// A write that was reported by `wrote` or `deleted`.
pub(super) enum Written {
    Object { key: ObjectKey, version: u64 },
    Deletion { key: ObjectKey, uid: String },
}

/// A flood of fresh changes, while other keys wait with low priority.
pub(super) struct Flood {
    waiting: BTreeSet<ObjectKey>,
    starts: usize,
    limit: usize,
}

/// All processes of a run. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Court(Arc<Mutex<Vec<Arc<Process>>>>);

impl Court {
    fn processes(&self) -> MutexGuard<'_, Vec<Arc<Process>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn admit(&self, process: &Arc<Process>) {
        let mut processes = self.processes();
        processes.retain(|process| process.phase() != Phase::Ended);
        processes.push(process.clone());
    }

    /// C6: at most one process leads, and only while no other can have taken the lease.
    pub(super) fn check_leaders(&self) {
        let processes = self.processes();
        let leaders: Vec<_> = processes.iter().filter(|process| process.leads()).collect();
        if leaders.len() > 1 {
            let names: Vec<_> = leaders.iter().map(|process| &process.name).collect();
            report("C6", || format!("{names:?} lead at the same time"));
        }
        for leader in leaders.iter().filter(|leader| !leader.is_lease_safe()) {
            let age = leader.lease_age();
            report("C6", || {
                format!("{} trusts its lease, which was written {age:?} ago", leader.name)
            });
        }
    }

    /// A reconcile starts.
    pub(super) fn started(&self, process: &Process, caches: &Caches, key: &ObjectKey) {
        observe(&format!("{} starts {key}", process.name));
        self.check_may_work(process, key);
        for other in self.processes().iter().filter(|other| other.may_work()) {
            let running = other.state().records.get(key).map(|record| record.last);
            if running == Some(Last::Running) {
                report("C1", || {
                    format!("{} starts {key}, which {} reconciles", process.name, other.name)
                });
            }
        }
        process.check_writes_shown(caches, key);
        process.count_in_flood(key);
        let seen = fingerprint(process, caches, key.name());
        let mut state = process.state();
        let record = state.records.entry(key.clone()).or_default();
        record.last = Last::Running;
        record.seen = seen;
        record.writes.clear();
    }

    /// C6: a reconcile starts or continues only with a valid lease.
    pub(super) fn check_may_work(&self, process: &Process, key: &ObjectKey) {
        if !process.may_work() {
            report("C6", || {
                let age = process.lease_age();
                format!(
                    "{} reconciles {key} without a valid lease; the last was written {age:?} ago",
                    process.name
                )
            });
        }
        self.check_leaders();
    }
}

impl Process {
    /// The server stored a lease of this process: the caches of its controller are in sync before it
    /// campaigns, and no reconcile runs when it releases the lease.
    pub(super) fn check_lease_write(&self, lease: LeaseWrite) {
        let Some(parts) = self.parts() else { return };
        let caches = &parts.caches;
        let by_notice = [
            (&caches.parents, Notice::Event),
            (&caches.children, self.options.children),
            (&caches.settings, self.options.settings),
        ];
        let mut watched = by_notice.iter().filter(|(_, notice)| *notice == Notice::Event);
        if !watched.all(|(cache, _)| cache.has_synced()) {
            report("order", || {
                format!("{} campaigns before its caches are in sync", self.name)
            });
        }
        let state = self.state();
        let mut records = state.records.iter();
        if lease == LeaseWrite::Releases
            && let Some((key, _)) = records.find(|(_, record)| record.last == Last::Running)
        {
            report("order", || {
                format!("{} released its lease while it reconciles {key}", self.name)
            });
        }
    }

    /// C4: the reconciler is called, which is before a reconcile starts if the process is frozen.
    pub(super) fn called(&self, key: &ObjectKey) {
        if self.phase() == Phase::Starting {
            report("order", || {
                format!("{} calls the reconciler for {key} before it runs", self.name)
            });
        }
        if self.phase() == Phase::Stopping {
            report("C4", || {
                format!("{} calls the reconciler for {key} after the stop", self.name)
            });
        }
    }

    pub(super) fn wrote(&self, key: &ObjectKey, written: Written) {
        let mut state = self.state();
        state.records.entry(key.clone()).or_default().writes.push(written);
    }

    /// A reconcile returned or was dropped.
    pub(super) fn ended(&self, key: &ObjectKey, last: Last) {
        observe(&format!("{} ends {key}: {last:?}", self.name));
        let mut state = self.state();
        let record = state.records.entry(key.clone()).or_default();
        record.last = last;
        record.ended = Some(Instant::now());
        if matches!(last, Last::Done | Last::Requeued) {
            record.failures = 0;
        }
    }

    /// C3: the delays double with each failure in a row, up to the longest, less the jitter.
    pub(super) fn failed(&self, failed: &FailedReconcile<'_>) {
        let mut state = self.state();
        let record = state.records.entry(failed.key.clone()).or_default();
        record.last = Last::Failed;
        record.failures += 1;
        let (base, longest) = self.options.backoff;
        let factor = 1_u32.checked_shl(record.failures - 1).unwrap_or(u32::MAX);
        let expected = base.saturating_mul(factor).min(longest);
        // A nanosecond for rounding.
        let shortest = expected.mul_f64(1.0 - self.options.jitter) - Duration::from_nanos(1);
        let is_expected = (shortest..=expected).contains(&failed.retry_in);
        if !is_expected || failed.attempt != record.failures {
            report("C3", || {
                format!(
                    "{}: failure {} of {} in a row counts as {}, and is retried in {:?}, not {expected:?}",
                    self.name, record.failures, failed.key, failed.attempt, failed.retry_in
                )
            });
        }
    }

    /// C5: the caches show the writes of the last reconcile of this key, or the deadline has passed.
    fn check_writes_shown(&self, caches: &Caches, key: &ObjectKey) {
        let state = self.state();
        let Some(record) = state.records.get(key) else {
            return;
        };
        let deadline = self.options.write_deadline;
        let is_overdue = record.ended.is_some_and(|ended| ended.elapsed() >= deadline);
        let hidden = record.writes.iter().find(|written| !written.is_shown(caches));
        let Some(hidden) = hidden else { return };
        // A lagging server answers reads of the newest state with an older one. The informer then reports a
        // rewind, as after an etcd restore, and what the cache had shown no longer exists for it.
        let was_rewound = |scope: &informer_core::ScopeStatus| scope.counts.rewinds > 0;
        if caches.children.status().scopes.iter().any(was_rewound) {
            return;
        }
        let unconfirmed = state
            .parts
            .as_ref()
            .map(|parts| parts.controller.status().totals.unconfirmed_writes);
        if !is_overdue || unconfirmed == Some(0) {
            let since = record.ended.map(|ended| ended.elapsed());
            let hidden = hidden.describe();
            report("C5", || {
                format!(
                    "{} reconciles {key} {since:?} after its last reconcile, and the cache does not show \
                     {hidden}; reported as unconfirmed: {unconfirmed:?}",
                    self.name
                )
            });
        }
    }

    /// From now on the keys in the cache must be reconciled after a bounded number of others.
    pub(super) fn begin_flood(&self) -> bool {
        let Some(parts) = self.parts() else { return false };
        let status = parts.controller.status();
        let busy: BTreeSet<_> = status.running.iter().map(|running| &running.key).collect();
        let waits: BTreeSet<_> = status.waiting.iter().map(|waiting| &waiting.key).collect();
        let keys = parts.caches.parents.indexer().keys().into_iter();
        let waiting: BTreeSet<_> = keys
            .filter(|key| !busy.contains(key) && !waits.contains(key))
            .collect();
        let limit = LOW_EVERY * (PARENTS + 1) + self.options.workers;
        self.state().flood = Some(Flood {
            waiting,
            starts: 0,
            limit,
        });
        parts.controller.reconcile_all();
        true
    }

    /// Whether keys still wait. Ends the flood.
    pub(super) fn is_flooded(&self) -> bool {
        let state = self.state();
        state
            .flood
            .as_ref()
            .is_some_and(|flood| !flood.waiting.is_empty())
    }

    pub(super) fn end_flood(&self) {
        self.state().flood = None;
    }

    /// C7: keys of low priority are not overtaken for ever.
    fn count_in_flood(&self, key: &ObjectKey) {
        let mut state = self.state();
        let Some(flood) = &mut state.flood else { return };
        flood.waiting.remove(key);
        flood.starts += 1;
        if flood.starts > flood.limit
            && let Some(key) = flood.waiting.first()
        {
            report("C7", || {
                format!(
                    "{}: {key} waits, and {} others were started",
                    self.name, flood.starts
                )
            });
        }
    }

    /// C4: what was not finished is reported.
    pub(super) fn stopped(&self, stopped: &Stopped) {
        observe(&format!("{} stopped", self.name));
        let state = self.state();
        let lost = state.records.iter().find(|(key, record)| match record.last {
            Last::None | Last::Done => false,
            Last::Running => true,
            Last::Dropped => !stopped.cancelled.contains(key),
            // One that is called while the process is frozen is cancelled before it does anything.
            Last::Requeued | Last::Failed => !stopped.left.contains(key) && !stopped.cancelled.contains(key),
        });
        if let Some((key, record)) = lost {
            let last = record.last;
            report("C4", || {
                format!(
                    "{} stopped: {key} is {last:?}, and is not in {stopped:?}",
                    self.name
                )
            });
        }
        if !stopped.running.is_empty() {
            report("C4", || {
                format!("{} stopped with running keys: {stopped:?}", self.name)
            });
        }
    }

    /// C2 and the bound of C5, between steps.
    pub(super) fn check(&self) {
        let Some(parts) = self.parts() else { return };
        if self.phase() != Phase::Running || !self.may_work() {
            return;
        }
        let status = parts.controller.status();
        let limit = self.options.write_deadline + QUIET;
        if let Some(waiting) = status.waiting.iter().find(|waiting| waiting.elapsed > limit) {
            report("C5", || {
                format!("{}: {} waits for {:?}", self.name, waiting.key, waiting.elapsed)
            });
        }
        let caches = parts.caches.all();
        let is_delivered = |cache: &&informer_core::SharedInformer<ConfigMap>| {
            cache.status().handlers.iter().all(|handler| handler.depth == 0)
        };
        let queue = &status.queue;
        let is_idle = queue.ready + queue.delayed + queue.processing == 0 && caches.iter().all(is_delivered);
        if !is_idle {
            self.state().idle = None;
            return;
        }
        let shown: Vec<String> = (0..PARENTS)
            .map(|parent| fingerprint(self, &parts.caches, &parent_name(parent)))
            .collect();
        let mut state = self.state();
        let since = match state.idle.take() {
            Some((since, before)) if before == shown => since,
            _ => Instant::now(),
        };
        // A manager notices within a second that its leadership was lost, and reconciles nothing meanwhile.
        let quiet = match self.host {
            Host::Replica => QUIET,
            Host::Manager => QUIET * 3,
        };
        if since.elapsed() >= quiet {
            for (parent, shown) in shown.iter().enumerate() {
                let key = objects::key(&parent_name(parent));
                let seen = state.records.get(&key).map_or("", |record| record.seen.as_str());
                if seen != shown {
                    report("C2", || {
                        format!(
                            "{} is idle; the caches show {shown:?} of {key}, and its last reconcile \
                             started with {seen:?}",
                            self.name
                        )
                    });
                }
            }
        }
        state.idle = Some((since, shown));
    }
}

impl Written {
    fn is_shown(&self, caches: &Caches) -> bool {
        let children = caches.children.indexer();
        match self {
            Self::Object { key, version } => match children.get(key) {
                Some(cached) => objects::version(&cached) >= *version,
                // It was deleted later, unless the cache is older.
                None => {
                    let versions = caches.children.status().versions;
                    observer::number(versions.of_key(key).map(ToString::to_string)) >= *version
                }
            },
            Self::Deletion { key, uid } => children
                .get(key)
                .is_none_or(|cached| objects::uid(&cached) != uid),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Object { key, version } => format!("{key} at version {version}"),
            Self::Deletion { key, .. } => format!("the deletion of {key}"),
        }
    }
}

/// What the caches show of a parent and of everything else that leads to its reconcile.
fn fingerprint(process: &Process, caches: &Caches, parent: &str) -> String {
    let mut shown = String::new();
    let cached = caches.parents.indexer().get(&objects::key(parent));
    let mut add = |object: &ConfigMap| {
        let name = objects::name(object);
        let state = match process.options.filter {
            Filter::None => objects::version(object).to_string(),
            Filter::Data => format!("{} {:?}", objects::uid(object), object.data),
        };
        shown.push_str(&format!("{name}@{state} "));
    };
    if let Some(parent) = &cached {
        add(parent);
        if process.options.children == Notice::Event {
            let children = caches.children.indexer().list();
            let owned = children
                .iter()
                .filter(|child| objects::owner(child) == objects::uid(parent));
            owned.for_each(|child| add(child));
        }
    }
    if process.options.settings == Notice::Event {
        for setting in caches.settings.indexer().list().iter() {
            if objects::parents_of(setting).iter().any(|name| name == parent) {
                add(setting);
            }
        }
    }
    shown
}
