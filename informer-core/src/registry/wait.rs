//! Waiting for many informers to be in sync, and giving up with reasons.

use std::fmt;
use std::time::Duration;

use futures::future::select_all;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Closing, Entry, Life, Shared};
use crate::informer::{DynInformer, HandlerHope, StartError, StatusWatch, SyncState};
use crate::status::State;

/// How long a wait for sync may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitLimits {
    /// How long the server may go on refusing (403, 404) before the wait gives up on an informer. Others are still waited
    /// for: the wait ends when nothing else is left. Default 10 s.
    pub refused: Duration,
    /// How long the wait may take in all. Default: as long as there is hope.
    pub total: Option<Duration>,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self {
            refused: Duration::from_secs(10),
            total: None,
        }
    }
}

impl WaitLimits {
    /// Sets how long the server may go on refusing.
    #[must_use]
    pub fn refused(mut self, time: Duration) -> Self {
        self.refused = time;
        self
    }

    /// Sets how long the wait may take in all.
    #[must_use]
    pub fn total(mut self, time: Duration) -> Self {
        self.total = Some(time);
        self
    }
}

/// Informers that are not in sync, each with the reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncError {
    /// The informers that are not in sync.
    pub unsynced: Vec<Unsynced>,
    /// How many informers were waited for.
    pub informers: usize,
}

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
    /// The whole initial state in its cache; it is doing this about it.
    Cache(Box<State>),
    /// These handlers, which have not returned from the initial state.
    Handlers(Vec<String>),
}

impl fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "not started: {error}"),
            Self::Cache(state) => write!(f, "{state}"),
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
    /// Both remember what they have told of, so a change between a look and a wait is not lost.
    state: StatusWatch,
    sync: watch::Receiver<u64>,
    life: Life,
}

impl Awaited {
    fn new(entry: &Entry) -> Self {
        Self {
            informer: entry.informer.clone(),
            state: entry.informer.status_changes(),
            sync: entry.informer.sync_changes(),
            life: entry.life,
        }
    }

    /// What is missing now, and whether there is hope; `None` if nothing is.
    pub(super) fn look(&self) -> Option<(WaitingFor, Hope)> {
        match self.life {
            Life::Failed(error) => return Some((WaitingFor::Start(error), Hope::Lost)),
            Life::Created if !self.informer.is_stopped() => {
                return Some((WaitingFor::Cache(Box::new(State::NotStarted)), Hope::Lost));
            }
            Life::Prepared | Life::Created | Life::Started => {}
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
            SyncState::Cache { state, refused_since } => {
                let hope = match (&state, refused_since) {
                    (State::Stopped, _) => Hope::Lost,
                    (_, Some(since)) => Hope::RefusedSince(since),
                    (_, None) => Hope::Open,
                };
                (WaitingFor::Cache(Box::new(state)), hope)
            }
        })
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
#[derive(Clone, Copy)]
pub(super) enum Hope {
    /// It may.
    Open,
    /// The server has refused it since then.
    RefusedSince(Instant),
    /// It has stopped, or was never started.
    Lost,
}

impl Hope {
    /// When to give up; `None` for never.
    fn ends(self, refused: Duration, now: Instant) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::RefusedSince(since) => since.checked_add(refused),
            Self::Lost => Some(now),
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
    let contents = shared.contents.lock();
    let is_open = contents.closing == Closing::Open;
    let only_started = is_open && contents.entries.iter().any(Entry::was_started);
    contents
        .asked_for()
        .filter(|entry| !only_started || entry.was_started())
        .map(Awaited::new)
        .collect()
}

pub(super) async fn run(shared: &Shared, limits: WaitLimits) -> Result<(), SyncError> {
    let mut pending = awaited(shared);
    let informers = pending.len();
    let deadline = limits.total.and_then(|total| Instant::now().checked_add(total));
    loop {
        let now = Instant::now();
        let mut unsynced = Vec::new();
        // The moment at which every one of them is given up; `None` while one has hope.
        let mut give_up = Some(now);
        pending.retain(|awaited| {
            let Some((waiting_for, hope)) = awaited.look() else {
                return false;
            };
            give_up = give_up
                .zip(hope.ends(limits.refused, now))
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
