//! The one place every state change of an informer passes through, and what a user reads there.

mod audit;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{SourceError, Undecodable};
use crate::sync::{Mutex, simulation};

pub use audit::{AuditMismatch, AuditOutcome, AuditReport, AuditSkipped, AuditStatus, Differences};

/// What an informer is doing in one scope. Whether its cache has ever been complete is a different question:
/// `has_synced`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum State {
    /// It was not started.
    NotStarted,
    /// It is reading the whole state.
    Listing {
        /// How many objects have arrived.
        received: u64,
        /// How many there will be, if the server said so.
        expected: Option<u64>,
    },
    /// It hears of changes as they happen.
    Live,
    /// The server stopped talking without closing the connection; a new one is being made.
    Stalled,
    /// Something failed; it will try again.
    BackingOff {
        /// What failed.
        error: SourceError,
        /// How long it waits before the next try.
        retry_in: Duration,
    },
    /// The server does not let us list or watch this resource. Retried slowly, in case the right is granted.
    Forbidden {
        /// The server's answer.
        error: SourceError,
    },
    /// The server does not have this resource. Retried slowly, in case it is installed.
    NotFound {
        /// The server's answer.
        error: SourceError,
    },
    /// It has stopped for good.
    Stopped,
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::NotStarted => "NotStarted",
            Self::Listing { .. } => "Listing",
            Self::Live => "Live",
            Self::Stalled => "Stalled",
            Self::BackingOff { .. } => "BackingOff",
            Self::Forbidden { .. } => "Forbidden",
            Self::NotFound { .. } => "NotFound",
            Self::Stopped => "Stopped",
        }
    }

    /// How far this is from well: what the state of several scopes together is judged by.
    fn severity(&self) -> u8 {
        match self {
            Self::Live => 0,
            Self::Listing { .. } => 1,
            Self::Stalled => 2,
            Self::BackingOff { .. } => 3,
            Self::NotFound { .. } => 4,
            Self::Forbidden { .. } => 5,
            Self::NotStarted => 6,
            Self::Stopped => 7,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("not started"),
            Self::Listing {
                received,
                expected: Some(expected),
            } => write!(f, "listing, {received} of {expected}"),
            Self::Listing {
                received,
                expected: None,
            } => write!(f, "listing, {received} so far"),
            Self::Live => f.write_str("live"),
            Self::Stalled => f.write_str("stalled: the server stopped talking, reconnecting"),
            Self::BackingOff { error, retry_in } => write!(f, "trying again in {retry_in:.1?}: {error}"),
            Self::Forbidden { error } => write!(f, "forbidden, trying again slowly: {error}"),
            Self::NotFound { error } => write!(f, "not found, trying again slowly: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// An error and when it happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// The error.
    pub error: SourceError,
    /// When it happened last.
    pub at: Instant,
    /// Since when there has been nothing but errors.
    pub since: Instant,
    /// How many there were since then.
    pub count: u64,
}

/// How often something happened since the informer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Complete lists, by LIST or by watch-list.
    pub lists: u64,
    /// Watches opened.
    pub watches: u64,
    /// Events received in watches, bookmarks included.
    pub events: u64,
    /// Requests and streams that failed.
    pub errors: u64,
    /// Objects that could not be decoded.
    pub undecodable: u64,
    /// Of these, the ones whose key could not be read either.
    pub unreadable: u64,
    /// Times the server's history went back (an etcd restore).
    pub rewinds: u64,
    /// Events dropped because the cache already had something newer.
    pub stale: u64,
}

/// Whether the server streams its initial state through a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchListVerdict {
    /// Not tried, or tried without a clear answer.
    #[default]
    Unknown,
    /// It does.
    Works,
    /// It does not, for this reason; lists are used instead.
    Refused(String),
    /// The informer was told to use lists.
    Off,
}

/// One scope of an informer, as `status()` shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScopeStatus {
    /// The scope.
    pub scope: Scope,
    /// What the informer is doing there.
    pub state: State,
    /// Since when.
    pub since: Instant,
    /// The last error, even if things are well again.
    pub last_error: Option<LastError>,
    /// When the server was last heard from.
    pub last_contact: Option<Instant>,
    /// The version the next watch would start at.
    pub version: Option<ResourceVersion>,
    /// Whether the server streams its initial state.
    pub watch_list: WatchListVerdict,
    /// The last undecodable object.
    pub last_undecodable: Option<Undecodable>,
    /// How often what happened.
    pub counts: Counts,
    /// What audits found; `None` if they are off.
    pub audit: Option<AuditStatus>,
    /// What is known to be wanting in the cache.
    completeness: Completeness,
    /// The version of the last list that was queued.
    listed: Option<ResourceVersion>,
    /// Since when the server has refused us, in whichever words.
    refused_since: Option<Instant>,
}

/// Whether the cache can be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completeness {
    Whole,
    /// An object came whose name cannot be read, and no list since was without one.
    Wanting,
}

/// Called with every failed list or watch, before the informer waits and tries again.
pub type WatchErrorHandler = Arc<dyn Fn(&Scope, &SourceError) + Send + Sync>;

/// Collects what the parts of an informer report.
pub(crate) struct Board {
    resource: String,
    scopes: Mutex<Vec<ScopeStatus>>,
    transform_failures: AtomicU64,
    changed: watch::Sender<u64>,
    on_error: Option<WatchErrorHandler>,
}

impl Board {
    pub(crate) fn new(resource: String, scopes: &[Scope], on_error: Option<WatchErrorHandler>) -> Self {
        let now = Instant::now();
        let scopes = scopes
            .iter()
            .map(|scope| ScopeStatus {
                scope: scope.clone(),
                state: State::NotStarted,
                since: now,
                last_error: None,
                last_contact: None,
                version: None,
                watch_list: WatchListVerdict::Unknown,
                last_undecodable: None,
                counts: Counts::default(),
                audit: None,
                completeness: Completeness::Whole,
                listed: None,
                refused_since: None,
            })
            .collect();
        Self {
            resource,
            scopes: Mutex::new(scopes),
            transform_failures: AtomicU64::new(0),
            changed: watch::Sender::new(0),
            on_error,
        }
    }

    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// The reporting end for one scope.
    pub(crate) fn reporter(self: &Arc<Self>, scope: &Scope) -> Reporter {
        Reporter {
            board: self.clone(),
            scope: scope.clone(),
        }
    }

    /// A receiver that is notified of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn scopes(&self) -> Vec<ScopeStatus> {
        self.scopes.lock().clone()
    }

    pub(crate) fn set_transform_failures(&self, failures: u64) {
        self.transform_failures.store(failures, Ordering::Relaxed);
    }

    pub(crate) fn transform_failures(&self) -> u64 {
        self.transform_failures.load(Ordering::Relaxed)
    }

    /// The state of the scope that is worst off.
    pub(crate) fn worst(&self) -> State {
        worst(&self.scopes.lock())
    }

    /// The state of the scope that is worst off, and since when the server has refused a scope.
    pub(crate) fn worst_and_refused(&self) -> (State, Option<Instant>) {
        let scopes = self.scopes.lock();
        (
            worst(&scopes),
            scopes.iter().filter_map(|scope| scope.refused_since).min(),
        )
    }

    pub(crate) fn stopped(&self) {
        for scope in self.scopes.lock().iter_mut() {
            scope.set(State::Stopped);
        }
        self.announce();
    }

    /// Events were dropped because the cache already had something newer.
    pub(crate) fn stale(&self, key: &ObjectKey, events: u64) {
        let mut scopes = self.scopes.lock();
        if let Some(scope) = scopes.iter_mut().find(|scope| scope.scope.contains(key)) {
            scope.counts.stale += events;
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

impl ScopeStatus {
    fn set(&mut self, state: State) {
        self.refused_since = match state {
            State::Forbidden { .. } | State::NotFound { .. } => {
                self.refused_since.or_else(|| Some(Instant::now()))
            }
            _ => None,
        };
        if std::mem::discriminant(&self.state) != std::mem::discriminant(&state) {
            self.since = Instant::now();
            simulation::transition("informer", self.state.name(), state.name());
        }
        self.state = state;
    }
}

/// Where one reflector, and the controller for its scope, report to.
#[derive(Clone)]
pub(crate) struct Reporter {
    board: Arc<Board>,
    scope: Scope,
}

impl Reporter {
    fn update(&self, change: impl FnOnce(&mut ScopeStatus)) {
        let mut scopes = self.board.scopes.lock();
        if let Some(scope) = scopes.iter_mut().find(|scope| scope.scope == self.scope)
            && !matches!(scope.state, State::Stopped)
        {
            change(scope);
        }
    }

    fn update_state(&self, state: State) {
        // Logged before the lock is taken: a subscriber may want to read the status itself.
        tracing::debug!(resource = %self.board.resource, scope = %self.scope, %state, "changed state");
        self.update(|scope| scope.set(state));
        self.board.announce();
    }

    /// A list has begun, or so many of its objects have arrived.
    pub(crate) fn listing(&self, received: u64, expected: Option<u64>) {
        self.update(|scope| {
            // A try is not yet a success: a refusal or a failure stays visible until something has come.
            let troubled = !matches!(
                scope.state,
                State::NotStarted | State::Listing { .. } | State::Live
            );
            if received == 0 && troubled {
                return;
            }
            scope.set(State::Listing { received, expected });
            if received > 0 {
                scope.last_contact = Some(Instant::now());
            }
        });
        self.board.announce();
    }

    /// A list is complete and queued; of so many of its objects not even the name could be read.
    pub(crate) fn listed(&self, version: &ResourceVersion, unreadable: usize) {
        self.update(|scope| {
            scope.completeness = match unreadable {
                0 => Completeness::Whole,
                _ => Completeness::Wanting,
            };
            scope.listed = Some(version.clone());
            scope.counts.lists += 1;
            scope.version = Some(version.clone());
            scope.last_contact = Some(Instant::now());
        });
    }

    /// A watch is open.
    pub(crate) fn live(&self) {
        self.update(|scope| {
            scope.counts.watches += 1;
            scope.last_contact = Some(Instant::now());
            if let Some(error) = &mut scope.last_error {
                error.count = 0;
            }
        });
        self.update_state(State::Live);
    }

    /// Something came through a watch.
    pub(crate) fn event(&self, version: Option<&ResourceVersion>) {
        self.update(|scope| {
            scope.counts.events += 1;
            scope.last_contact = Some(Instant::now());
            // An event that is sent again does not move the version back.
            let older = |held: &ResourceVersion| version.is_some_and(|version| version.is_older_than(held));
            if version.is_some() && !scope.version.as_ref().is_some_and(older) {
                scope.version = version.cloned();
            }
        });
    }

    pub(crate) fn stalled(&self) {
        tracing::warn!(resource = %self.board.resource, scope = %self.scope, "a watch went silent past its deadline; reconnecting");
        self.update_state(State::Stalled);
    }

    pub(crate) fn watch_list(&self, verdict: WatchListVerdict) {
        if let WatchListVerdict::Refused(reason) = &verdict {
            tracing::info!(resource = %self.board.resource, scope = %self.scope, %reason, "the server does not stream its initial state; lists are used from now on");
        }
        self.update(|scope| scope.watch_list = verdict);
    }

    /// A request or stream failed; `state` says how things stand until the next try.
    pub(crate) fn failed(&self, error: &SourceError, state: State) {
        tracing::warn!(resource = %self.board.resource, scope = %self.scope, %error, %state, "a list or watch failed");
        let now = Instant::now();
        self.update(|scope| {
            scope.counts.errors += 1;
            let (since, count) = match &scope.last_error {
                Some(last) if last.count > 0 => (last.since, last.count + 1),
                _ => (now, 1),
            };
            scope.last_error = Some(LastError {
                error: error.clone(),
                at: now,
                since,
                count,
            });
        });
        self.update_state(state);
        if let Some(on_error) = &self.board.on_error
            && catch_unwind(AssertUnwindSafe(|| on_error(&self.scope, error))).is_err()
        {
            tracing::error!(resource = %self.board.resource, "the watch error handler panicked; it will be called again");
        }
    }

    pub(crate) fn undecodable(&self, object: &Undecodable) {
        tracing::warn!(resource = %self.board.resource, scope = %self.scope, %object, "received an object that cannot be used");
        self.update(|scope| {
            scope.counts.undecodable += 1;
            if object.key.is_none() {
                scope.counts.unreadable += 1;
                scope.completeness = Completeness::Wanting;
            }
            scope.last_undecodable = Some(object.clone());
        });
        self.board.announce();
    }

    pub(crate) fn resource(&self) -> &str {
        self.board.resource()
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn rewound(&self, from: &ResourceVersion, to: &ResourceVersion) {
        tracing::error!(resource = %self.board.resource, scope = %self.scope, %from, %to, "the server's history went back; the cache follows it");
        self.update(|scope| scope.counts.rewinds += 1);
        self.board.announce();
    }
}
