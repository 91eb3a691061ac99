//! Waits until many informers are in sync, or returns why they are not.

use std::fmt;
use std::time::Duration;

use futures::future::select_all;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Closing, Registered, RegistryInner, Stage};
use crate::informer::{DynInformer, PendingScopes, StartError, StatusWatch, SyncOutlook, SyncState};
use crate::scope::Scope;
use crate::status::{Failure, PendingScope};

/// The limits of a wait for sync.
///
/// A limit counts from the call, or from the first of a series of failures if that is later. It ends the wait
/// for an informer only after an attempt that began after the call has failed too, so a repeated call waits
/// again. The wait for the other informers continues: it returns when nothing else is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitLimits {
    /// How long an informer may fail with errors that retries cannot fix
    /// ([`Recovery::NeedsAction`](crate::source::Recovery::NeedsAction)): no access (403), no such resource
    /// (404), bad credentials (401), a bad request (400, 422), an untrusted certificate, an object over the
    /// size limit. Default 10 s.
    pub refused: Duration,
    /// How long the server may be unreachable for an informer
    /// ([`Recovery::Unreachable`](crate::source::Recovery::Unreachable)): connections fail, answers are late
    /// or 5xx. Default 60 s.
    pub unreachable: Duration,
    /// How long the whole wait may take. Default: no limit.
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
    /// Limits the whole wait only: failures do not end it earlier.
    pub fn within(time: Duration) -> Self {
        Self {
            refused: Duration::MAX,
            unreachable: Duration::MAX,
            total: Some(time),
        }
    }

    /// Sets how long an informer may fail with errors that retries cannot fix.
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

    /// Sets how long the whole wait may take.
    #[must_use]
    pub fn total(mut self, time: Duration) -> Self {
        self.total = Some(time);
        self
    }

    /// When a wait that began at `call` gives up on a scope that fails like this; `None` for never.
    fn end(&self, failure: Failure, call: Instant) -> Option<Instant> {
        let end = |since: Option<Instant>, limit: Duration| since?.max(call).checked_add(limit);
        // Failures that keep changing their kind count as well, from the first of them.
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
    /// The start, which failed.
    Start(StartError),
    /// The whole initial state in the cache; these scopes are missing.
    Cache(PendingScopes),
    /// These handlers, which have not processed the whole initial state.
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

/// An informer that is waited for.
pub(super) struct Awaited {
    pub(super) informer: DynInformer,
    /// Both receivers remember what they reported, so a change between a look and a wait is not lost.
    state: StatusWatch,
    sync: watch::Receiver<u64>,
    stage: Stage,
    /// How many lists each scope had begun before the wait.
    attempts: Vec<(Scope, u64)>,
}

impl Awaited {
    pub(super) fn new(entry: &Registered) -> Self {
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
            stage: entry.stage,
            attempts,
        }
    }

    /// What is missing now, and whether it can still arrive; `None` if nothing is missing.
    pub(super) fn look(&self) -> Option<(WaitingFor, Outlook)> {
        if let Stage::Failed(error) = self.stage {
            return Some((WaitingFor::Start(error), Outlook::Impossible));
        }
        Some(match self.informer.sync_state() {
            SyncState::Synced => return None,
            SyncState::Handlers { names, outlook } => {
                let outlook = match outlook {
                    SyncOutlook::Possible => Outlook::Possible,
                    SyncOutlook::Impossible => Outlook::Impossible,
                };
                (WaitingFor::Handlers(names), outlook)
            }
            SyncState::Cache { outlook, scopes } => {
                let outlook = match outlook {
                    _ if matches!(self.stage, Stage::Created) => Outlook::Impossible,
                    SyncOutlook::Impossible => Outlook::Impossible,
                    SyncOutlook::Possible => self.outlook(&scopes),
                };
                (WaitingFor::Cache(PendingScopes::new(scopes)), outlook)
            }
        })
    }

    /// What is missing, with the name of the resource.
    pub(super) fn unsynced(&self) -> Option<Unsynced> {
        let (waiting_for, _) = self.look()?;
        Some(Unsynced {
            resource: self.informer.resource().to_owned(),
            waiting_for,
        })
    }

    /// How the scopes fail, counting only attempts that began after the wait.
    fn outlook(&self, scopes: &[PendingScope]) -> Outlook {
        let before = |scope: &Scope| {
            let known = self.attempts.iter().find(|(known, _)| known == scope);
            known.map_or(0, |(_, attempts)| *attempts)
        };
        let failures: Vec<Failure> = scopes
            .iter()
            .filter_map(|pending| pending.failure_after(before(&pending.scope)))
            .collect();
        match failures.is_empty() {
            true => Outlook::Possible,
            false => Outlook::Failing(failures),
        }
    }

    /// Waits for a change since the last wait.
    async fn changed(&mut self) {
        tokio::select! {
            true = self.state.changed() => {}
            Ok(()) = self.sync.changed() => {}
            else => std::future::pending().await,
        }
    }
}

/// Whether an informer can still become in sync.
pub(super) enum Outlook {
    Possible,
    /// These scopes fail, and the informer needs all of its scopes.
    Failing(Vec<Failure>),
    /// It has stopped, or was never started.
    Impossible,
}

impl Outlook {
    /// When a wait that began at `call` gives up; `None` for never.
    fn end(&self, limits: &WaitLimits, call: Instant) -> Option<Instant> {
        match self {
            Self::Possible => None,
            Self::Failing(failures) => failures
                .iter()
                .filter_map(|failure| limits.end(*failure, call))
                .min(),
            Self::Impossible => Some(call),
        }
    }
}

/// The informers that were started, or failed to start.
pub(super) fn started(registry: &RegistryInner) -> Vec<Awaited> {
    let contents = registry.contents.lock();
    contents
        .requested()
        .filter(|entry| entry.was_started())
        .map(Awaited::new)
        .collect()
}

/// The informers a wait is for: those that were started. If none was started, or all were shut down, every
/// requested informer: a wait must not succeed then.
fn awaited(registry: &RegistryInner) -> Vec<Awaited> {
    let mut contents = registry.contents.lock();
    let is_open = contents.closing == Closing::Open;
    let only_started = is_open && contents.entries.iter().any(Registered::was_started);
    let awaited = contents
        .requested()
        .filter(|entry| !only_started || entry.was_started())
        .map(Awaited::new)
        .collect();
    let unstarted = match only_started {
        true => contents.take_unstarted(),
        false => Vec::new(),
    };
    // Logged without the lock: a log subscriber may read the status.
    drop(contents);
    for resource in unstarted {
        tracing::warn!(
            resource,
            "an informer created after `start` is not started and not waited for; call `start` again"
        );
    }
    awaited
}

pub(super) async fn run(registry: &RegistryInner, limits: WaitLimits) -> Result<(), SyncError> {
    let mut pending = awaited(registry);
    let informers = pending.len();
    let call = Instant::now();
    let deadline = limits.total.and_then(|total| call.checked_add(total));
    loop {
        let now = Instant::now();
        let mut unsynced = Vec::new();
        // When the wait gives up on the last of them; `None` while one can still become in sync.
        let mut give_up = Some(call);
        pending.retain(|awaited| {
            let Some((waiting_for, outlook)) = awaited.look() else {
                return false;
            };
            give_up = give_up
                .zip(outlook.end(&limits, call))
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
            () = any_change(&mut pending) => {}
            () = until(end) => {}
        }
    }
}

/// Waits for a change of one of these since the last wait.
pub(super) async fn any_change(awaited: &mut [Awaited]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_set_by_its_method_and_keeps_the_others() {
        let second = Duration::from_secs(1);
        let limits = WaitLimits::default();
        assert_eq!(
            (limits.refused, limits.unreachable, limits.total),
            (second * 10, second * 60, None)
        );
        let limits = limits.refused(second).unreachable(second * 2).total(second * 3);
        let expected = (second, second * 2, Some(second * 3));
        assert_eq!((limits.refused, limits.unreachable, limits.total), expected);
        let limits = WaitLimits::within(second * 4);
        let expected = (Duration::MAX, Duration::MAX, Some(second * 4));
        assert_eq!((limits.refused, limits.unreachable, limits.total), expected);
    }
}
