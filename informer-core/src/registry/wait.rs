//! Waiting for many informers to be in sync, and giving up with reasons.

use std::fmt;
use std::time::Duration;

use futures::future::select_all;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Closing, Entry, Life, Shared};
use crate::informer::{
    CacheHope, DynInformer, HandlerHope, PendingScopes, StartError, StatusWatch, SyncState,
};
use crate::scope::Scope;
use crate::status::{Failure, PendingScope};

/// How long a wait for sync may take.
///
/// A limit counts from the call, and from the first of the failures without a success in between. It ends the
/// wait for an informer only after an attempt that was begun after the call has failed too, so a wait that is
/// called again waits again. Other informers are still waited for: the wait ends when nothing else is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitLimits {
    /// How long an informer may fail in a way that no waiting heals
    /// ([`Recovery::NeedsAction`](crate::source::Recovery::NeedsAction)): no rights (403), no such resource
    /// (404), bad credentials (401), a bad request (400, 422), a certificate that is not trusted, an object
    /// over the size limit. Default 10 s.
    pub refused: Duration,
    /// How long the server may be unreachable for an informer
    /// ([`Recovery::Unreachable`](crate::source::Recovery::Unreachable)): connections fail, answers are late
    /// or 5xx. Default 60 s.
    pub unreachable: Duration,
    /// How long the wait may take in all. Default: no limit.
    pub total: Option<Duration>,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self {
            refused: Duration::from_secs(10),
            unreachable: Duration::from_secs(60),
            total: None,
        }
    }
}

impl WaitLimits {
    /// A limit for the whole wait only: failures do not end it earlier.
    pub fn within(time: Duration) -> Self {
        Self {
            refused: Duration::MAX,
            unreachable: Duration::MAX,
            total: Some(time),
        }
    }

    /// Sets how long an informer may fail in a way that no waiting heals.
    #[must_use]
    pub fn refused(mut self, time: Duration) -> Self {
        self.refused = time;
        self
    }

    /// Sets how long the server may be unreachable.
    #[must_use]
    pub fn unreachable(mut self, time: Duration) -> Self {
        self.unreachable = time;
        self
    }

    /// Sets how long the wait may take in all.
    #[must_use]
    pub fn total(mut self, time: Duration) -> Self {
        self.total = Some(time);
        self
    }

    /// When a wait that began at `call` gives up on a scope that fails like this; `None` for never.
    fn end(&self, failure: Failure, call: Instant) -> Option<Instant> {
        let end = |since: Option<Instant>, limit: Duration| since?.max(call).checked_add(limit);
        // Failures that change their kind all the time count as well: they have lasted since the first of
        // them.
        let (refused, failing) = match failure.needs_action_since {
            Some(since) => (end(Some(since), self.refused), self.unreachable.max(self.refused)),
            None => (None, self.unreachable),
        };
        let failing = end(failure.unreachable_since, failing);
        refused.into_iter().chain(failing).min()
    }
}

/// Informers that are not in sync, each with the reason.
#[derive(Clone)]
#[non_exhaustive]
pub struct SyncError {
    /// The informers that are not in sync.
    pub unsynced: Vec<Unsynced>,
    /// How many informers were waited for.
    pub informers: usize,
}

crate::__debug_is_the_message!(SyncError);

impl std::error::Error for SyncError {}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unsynced, informers } = self;
        write!(f, "{} of {informers} informers not in sync", unsynced.len())?;
        for (position, unsynced) in unsynced.iter().enumerate() {
            f.write_str(if position == 0 { ": " } else { "; " })?;
            write!(f, "{unsynced}")?;
        }
        Ok(())
    }
}

/// An informer that is not in sync.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unsynced {
    /// The resource: `pods`, `deployments.apps`; with its type if it is a projection: `pods (PodOnNode)`.
    pub resource: String,
    /// What is missing.
    pub waiting_for: WaitingFor,
}

impl fmt::Display for Unsynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.resource, self.waiting_for)
    }
}

/// What an informer lacks to be in sync.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WaitingFor {
    /// To be started, which failed.
    Start(StartError),
    /// The whole initial state in its cache; these scopes are missing.
    Cache(PendingScopes),
    /// These handlers, which have not returned from the initial state.
    Handlers(Vec<String>),
}

impl fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "not started: {error}"),
            Self::Cache(pending) => write!(f, "{pending}"),
            Self::Handlers(names) => write!(
                f,
                "the cache is complete, but these handlers have not returned from all of it: {}",
                names.join(", ")
            ),
        }
    }
}

/// One informer that is waited for.
pub(super) struct Awaited {
    pub(super) informer: DynInformer,
    /// Both remember which changes they reported, so a change between a look and a wait is not lost.
    state: StatusWatch,
    sync: watch::Receiver<u64>,
    life: Life,
    /// How many lists each scope had begun before the wait.
    attempts: Vec<(Scope, u64)>,
}

impl Awaited {
    fn new(entry: &Entry) -> Self {
        let informer = entry.informer.clone();
        let attempts = match informer.sync_state() {
            SyncState::Cache { scopes, .. } => scopes
                .into_iter()
                .map(|pending| (pending.scope.clone(), pending.attempts()))
                .collect(),
            SyncState::Synced | SyncState::Handlers { .. } => Vec::new(),
        };
        Self {
            state: informer.status_changes(),
            sync: informer.sync_changes(),
            informer,
            life: entry.life,
            attempts,
        }
    }

    /// What is missing now, and whether it can still come; `None` if nothing is missing.
    pub(super) fn look(&self) -> Option<(WaitingFor, Hope)> {
        if let Life::Failed(error) = self.life {
            return Some((WaitingFor::Start(error), Hope::Lost));
        }
        Some(match self.informer.sync_state() {
            SyncState::Synced => return None,
            SyncState::Handlers { names, hope } => {
                let hope = match hope {
                    HandlerHope::Open => Hope::Open,
                    HandlerHope::Lost => Hope::Lost,
                };
                (WaitingFor::Handlers(names), hope)
            }
            SyncState::Cache { hope, scopes } => {
                let hope = match hope {
                    _ if matches!(self.life, Life::Created) => Hope::Lost,
                    CacheHope::Lost => Hope::Lost,
                    CacheHope::Open => self.hope(&scopes),
                };
                (WaitingFor::Cache(PendingScopes::new(scopes)), hope)
            }
        })
    }

    /// How the scopes fail, counting only attempts that were begun after the wait.
    fn hope(&self, scopes: &[PendingScope]) -> Hope {
        let before = |scope: &Scope| {
            let known = self.attempts.iter().find(|(known, _)| known == scope);
            known.map_or(0, |(_, attempts)| *attempts)
        };
        let failures: Vec<Failure> = scopes
            .iter()
            .filter_map(|pending| pending.failure_after(before(&pending.scope)))
            .collect();
        match failures.is_empty() {
            true => Hope::Open,
            false => Hope::Failing(failures),
        }
    }

    /// Waits until there may be news since the last wait.
    async fn changed(&mut self) {
        tokio::select! {
            true = self.state.changed() => {}
            Ok(()) = self.sync.changed() => {}
            else => std::future::pending().await,
        }
    }
}

/// Whether an informer that is not in sync may come to it.
pub(super) enum Hope {
    /// It may.
    Open,
    /// These scopes fail; the informer cannot be in sync without any of them.
    Failing(Vec<Failure>),
    /// It has stopped, or was never started.
    Lost,
}

impl Hope {
    /// When a wait that began at `call` gives up; `None` for never.
    fn end(&self, limits: &WaitLimits, call: Instant) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::Failing(failures) => failures
                .iter()
                .filter_map(|failure| limits.end(*failure, call))
                .min(),
            Self::Lost => Some(call),
        }
    }
}

/// The informers that run, or should.
pub(super) fn started(shared: &Shared) -> Vec<Awaited> {
    let contents = shared.contents.lock();
    contents
        .asked_for()
        .filter(|entry| entry.was_started())
        .map(Awaited::new)
        .collect()
}

/// The informers a wait is for: those that were started. Where nothing was, or all is over, it is every one that was asked for: a
/// wait that succeeded there would be a lie.
fn awaited(shared: &Shared) -> Vec<Awaited> {
    let mut contents = shared.contents.lock();
    let is_open = contents.closing == Closing::Open;
    let only_started = is_open && contents.entries.iter().any(Entry::was_started);
    let awaited = contents
        .asked_for()
        .filter(|entry| !only_started || entry.was_started())
        .map(Awaited::new)
        .collect();
    let unstarted = match only_started {
        true => contents.report_unstarted(),
        false => Vec::new(),
    };
    // Logged without the lock: a subscriber may want to read the status itself.
    drop(contents);
    for resource in unstarted {
        tracing::warn!(
            resource,
            "an informer that was created after `start` is not started and not waited for: call `start` again"
        );
    }
    awaited
}

pub(super) async fn run(shared: &Shared, limits: WaitLimits) -> Result<(), SyncError> {
    let mut pending = awaited(shared);
    let informers = pending.len();
    let call = Instant::now();
    let deadline = limits.total.and_then(|total| call.checked_add(total));
    loop {
        let now = Instant::now();
        let mut unsynced = Vec::new();
        // The moment at which every one of them is given up; `None` while one may still come.
        let mut give_up = Some(call);
        pending.retain(|awaited| {
            let Some((waiting_for, hope)) = awaited.look() else {
                return false;
            };
            give_up = give_up
                .zip(hope.end(&limits, call))
                .map(|(one, other)| one.max(other));
            unsynced.push(Unsynced {
                resource: awaited.informer.resource().to_owned(),
                waiting_for,
            });
            true
        });
        if pending.is_empty() {
            return Ok(());
        }
        let end = [give_up, deadline].into_iter().flatten().min();
        if end.is_some_and(|end| end <= now) {
            return Err(SyncError { unsynced, informers });
        }
        tokio::select! {
            () = any_news(&mut pending) => {}
            () = until(end) => {}
        }
    }
}

/// Waits until one of these may have news since the last wait.
pub(super) async fn any_news(awaited: &mut [Awaited]) {
    if awaited.is_empty() {
        return std::future::pending().await;
    }
    select_all(awaited.iter_mut().map(|awaited| Box::pin(awaited.changed()))).await;
}

async fn until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
