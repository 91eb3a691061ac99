//! `Reporter`: how the reflector, queue and auditor of one scope report what happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::time::Instant;

use super::scope_status::{Contact, LastError, LastList, Position};
use super::state::Wait;
use super::{EventKind, Limits, RelistReason, ScopeStatus, State, StatusBoard, WatchListVerdict};
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{SourceError, Undecodable};

/// The handle through which one scope is reported.
#[derive(Clone)]
pub(crate) struct Reporter {
    pub(super) board: Arc<StatusBoard>,
    pub(super) scope: Scope,
    /// The position of the scope on the board, as long as no scope before it is removed. A search per event
    /// would be slow.
    place: usize,
}

impl Reporter {
    pub(super) fn new(board: Arc<StatusBoard>, scope: Scope, place: usize) -> Self {
        Self { board, scope, place }
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut ScopeStatus)) {
        let mut scopes = self.board.scopes.lock();
        let place = match scopes.get(self.place) {
            Some(scope) if scope.scope == self.scope => Some(self.place),
            _ => scopes.iter().position(|scope| scope.scope == self.scope),
        };
        if let Some(scope) = place.and_then(|place| scopes.get_mut(place))
            && !matches!(scope.state, State::Stopped)
        {
            change(scope);
        }
    }

    fn update_state(&self, state: State) {
        // Logged before the lock is taken: a log subscriber may read the status.
        tracing::debug!(resource = %self.board.resource, scope = %self.scope, %state, "changed state");
        self.update(|scope| scope.set(state));
        self.board.announce();
    }

    /// Reports that a list has begun.
    pub(crate) fn list_begins(&self) {
        self.update(|scope| {
            scope.failures.attempted();
            scope.list_began = Some(Instant::now());
        });
        self.listing(0, None);
    }

    /// Reports why the whole state is read again.
    pub(crate) fn relists(&self, reason: RelistReason) {
        let Self { board, scope, .. } = self;
        tracing::debug!(resource = %board.resource, %scope, %reason, "decided to list again");
        self.update(|scope| scope.counts.relists.count(reason));
    }

    /// Reports how many objects of a list have arrived.
    pub(crate) fn listing(&self, received: u64, expected: Option<u64>) {
        self.update(|scope| {
            if received > 0 {
                scope.failures.progressed();
            }
            // An attempt is not a success: a failure stays visible until the first object arrives.
            let is_failing = !matches!(
                scope.state,
                State::NotStarted | State::Paused | State::Listing { .. } | State::Live
            );
            if received == 0 && is_failing {
                return;
            }
            scope.set(State::Listing { received, expected });
            if received > 0 {
                scope.last_contact = Some(Instant::now());
            }
        });
        self.board.announce();
    }

    /// Reports that a list is complete and queued, and how many of its objects could not be used.
    pub(crate) fn listed(&self, position: &Position, unusable: usize) {
        self.update(|scope| {
            scope.follow(position);
            scope.listed = position.version.clone();
            scope.unusable = unusable as u64;
            scope.failures.succeeded();
            scope.counts.lists += 1;
            let now = Instant::now();
            scope.last_contact = Some(now);
            scope.last_list = scope.list_began.take().map(|began| LastList {
                at: now,
                took: now.duration_since(began),
                objects: match scope.state {
                    State::Listing { received, .. } => received,
                    _ => 0,
                },
            });
            scope.contact = Contact::Trusted;
        });
    }

    /// Reports that a saved state is over a limit of the cache.
    pub(crate) fn seed_refused(&self, reason: &SourceError) {
        let Self { board, scope, .. } = self;
        tracing::warn!(resource = %board.resource, %scope, %reason, "refused a saved cache; starting cold");
    }

    /// Reports that a saved state was queued.
    pub(crate) fn seeded(&self, position: &Position) {
        self.update(|scope| scope.follow(position));
        self.board.announce();
    }

    /// Reports that the server has confirmed the saved state: it counts as a list from now on.
    pub(crate) fn confirmed(&self, position: &Position) {
        self.update(|scope| {
            scope.follow(position);
            scope.listed = position.version.clone();
            scope.failures.succeeded();
        });
        self.board.announce();
    }

    /// Reports that no requests are sent because the informer was paused.
    pub(crate) fn paused(&self) {
        self.update_state(State::Paused);
    }

    /// Reports that a watch is open. Nothing has arrived through it yet.
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

    /// Reports that the server closed a watch normally.
    pub(crate) fn closed(&self) {
        self.update(ScopeStatus::trust);
    }

    /// Reports an event of a watch, after the reflector has applied it, at this time.
    pub(crate) fn event(&self, kind: EventKind, position: &Position, now: Instant) {
        let mut recovered = false;
        self.update(|scope| {
            let now = Some(now);
            scope.last_contact = now;
            scope.counts.received(kind);
            if kind != EventKind::Bookmark {
                scope.last_event = now;
            }
            if scope.contact == Contact::Suspect {
                scope.trust();
                recovered = true;
            }
            scope.follow(position);
        });
        if recovered {
            self.update_state(State::Live);
        }
    }

    /// Reports whether the server supports watch-lists.
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
                "the server does not support watch-lists; lists are used for the next 30 minutes"
            );
        }
    }

    /// Reports a failed request or stream; `state` is the state until the next attempt.
    pub(crate) fn failed(&self, error: &SourceError, state: State) {
        let now = Instant::now();
        let mut changed = false;
        self.update(|scope| {
            changed = std::mem::discriminant(&scope.state) != std::mem::discriminant(&state);
            scope.counts.errors += 1;
            scope.failures.failed(error, now);
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

    /// Asks a log limit. Returns how many lines it suppressed since the last one, or `None` to suppress this
    /// one.
    fn admit(&self, check: impl FnOnce(&mut Limits) -> Option<u64>) -> Option<u64> {
        check(&mut self.board.limits.lock())
    }

    /// Reports an object that could not be decoded.
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
            }
            scope.last_undecodable = Some(object.clone());
        });
        self.board.announce();
    }

    /// Reports an object or deletion of another scope, which was rejected.
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

    /// Reports that the server's history was rewound.
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

#[cfg(all(test, not(feature = "__model")))]
#[path = "reporter_tests.rs"]
mod tests;
