//! The status of an informer: every change of its state goes through here, and users read it here.

mod audit;
mod audit_outcome;
mod failures;
mod reporter;
mod scope_status;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::key::ObjectKey;
use crate::scope::Scope;
use crate::source::SourceError;
use crate::sync::{LogLimit, Mutex};

pub(crate) use failures::{Failure, PendingScope};
pub(crate) use reporter::Reporter;
pub(crate) use scope_status::{Coverage, Position};

pub use audit::{AuditReport, AuditStatus};
pub use audit_outcome::{AuditMismatch, AuditOutcome, AuditSkipped, Differences};
pub use scope_status::{Counts, LastError, ScopeStatus, WatchListVerdict};
pub use state::State;

/// A function that is called with every failed list or watch, before the informer waits and retries.
pub type WatchErrorHandler = Arc<dyn Fn(&Scope, &SourceError) + Send + Sync>;

/// The status of one informer. Reflectors, committer and auditors report to it; `status()`, waits and logs
/// read it.
pub(crate) struct StatusBoard {
    resource: String,
    scopes: Mutex<Vec<ScopeStatus>>,
    transform_failures: AtomicU64,
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
            transform_failures: AtomicU64::new(0),
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

    /// Returns a receiver that is notified of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn scopes(&self) -> Vec<ScopeStatus> {
        self.scopes.lock().clone()
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

    /// The state of the least healthy scope.
    pub(crate) fn worst(&self) -> State {
        worst(&self.scopes.lock())
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

    /// Sets every scope to `Stopped`; later reports change nothing.
    pub(crate) fn stopped(&self) {
        for scope in self.scopes.lock().iter_mut() {
            scope.set(State::Stopped);
        }
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

fn worst(scopes: &[ScopeStatus]) -> State {
    scopes
        .iter()
        .max_by_key(|scope| scope.state.severity())
        .map_or(State::NotStarted, |scope| scope.state.clone())
}
