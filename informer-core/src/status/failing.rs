//! How long a scope has failed to list, and in which way: what a wait for sync gives up by.

use tokio::time::Instant;

use super::State;
use crate::scope::Scope;
use crate::source::{Recovery, SourceError};

/// The failed attempts of one scope since its last complete list.
#[derive(Clone, Debug, Default)]
pub(super) struct Failing {
    /// How many lists were begun, failed or not.
    attempts: u64,
    last: Option<Failed>,
    needs_action_since: Option<Instant>,
    unreachable_since: Option<Instant>,
}

/// The attempt that failed last.
#[derive(Clone, Copy, Debug)]
struct Failed {
    attempt: u64,
    recovery: Recovery,
}

impl Failing {
    /// A list was begun.
    pub(super) fn attempted(&mut self) {
        self.attempts += 1;
    }

    /// Objects arrived: the server is reachable, whatever else is wrong.
    pub(super) fn progressed(&mut self) {
        self.unreachable_since = None;
    }

    /// A list is complete.
    pub(super) fn succeeded(&mut self) {
        *self = Self {
            attempts: self.attempts,
            ..Self::default()
        };
    }

    pub(super) fn failed(&mut self, error: &SourceError, now: Instant) {
        let recovery = error.recovery();
        match recovery {
            Recovery::NeedsAction => {
                self.needs_action_since.get_or_insert(now);
                self.unreachable_since.get_or_insert(now);
            }
            Recovery::Unreachable => {
                self.needs_action_since = None;
                self.unreachable_since.get_or_insert(now);
            }
            Recovery::Transient => {}
        }
        self.last = Some(Failed {
            attempt: self.attempts,
            recovery,
        });
    }
}

/// A scope whose initial state was not read yet.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) scope: Scope,
    pub(crate) state: State,
    failing: Failing,
}

impl Pending {
    pub(super) fn new(scope: Scope, state: State, failing: Failing) -> Self {
        Self {
            scope,
            state,
            failing,
        }
    }

    /// How many lists were begun.
    pub(crate) fn attempts(&self) -> u64 {
        self.failing.attempts
    }

    /// How this scope fails, if the attempt that failed last was begun after the first `attempts`, and
    /// nothing has arrived since.
    pub(crate) fn failure_after(&self, attempts: u64) -> Option<Failure> {
        let last = self.failing.last.filter(|last| last.attempt > attempts)?;
        let is_progressing = matches!(self.state, State::Listing { .. } | State::Live);
        if is_progressing || last.recovery == Recovery::Transient {
            return None;
        }
        Some(Failure {
            needs_action_since: self.failing.needs_action_since,
            unreachable_since: self.failing.unreachable_since,
        })
    }
}

/// Since when a scope has failed in which way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// Since when somebody has had to act; `None` if the last attempt failed in another way.
    pub(crate) needs_action_since: Option<Instant>,
    /// Since when no attempt has brought anything.
    pub(crate) unreachable_since: Option<Instant>,
}
