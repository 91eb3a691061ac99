//! Whether the informers of a registry have current data, and whether their tasks make progress.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::wait::{Awaited, Unsynced};
use super::{Closing, Registry};
use crate::informer::{Life, Vitals};
use crate::status::State;

/// Why the caches of a registry cannot be relied on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotCurrent {
    /// No informer was requested.
    NoInformers,
    /// These informers are not in sync.
    NotSynced(Vec<Unsynced>),
    /// The cache of a resource was current once, and is too old now.
    Stale {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// The age of its data.
        age: Duration,
        /// What its informer is doing.
        state: Box<State>,
    },
    /// The registry was shut down.
    ShutDown,
}

/// A task of an informer that makes no progress.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoProgress {
    /// The resource: `pods`, `deployments.apps`.
    pub resource: String,
    /// What does not happen.
    pub what: Stall,
}

/// What does not happen although it should.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stall {
    /// The informer ended although nobody stopped it: its committer panicked, or its runtime was dropped.
    Ended,
    /// Changes wait, and none has been committed for this long.
    NotCommitting(Duration),
    /// The runtime has not run a task for this long.
    NotScheduled(Duration),
    /// This handler has been inside one call for this long.
    HandlerBusy(String, Duration),
}

/// The limits of a check for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressLimits {
    /// How long a committer or a runtime may make no progress.
    pub stuck: Duration,
    /// How long a handler may be inside one call; `None` for no limit.
    pub handler: Option<Duration>,
}

/// Checks again and again whether the tasks of a registry's informers make progress.
///
/// It compares each check with the ones before, so the informers themselves do no work for it. It sends no
/// request, and a server that cannot be reached is no reason to fail.
#[derive(Default)]
pub struct ProgressCheck {
    /// What the last check saw, by the identity of the informer.
    seen: HashMap<usize, Seen>,
}

struct Seen {
    /// The number of commits, and since when it is unchanged although changes wait.
    commits: u64,
    unchanged_since: Option<Instant>,
    ping: Ping,
}

/// A task that does nothing, to see whether the runtime runs it.
struct Ping {
    sent: Instant,
    answered: Arc<AtomicBool>,
}

impl Ping {
    fn send(runtime: &Handle, now: Instant) -> Self {
        let answered = Arc::new(AtomicBool::new(false));
        let answer = answered.clone();
        runtime.spawn(async move { answer.store(true, Ordering::Release) });
        Self { sent: now, answered }
    }

    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }
}

impl Registry {
    /// Checks that every requested informer is in sync, and that its data is not older than `max_age`.
    /// Informers for which `counts` returns `false`, and those that were stopped on request, are left out.
    ///
    /// While a watch is open and everything that arrived is committed, the data counts as current: a quiet
    /// server sends nothing. A watch that is silent for too long ends and counts as failed, and from then on
    /// its data is as old as the last thing that arrived. An informer that was paused on request may have
    /// data of any age.
    ///
    /// # Errors
    /// [`NotCurrent`] says why the caches cannot be relied on.
    pub fn check_current(&self, max_age: Duration, counts: impl Fn(&str) -> bool) -> Result<(), NotCurrent> {
        let contents = self.inner.contents.lock();
        if contents.closing == Closing::Closed {
            return Err(NotCurrent::ShutDown);
        }
        let informers: Vec<Awaited> = contents
            .requested()
            .filter(|entry| counts(entry.informer.resource()))
            .filter(|entry| !matches!(entry.informer.vitals().life, Life::Stopped))
            .map(Awaited::new)
            .collect();
        drop(contents);
        if informers.is_empty() {
            return Err(NotCurrent::NoInformers);
        }
        let unsynced: Vec<Unsynced> = informers.iter().filter_map(Awaited::unsynced).collect();
        if !unsynced.is_empty() {
            return Err(NotCurrent::NotSynced(unsynced));
        }
        for awaited in &informers {
            let status = awaited.informer.status();
            let ages = status
                .scopes
                .iter()
                .filter(|scope| !matches!(scope.state, State::Paused))
                .filter_map(|scope| Some((scope.stale_for()?, scope)));
            if let Some((age, scope)) = ages.max_by_key(|(age, _)| *age)
                && age > max_age
            {
                return Err(NotCurrent::Stale {
                    resource: status.resource,
                    age,
                    state: Box::new(scope.state.clone()),
                });
            }
        }
        Ok(())
    }

    /// Checks that the tasks of every informer make progress, compared with the checks before.
    ///
    /// # Errors
    /// [`NoProgress`] names the first informer that does not.
    pub fn check_progress(
        &self,
        check: &mut ProgressCheck,
        limits: ProgressLimits,
    ) -> Result<(), NoProgress> {
        let now = Instant::now();
        let mut seen = HashMap::new();
        let mut found = Ok(());
        for informer in self.informers() {
            let vitals = informer.vitals();
            let before = check.seen.remove(&vitals.identity);
            let (stall, after) = vitals.compare(before, now, limits.stuck);
            if let Some(after) = after {
                seen.insert(vitals.identity, after);
            }
            let stall = stall.or_else(|| {
                let limit = limits.handler?;
                let busy = informer.status().handlers.into_iter();
                let busy = busy.filter_map(|handler| Some((handler.name, handler.busy_for?)));
                let (name, time) = busy.max_by_key(|(_, time)| *time)?;
                (time > limit).then_some(Stall::HandlerBusy(name, time))
            });
            if let (Some(what), true) = (stall, found.is_ok()) {
                let resource = informer.resource().to_owned();
                found = Err(NoProgress { resource, what });
            }
        }
        check.seen = seen;
        found
    }
}

impl Vitals {
    /// Compares with what the last check saw. Returns what does not happen, and what the next check needs.
    fn compare(&self, before: Option<Seen>, now: Instant, limit: Duration) -> (Option<Stall>, Option<Seen>) {
        let runtime = match &self.life {
            Life::NotStarted | Life::Stopped => return (None, None),
            Life::Ended => return (Some(Stall::Ended), None),
            Life::Running(runtime) => runtime,
        };
        let (unchanged_since, ping) = match before {
            Some(before) if before.commits == self.commits && self.has_pending => {
                (before.unchanged_since.or(Some(now)), Some(before.ping))
            }
            before => (self.has_pending.then_some(now), before.map(|before| before.ping)),
        };
        let ping = match ping {
            Some(ping) if !ping.is_answered() => ping,
            _ => Ping::send(runtime, now),
        };
        let exceeds = |since: Instant| Some(now.duration_since(since)).filter(|time| *time > limit);
        let stall = match (exceeds(ping.sent), unchanged_since.and_then(exceeds)) {
            (Some(time), _) if !ping.is_answered() => Some(Stall::NotScheduled(time)),
            (_, Some(time)) => Some(Stall::NotCommitting(time)),
            _ => None,
        };
        let seen = Seen {
            commits: self.commits,
            unchanged_since,
            ping,
        };
        (stall, Some(seen))
    }
}

impl fmt::Display for NotCurrent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInformers => f.write_str("no informer was requested"),
            Self::NotSynced(unsynced) => {
                f.write_str("not in sync: ")?;
                for (position, unsynced) in unsynced.iter().enumerate() {
                    f.write_str(if position == 0 { "" } else { "; " })?;
                    write!(f, "{unsynced}")?;
                }
                Ok(())
            }
            Self::Stale { resource, age, state } => {
                write!(f, "the data of {resource} is {}s old: {state}", age.as_secs())
            }
            Self::ShutDown => f.write_str("the informers were shut down"),
        }
    }
}

impl fmt::Display for NoProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, what } = self;
        match what {
            Stall::Ended => write!(f, "the informer of {resource} ended although nobody stopped it"),
            Stall::NotCommitting(time) => write!(
                f,
                "changes of {resource} wait, and none was committed for {}s: a transform or an index \
                 function \
                 blocks",
                time.as_secs()
            ),
            Stall::NotScheduled(time) => write!(
                f,
                "the runtime of the informer of {resource} has not run a task for {}s: its threads are \
                 blocked",
                time.as_secs()
            ),
            Stall::HandlerBusy(name, time) => write!(
                f,
                "the handler {name} of {resource} has been inside one call for {}s",
                time.as_secs()
            ),
        }
    }
}
