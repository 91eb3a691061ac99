//! The one place every state change of an informer passes through, and what a user reads there.

mod audit;
mod failing;

use std::collections::BTreeMap;
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
use crate::sync::{LogLimit, Mutex, simulation};

use failing::Failing;
pub(crate) use failing::{Failure, Pending};

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
    /// A watch is open: changes arrive as they happen.
    Live,
    /// A watch was silent past its timeout or missed its bookmarks, without being closed: the connection or
    /// the server is dead.
    ///
    /// The watch was replaced, and an open stream is no data: this state lasts until an event, a bookmark or
    /// a list arrives, or until the server closes a watch in good order, as one does that has nothing to
    /// send. It counts as an error.
    Stalled,
    /// Something failed; the next attempt follows.
    BackingOff {
        /// What failed.
        error: SourceError,
        /// The wait before the next attempt.
        retry_in: Duration,
    },
    /// The server forbids listing or watching this resource. Retried slowly, in case the right is granted.
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

    const fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::BackingOff { retry_in, .. } => Some(*retry_in),
            _ => None,
        }
    }

    /// How far this is from well: what the state of several scopes together is judged by.
    pub(crate) fn severity(&self) -> u8 {
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
            Self::Stalled => f.write_str("stalled: nothing arrives from the server"),
            Self::BackingOff { error, retry_in } if retry_in.is_zero() => {
                write!(f, "trying again now: {error}")
            }
            Self::BackingOff { error, retry_in } => {
                write!(f, "trying again in {}: {error}", Wait(*retry_in))
            }
            Self::Forbidden { error } => write!(f, "forbidden, trying again slowly: {error}"),
            Self::NotFound { error } => write!(
                f,
                "not found: is the CRD installed, and is this version served? trying again slowly: {error}"
            ),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// A wait as people read it: `350ms`, `12.5s`, `10m`.
struct Wait(Duration);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_millis() {
            0 => f.write_str("less than 1ms"),
            millis @ 1..1_000 => write!(f, "{millis}ms"),
            1_000..120_000 => write!(f, "{seconds:.1}s"),
            _ => write!(f, "{:.0}m", seconds / 60.0),
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
    /// Objects, and deletions, of another namespace than the one that was requested: refused, and reported in
    /// the log.
    pub out_of_scope: u64,
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
    /// It does not, for this reason; lists are used instead, and streams tried again after 30 minutes.
    Refused(String),
    /// The informer is configured to use lists.
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
    /// When data last arrived: an object of a list, an event or a bookmark. Opening a watch is no data.
    pub last_contact: Option<Instant>,
    /// The version the next watch would start at.
    pub version: Option<ResourceVersion>,
    /// Whether the server streams its initial state.
    pub watch_list: WatchListVerdict,
    /// The last undecodable object.
    pub last_undecodable: Option<Undecodable>,
    /// How many objects of the last complete list could not be used: they could not be decoded, or their
    /// transform failed. The cache lacks them, or has an older state of them.
    pub unusable: u64,
    /// How often what happened.
    pub counts: Counts,
    /// What audits found; `None` if they are off.
    pub audit: Option<AuditStatus>,
    /// Whether anything has arrived since the last stall.
    contact: Contact,
    /// What is known to be missing from the cache.
    completeness: Completeness,
    /// The version of the last list that was queued.
    listed: Option<ResourceVersion>,
    /// The failed attempts since the last complete list.
    failing: Failing,
}

/// Whether the connection is known to carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    Trusted,
    /// A watch went silent, and nothing has arrived since.
    Suspect,
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
    limits: Mutex<Limits>,
}

/// The limits of the log lines that a server can provoke without end, per informer.
#[derive(Debug, Default)]
struct Limits {
    failed: LogLimit,
    undecodable: LogLimit,
    out_of_scope: LogLimit,
    rewound: LogLimit,
    handler_panicked: LogLimit,
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
                unusable: 0,
                counts: Counts::default(),
                audit: None,
                contact: Contact::Trusted,
                completeness: Completeness::Whole,
                listed: None,
                failing: Failing::default(),
            })
            .collect();
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

    /// The reporting end for one scope.
    pub(crate) fn reporter(self: &Arc<Self>, scope: &Scope) -> Reporter {
        let scopes = self.scopes.lock();
        let place = scopes.iter().position(|status| status.scope == *scope);
        Reporter {
            board: self.clone(),
            scope: scope.clone(),
            place: place.unwrap_or(usize::MAX),
        }
    }

    /// A receiver that is notified of every change.
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

    /// The state of the scope that is worst off.
    pub(crate) fn worst(&self) -> State {
        worst(&self.scopes.lock())
    }

    /// The scopes whose initial state was not read yet, or all if only the commit is missing.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        let scopes = self.scopes.lock();
        let has_unlisted = scopes.iter().any(|scope| scope.listed.is_none());
        scopes
            .iter()
            .filter(|scope| !has_unlisted || scope.listed.is_none())
            .map(|scope| Pending::new(scope.scope.clone(), scope.state.clone(), scope.failing.clone()))
            .collect()
    }

    pub(crate) fn stopped(&self) {
        for scope in self.scopes.lock().iter_mut() {
            scope.set(State::Stopped);
        }
        self.announce();
    }

    /// Events were dropped because the cache already had something newer: so many of each scope.
    pub(crate) fn stale(&self, events: &BTreeMap<Scope, u64>) {
        if events.is_empty() {
            return;
        }
        for scope in self.scopes.lock().iter_mut() {
            scope.counts.stale += events.get(&scope.scope).copied().unwrap_or(0);
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
        if matches!(state, State::Stalled) {
            self.contact = Contact::Suspect;
        }
        if std::mem::discriminant(&self.state) != std::mem::discriminant(&state) {
            self.since = Instant::now();
            simulation::transition("informer", self.state.name(), state.name());
        }
        self.state = state;
    }

    /// Data arrived, or the server showed by other means that it is there.
    fn trust(&mut self) {
        self.contact = Contact::Trusted;
        if let Some(error) = &mut self.last_error {
            error.count = 0;
        }
    }
}

/// Where one reflector, and the committer for its scope, report to.
#[derive(Clone)]
pub(crate) struct Reporter {
    board: Arc<Board>,
    scope: Scope,
    /// The position of the scope on the board, which never changes: events are too many to search for it.
    place: usize,
}

impl Reporter {
    fn update(&self, change: impl FnOnce(&mut ScopeStatus)) {
        let mut scopes = self.board.scopes.lock();
        if let Some(scope) = scopes.get_mut(self.place)
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
            match received {
                0 => scope.failing.attempted(),
                _ => scope.failing.progressed(),
            }
            // An attempt is not yet a success: a refusal or a failure stays visible until something has
            // arrived.
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

    /// A list is complete and queued; so many of its objects could not be used, and of so many not even the
    /// name could be read.
    pub(crate) fn listed(&self, version: &ResourceVersion, unreadable: usize, unusable: usize) {
        self.update(|scope| {
            scope.completeness = match unreadable {
                0 => Completeness::Whole,
                _ => Completeness::Wanting,
            };
            scope.listed = Some(version.clone());
            scope.unusable = (unusable + unreadable) as u64;
            scope.failing.succeeded();
            scope.counts.lists += 1;
            scope.version = Some(version.clone());
            scope.last_contact = Some(Instant::now());
            scope.contact = Contact::Trusted;
        });
    }

    /// A watch is open, from which nothing has arrived yet.
    pub(crate) fn opened(&self) {
        let mut state = State::Live;
        self.update(|scope| {
            scope.counts.watches += 1;
            match scope.contact {
                Contact::Trusted => scope.trust(),
                Contact::Suspect => state = State::Stalled,
            }
        });
        self.update_state(state);
    }

    /// A watch was closed in good order.
    pub(crate) fn closed(&self) {
        self.update(ScopeStatus::trust);
    }

    /// Something arrived through a watch.
    pub(crate) fn event(&self, version: Option<&ResourceVersion>) {
        let mut recovered = false;
        self.update(|scope| {
            scope.counts.events += 1;
            scope.last_contact = Some(Instant::now());
            if scope.contact == Contact::Suspect {
                scope.trust();
                recovered = true;
            }
            // An event that is sent again does not move the version back.
            let older = |held: &ResourceVersion| version.is_some_and(|version| version.is_older_than(held));
            if version.is_some() && !scope.version.as_ref().is_some_and(older) {
                scope.version = version.cloned();
            }
        });
        if recovered {
            self.update_state(State::Live);
        }
    }

    pub(crate) fn watch_list(&self, verdict: WatchListVerdict) {
        let mut news = None;
        self.update(|scope| {
            if scope.watch_list != verdict
                && let WatchListVerdict::Refused(reason) = &verdict
            {
                news = Some(reason.clone());
            }
            scope.watch_list = verdict;
        });
        if let Some(reason) = news {
            tracing::info!(
                resource = %self.board.resource, scope = %self.scope, %reason,
                "the server does not stream its initial state; lists are used for the next 30 minutes"
            );
        }
    }

    /// A request or stream failed; `state` says how things stand until the next try.
    pub(crate) fn failed(&self, error: &SourceError, state: State) {
        let now = Instant::now();
        let mut changed = false;
        self.update(|scope| {
            changed = std::mem::discriminant(&scope.state) != std::mem::discriminant(&state);
            scope.counts.errors += 1;
            scope.failing.failed(error, now);
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
        let due = self.admit(|limits| match changed {
            true => limits.failed.news(now),
            false => limits.failed.repetition(now),
        });
        if let Some(suppressed) = due {
            let (state, retry_in) = (
                state.name(),
                state.retry_in().map(Wait).map(tracing::field::display),
            );
            tracing::warn!(
                resource = %self.board.resource, scope = %self.scope, %error, state, retry_in, suppressed,
                "a list or watch failed"
            );
        }
        self.update_state(state);
        if let Some(on_error) = &self.board.on_error
            && catch_unwind(AssertUnwindSafe(|| on_error(&self.scope, error))).is_err()
            && let Some(suppressed) = self.admit(|limits| limits.handler_panicked.news(now))
        {
            tracing::error!(
                resource = %self.board.resource, suppressed,
                "the watch error handler panicked; it will be called again"
            );
        }
    }

    fn admit(&self, ask: impl FnOnce(&mut Limits) -> Option<u64>) -> Option<u64> {
        ask(&mut self.board.limits.lock())
    }

    pub(crate) fn undecodable(&self, object: &Undecodable) {
        if let Some(suppressed) = self.admit(|limits| limits.undecodable.news(Instant::now())) {
            tracing::warn!(
                resource = %self.board.resource, scope = %self.scope, %object, suppressed,
                "received an object that cannot be used"
            );
        }
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

    /// The server sent something of another scope; it was refused.
    pub(crate) fn out_of_scope(&self, key: &ObjectKey) {
        let mut refused = 0;
        self.update(|scope| {
            scope.counts.out_of_scope += 1;
            refused = scope.counts.out_of_scope;
        });
        // A server that does this once does it with every list.
        if let Some(suppressed) = self.admit(|limits| limits.out_of_scope.news(Instant::now())) {
            tracing::warn!(
                resource = %self.board.resource, scope = %self.scope, %key, refused, suppressed,
                "refused an object outside the requested scope"
            );
        }
        self.board.announce();
    }

    pub(crate) fn resource(&self) -> &str {
        self.board.resource()
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn rewound(&self, from: &ResourceVersion, to: &ResourceVersion) {
        if let Some(suppressed) = self.admit(|limits| limits.rewound.news(Instant::now())) {
            tracing::error!(
                resource = %self.board.resource, scope = %self.scope, %from, %to, suppressed,
                "the server's history went back; the cache follows it"
            );
        }
        self.update(|scope| scope.counts.rewinds += 1);
        self.board.announce();
    }
}
