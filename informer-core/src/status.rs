//! The status of an informer: every change of its state goes through here, and users read it here.

mod audit;
mod audit_outcome;
mod counts;
mod failures;
mod relists;
mod reporter;
mod scope_status;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::{Revision, Scope};
use crate::source::SourceError;
use crate::sync::{LogLimit, Mutex, Stopwatch};

pub(crate) use counts::EventKind;
pub(crate) use failures::{Failure, PendingScope};
pub(crate) use reporter::Reporter;
pub(crate) use scope_status::{Coverage, Position};

pub use audit::{AuditReport, AuditStatus};
pub use audit_outcome::{AuditMismatch, AuditOutcome, AuditSkipped, Differences};
pub use counts::Counts;
pub use relists::{RelistReason, Relists};
pub use scope_status::{LastError, LastList, ScopeStatus, WatchListVerdict};
pub use state::State;

/// A function that is called with every failed list or watch, before the informer waits and retries.
pub type WatchErrorHandler = Arc<dyn Fn(&Scope, &SourceError) + Send + Sync>;

/// The status of one informer. Reflectors, committer and auditors report to it; `status()`, waits and logs
/// read it.
pub(crate) struct StatusBoard {
    resource: String,
    scopes: Mutex<Vec<ScopeStatus>>,
    /// What was counted in scopes that were removed, so that the sums never go back.
    departed: Mutex<Counts>,
    /// The state while there are no scopes.
    without_scopes: Mutex<State>,
    transform_failures: AtomicU64,
    created: Instant,
    /// When the last batch was committed, in milliseconds since `created`. Written once per batch.
    committed: AtomicU64,
    /// The number of committed batches.
    batches: AtomicU64,
    /// Set when the informer ended although nobody stopped it.
    broke: AtomicBool,
    /// How long batches took to be committed and handed to the handlers' buffers.
    #[cfg(feature = "metrics")]
    processing: Mutex<crate::sync::Recorder>,
    changed: watch::Sender<u64>,
    on_error: Option<WatchErrorHandler>,
    limits: Mutex<Limits>,
}

/// Rate limits for the log lines that a faulty server can cause without end, per informer.
#[derive(Debug, Default)]
struct Limits {
    failed: LogLimit,
    undecodable: LogLimit,
    out_of_scope: LogLimit,
    rewound: LogLimit,
    handler_panicked: LogLimit,
}

impl StatusBoard {
    pub(crate) fn new(resource: String, scopes: &[Scope], on_error: Option<WatchErrorHandler>) -> Self {
        let now = Instant::now();
        let scopes = scopes.iter().map(|scope| ScopeStatus::new(scope.clone(), now));
        let scopes = scopes.collect();
        Self {
            resource,
            scopes: Mutex::new(scopes),
            departed: Mutex::default(),
            without_scopes: Mutex::new(State::NotStarted),
            transform_failures: AtomicU64::new(0),
            created: now,
            committed: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            broke: AtomicBool::new(false),
            #[cfg(feature = "metrics")]
            processing: Mutex::new(crate::sync::Recorder::new(crate::sync::CALLS)),
            changed: watch::Sender::new(0),
            on_error,
            limits: Mutex::default(),
        }
    }

    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// Creates the reporter of one scope.
    pub(crate) fn reporter(self: &Arc<Self>, scope: &Scope) -> Reporter {
        let scopes = self.scopes.lock();
        let place = scopes.iter().position(|status| status.scope == *scope);
        Reporter::new(self.clone(), scope.clone(), place.unwrap_or(usize::MAX))
    }

    /// Adds a scope that has no state yet.
    pub(crate) fn add_scope(&self, scope: &Scope, revision: Revision, state: State) {
        let mut status = ScopeStatus::new(scope.clone(), Instant::now());
        status.set(state);
        status.requested = revision;
        self.scopes.lock().push(status);
        self.announce();
    }

    /// Removes a scope, and returns the newest version that its reflector saw. Later reports of it change
    /// nothing.
    pub(crate) fn remove_scope(&self, scope: &Scope) -> Option<ResourceVersion> {
        let mut scopes = self.scopes.lock();
        let place = scopes.iter().position(|status| status.scope == *scope)?;
        let removed = scopes.remove(place);
        let mut departed = self.departed.lock();
        *departed = Counts::sum([&*departed, &removed.counts].into_iter());
        drop((departed, scopes));
        self.announce();
        removed.version
    }

    /// What was counted in scopes that were removed since.
    pub(crate) fn departed(&self) -> Counts {
        *self.departed.lock()
    }

    /// Records that the selectors of every scope were changed.
    pub(crate) fn reselected(&self, revision: Revision) {
        for scope in self.scopes.lock().iter_mut() {
            scope.requested = revision;
        }
    }

    /// Records that a change of a scope was committed.
    pub(crate) fn settle(&self, scope: &Scope, revision: Revision) {
        for status in self.scopes.lock().iter_mut() {
            if status.scope == *scope {
                status.settled = status.settled.max(revision);
            }
        }
    }

    /// Whether every requested change of these scopes was committed.
    pub(crate) fn is_settled(&self, counts: impl Fn(&Scope) -> bool) -> bool {
        let scopes = self.scopes.lock();
        let mut counted = scopes.iter().filter(|status| counts(&status.scope));
        counted.all(|status| status.settled >= status.requested)
    }

    /// Records that the informer was started.
    pub(crate) fn started(&self) {
        *self.without_scopes.lock() = State::Live;
    }

    /// Returns a receiver that is notified of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn scopes(&self) -> Vec<ScopeStatus> {
        self.scopes.lock().clone()
    }

    pub(crate) fn has_scope(&self, scope: &Scope) -> bool {
        self.scopes.lock().iter().any(|status| status.scope == *scope)
    }

    /// Whether an object of this key belongs to one of the scopes.
    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        self.scopes.lock().iter().any(|scope| scope.scope.contains(key))
    }

    pub(crate) fn set_transform_failures(&self, failures: u64) {
        self.transform_failures.store(failures, Ordering::Relaxed);
    }

    pub(crate) fn transform_failures(&self) -> u64 {
        self.transform_failures.load(Ordering::Relaxed)
    }

    /// The number of committed batches.
    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Records that the informer ended although nobody stopped it.
    pub(crate) fn set_broken(&self) {
        self.broke.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broke.load(Ordering::Relaxed)
    }

    /// Records that a batch was committed. Only the committer calls it.
    pub(crate) fn set_committed(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        let millis = self.created.elapsed().as_millis();
        self.committed
            .store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// When the last batch was committed.
    pub(crate) fn committed(&self) -> Instant {
        let since = Duration::from_millis(self.committed.load(Ordering::Relaxed));
        self.created.checked_add(since).unwrap_or(self.created)
    }

    /// Records how long a batch took, with the feature `metrics`.
    pub(crate) fn processed(&self, batch: Stopwatch) {
        #[cfg(feature = "metrics")]
        self.processing.lock().record(|| batch.elapsed());
        let _ = batch;
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn processing(&self) -> crate::sync::Histogram {
        self.processing.lock().histogram()
    }

    /// The state of the least healthy scope.
    pub(crate) fn worst(&self) -> State {
        let worst = worst(&self.scopes.lock());
        worst.unwrap_or_else(|| self.without_scopes.lock().clone())
    }

    /// The scopes whose initial state was not read yet. All scopes if every state was read, and only the
    /// commit is missing.
    pub(crate) fn pending(&self) -> Vec<PendingScope> {
        let scopes = self.scopes.lock();
        let has_unlisted = scopes.iter().any(|scope| scope.listed.is_none());
        scopes
            .iter()
            .filter(|scope| !has_unlisted || scope.listed.is_none())
            .map(|scope| PendingScope::new(scope.scope.clone(), scope.state.clone(), scope.failures.clone()))
            .collect()
    }

    /// Whether everything that was received could be read: a watch from the last version misses nothing.
    pub(crate) fn is_exact(&self) -> bool {
        let scopes = self.scopes.lock();
        scopes.iter().all(|scope| scope.coverage == Coverage::Complete)
    }

    /// Sets every scope to `Stopped`; later reports change nothing.
    pub(crate) fn stopped(&self) {
        for scope in self.scopes.lock().iter_mut() {
            scope.set(State::Stopped);
        }
        *self.without_scopes.lock() = State::Stopped;
        self.announce();
    }

    /// Counts events that were dropped because the cache already had a newer version.
    pub(crate) fn outdated(&self, events: &BTreeMap<Scope, u64>) {
        if events.is_empty() {
            return;
        }
        for scope in self.scopes.lock().iter_mut() {
            scope.counts.outdated += events.get(&scope.scope).copied().unwrap_or(0);
        }
    }

    fn announce(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn worst(scopes: &[ScopeStatus]) -> Option<State> {
    let worst = scopes.iter().max_by_key(|scope| scope.state.severity());
    worst.map(|scope| scope.state.clone())
}
