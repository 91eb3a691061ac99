//! How long a scope has failed to list, and how: a wait for sync gives up by this.

use tokio::time::Instant;

use super::State;
use crate::scope::Scope;
use crate::source::{Recovery, SourceError};

/// The failed attempts of one scope since its last complete list.
#[derive(Clone, Debug, Default)]
pub(super) struct FailureTracker {
    /// How many lists were started, failed or not.
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

impl FailureTracker {
    /// A list was started.
    pub(super) fn attempted(&mut self) {
        self.attempts += 1;
    }

    /// Objects arrived, so the server is reachable.
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
pub(crate) struct PendingScope {
    pub(crate) scope: Scope,
    pub(crate) state: State,
    failures: FailureTracker,
}

impl PendingScope {
    pub(super) fn new(scope: Scope, state: State, failures: FailureTracker) -> Self {
        Self {
            scope,
            state,
            failures,
        }
    }

    /// How many lists were started.
    pub(crate) fn attempts(&self) -> u64 {
        self.failures.attempts
    }

    /// How this scope fails, if an attempt after the first `attempts` failed last and nothing has arrived
    /// since.
    pub(crate) fn failure_after(&self, attempts: u64) -> Option<Failure> {
        let last = self.failures.last.filter(|last| last.attempt > attempts)?;
        let is_progressing = matches!(self.state, State::Listing { .. } | State::Live);
        if is_progressing || last.recovery == Recovery::Transient {
            return None;
        }
        Some(Failure {
            needs_action_since: self.failures.needs_action_since,
            unreachable_since: self.failures.unreachable_since,
        })
    }
}

/// How a scope fails, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// When failures began that retries cannot fix; `None` if the last attempt failed in another way.
    pub(crate) needs_action_since: Option<Instant>,
    /// When attempts began to return nothing.
    pub(crate) unreachable_since: Option<Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ServerStatus;

    fn status(code: u16) -> SourceError {
        let status = ServerStatus {
            code,
            ..ServerStatus::default()
        };
        SourceError::Status { status }
    }

    /// Checks how a scope fails after attempts with these errors: whether an operator must act, and whether
    /// the server is unreachable.
    fn check(state: State, failures: &[SourceError], after: u64, expected: Option<(bool, bool)>) {
        let mut tracker = FailureTracker::default();
        for error in failures {
            tracker.attempted();
            tracker.failed(error, Instant::now());
        }
        let pending = PendingScope::new(Scope::All, state, tracker);
        let found = pending.failure_after(after).map(|failure| {
            (
                failure.needs_action_since.is_some(),
                failure.unreachable_since.is_some(),
            )
        });
        assert_eq!(found, expected, "{failures:?} after {after}");
    }

    #[test]
    fn a_scope_fails_while_its_last_attempt_failed_and_nothing_arrives() {
        let forbidden = || status(403);
        let refused = || SourceError::Connect("connection refused".to_owned());
        check(State::NotStarted, &[], 0, None);
        check(State::NotStarted, &[forbidden()], 0, Some((true, true)));
        check(
            State::NotStarted,
            &[forbidden(), refused()],
            0,
            Some((false, true)),
        );
        // The attempt began before the wait.
        check(State::NotStarted, &[forbidden()], 1, None);
        check(
            State::NotStarted,
            &[forbidden(), forbidden()],
            1,
            Some((true, true)),
        );
        // Objects arrive, or the last failure is transient.
        check(State::Live, &[forbidden()], 0, None);
        check(State::NotStarted, &[forbidden(), status(429)], 0, None);
    }

    #[test]
    fn objects_prove_a_reachable_server_and_a_whole_list_resets_the_failures() {
        let mut tracker = FailureTracker::default();
        tracker.attempted();
        tracker.failed(
            &SourceError::Connect("connection refused".to_owned()),
            Instant::now(),
        );
        tracker.progressed();
        assert_eq!(tracker.unreachable_since, None);
        tracker.failed(&status(403), Instant::now());
        tracker.succeeded();
        assert_eq!(
            (tracker.needs_action_since, tracker.unreachable_since),
            (None, None)
        );
        assert!(tracker.last.is_none() && tracker.attempts == 1);
    }
}
