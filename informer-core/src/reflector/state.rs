//! Decides the next request of a reflector, as a function of what happened. Makes no requests itself.

mod after_list;
mod after_watch;
mod outcome;
mod phase;
mod streaming;

use std::time::Duration;

use tokio::time::Instant;

use super::InitialState;
use crate::mutant;
use crate::resource_version::ResourceVersion;
use crate::source::{ListFrom, SourceError, WatchListFrom, WatchListSupport};
use crate::status::{Coverage, Position, RelistReason, WatchListVerdict};
use crate::warm::Continuation;

pub(super) use outcome::{EndReason, FailureState, Health, ListFailure, Next, Pause, WatchEnd};
pub(super) use phase::Phase;
use streaming::Streaming;

/// How many requests with a version the server may refuse in a row before the version is dropped.
const VERSION_REFUSALS: u32 = 3;

/// The longest time a server gets to begin its answer, however late its last answers were.
const LONGEST_ANSWER: Duration = Duration::from_secs(600);

/// The page size where none is configured.
const DEFAULT_PAGE: u32 = 500;

/// What a reflector remembers between requests. The status of the scope copies [`position`](Self::position).
#[derive(Debug)]
pub(super) struct Memory {
    /// The time of the current decision. The clock is an input like everything else, so that tests need none.
    now: Instant,
    position: Position,
    continuity: Continuity,
    streaming: Streaming,
    paging: Paging,
    watch_failures: u32,
    version_refusals: u32,
    /// How many watches in a row delivered nothing at all, not even a bookmark.
    mute_watches: u32,
    /// How long the next answer may take, if the source's own deadline was too short.
    answer_within: Option<Duration>,
    /// Why the whole state is read again, until it is reported.
    relist: Option<RelistReason>,
    origin: Origin,
}

/// Where the state in the cache comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The server, or nowhere yet.
    Server,
    /// A saved cache that the server has neither confirmed nor replaced.
    Saved,
}

/// Whether requests may still refer to the last version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuity {
    Kept,
    /// The server cannot serve that version, or it is in doubt: the next list requests the newest state, and
    /// an older version in its answer means that the server was rewound.
    Lost,
}

/// When lists are paged. A server that pages a list of any cached state has no watch cache, so that all of
/// its lists can be paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paging {
    WhereUseful,
    Always,
}

impl Memory {
    pub(super) fn new(mode: InitialState, support: WatchListSupport, now: Instant) -> Self {
        Self {
            now,
            position: Position {
                version: None,
                coverage: Coverage::Complete,
            },
            continuity: Continuity::Kept,
            streaming: Streaming::new(mode, support),
            paging: Paging::WhereUseful,
            watch_failures: 0,
            version_refusals: 0,
            mute_watches: 0,
            answer_within: None,
            relist: None,
            origin: Origin::Server,
        }
    }

    /// Another scope has seen this version: the first state must not be older.
    pub(super) fn not_older_than(&mut self, version: ResourceVersion) {
        self.position.version = Some(version);
    }

    /// The state of a saved cache was queued. Returns the first request.
    pub(super) fn seeded(&mut self, version: ResourceVersion, continuation: Continuation) -> Phase {
        self.position.version = Some(version.clone());
        self.origin = Origin::Saved;
        match continuation {
            Continuation::Watch => Phase::Watch { from: version },
            Continuation::FullRead => self.start(),
        }
    }

    /// Whether the server has neither confirmed nor replaced a saved cache.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.origin == Origin::Saved
    }

    /// The server has confirmed the version of the saved cache.
    pub(super) fn confirmed(&mut self) {
        self.origin = Origin::Server;
    }

    /// Why the last decision was to read the whole state again; `None` if it was another.
    pub(super) fn take_relist(&mut self) -> Option<RelistReason> {
        self.relist.take()
    }

    /// Sets the time at which the next decisions are made.
    pub(super) fn advance(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) fn verdict(&self) -> WatchListVerdict {
        self.streaming.verdict()
    }

    /// What is reported to the status of the scope.
    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// The newest version received in order.
    pub(super) fn last(&self) -> Option<&ResourceVersion> {
        self.position.version.as_ref()
    }

    /// How long the next answer may take; `None` for the source's own deadline.
    pub(super) fn answer_within(&self) -> Option<Duration> {
        self.answer_within
    }

    /// A request was answered in time.
    pub(super) fn answered(&mut self) {
        self.answer_within = None;
    }

    /// How to read the whole state now: not older than what was seen, unless continuity is lost.
    pub(super) fn start(&self) -> Phase {
        if self.streaming.is_worth_trying(self.now) {
            let from = match (&self.position.version, self.continuity) {
                (Some(version), Continuity::Kept) => WatchListFrom::NotOlderThan(version.clone()),
                _ => WatchListFrom::MostRecent,
            };
            return Phase::WatchList { from };
        }
        self.start_list()
    }

    fn start_list(&self) -> Phase {
        let from = match (&self.position.version, self.continuity) {
            (_, Continuity::Lost) => ListFrom::MostRecent,
            (Some(version), Continuity::Kept) => ListFrom::NotOlderThan(version.clone()),
            // The first list: any state will do, because a watch delivers the rest, and the server reads its
            // cache and not etcd.
            (None, Continuity::Kept) => ListFrom::AnyCached,
        };
        Phase::List { from }
    }

    /// The page size of a list, by upstream's rules (R10).
    pub(super) fn limit(&self, from: &ListFrom, page_size: Option<u32>) -> Option<u32> {
        match (page_size, self.paging, from) {
            (Some(size), ..) => Some(size),
            (None, Paging::Always, _) => Some(DEFAULT_PAGE),
            // The watch cache answers these, and ignores a limit.
            (None, Paging::WhereUseful, ListFrom::NotOlderThan(_) | ListFrom::Exactly(_)) => None,
            (None, Paging::WhereUseful, ListFrom::MostRecent | ListFrom::AnyCached) => Some(DEFAULT_PAGE),
        }
    }

    /// The server paged a list of any cached state.
    pub(super) fn saw_pages_of_any_cached(&mut self) {
        self.paging = Paging::Always;
    }

    /// A watch delivered this version, in order.
    pub(super) fn observe(&mut self, version: &ResourceVersion) {
        if mutant::is("I11") {
            return;
        }
        // A server may send an event again, for example after a failover. The next watch must not start
        // earlier because of it. Versions that cannot be compared are taken as they come.
        if self.last().is_none_or(|last| !version.is_older_than(last)) {
            self.position.version = Some(version.clone());
        }
    }

    /// A watch delivered an object whose name cannot be read. The watch goes on, and when it ends, a list
    /// finds out which object it was.
    pub(super) fn missed_something(&mut self) {
        self.position.coverage = Coverage::Partial;
    }

    /// The whole state was read by LIST.
    pub(super) fn listed(&mut self, version: ResourceVersion, coverage: Coverage) {
        self.streaming.list_worked(self.now);
        self.read(version, coverage);
    }

    /// The whole state was read through a watch-list.
    pub(super) fn streamed(&mut self, version: ResourceVersion, coverage: Coverage) {
        self.streaming.completed();
        self.read(version, coverage);
    }

    /// Unlike [`observe`](Self::observe), this accepts an older version: the caller has checked that the
    /// server was rewound.
    fn read(&mut self, version: ResourceVersion, coverage: Coverage) {
        self.position = Position {
            version: Some(version),
            coverage,
        };
        self.continuity = Continuity::Kept;
        self.origin = Origin::Server;
        self.version_refusals = 0;
        self.answered();
    }

    /// Gives the next request more time if the last one was not answered in time. A large list on a busy
    /// server may take minutes, and a retry with the same short deadline would never succeed.
    fn wait_longer_after(&mut self, error: &SourceError) {
        if let Some(after) = error.answer_deadline() {
            // The last `max` is for a source whose own deadline is longer than our limit.
            let longer = after.saturating_mul(2).min(LONGEST_ANSWER).max(after);
            self.answer_within = Some(longer);
        }
    }

    /// Counts refused requests that carry a version, and gives the version up after a few in a row: it may be
    /// invalid for this server or too long for its limits, and would be refused for ever.
    fn gives_up_version(&mut self, error: &SourceError) -> bool {
        if !error.may_refuse_version() {
            return false;
        }
        self.version_refusals += 1;
        if self.version_refusals < VERSION_REFUSALS {
            return false;
        }
        // The next list requests the newest state, which no server refuses for its version.
        self.version_refusals = 0;
        self.continuity = Continuity::Lost;
        true
    }

    /// Reads the whole state after a wait.
    fn again(&self, error: SourceError) -> Next {
        Next {
            phase: self.start(),
            pause: Pause::Backoff {
                at_least: error.retry_after(),
            },
            report: Some((error, FailureState::BackingOff)),
        }
    }

    /// Reads the whole state after a long wait: the server must have less first, or the limit must be raised.
    fn over_limit(&self, error: SourceError) -> Next {
        Next {
            phase: self.start(),
            pause: Pause::OverLimit,
            report: Some((error, FailureState::LimitReached)),
        }
    }

    /// Reads the whole state after a long wait: an operator has to grant access or install the resource
    /// first.
    fn refused(&self, error: SourceError) -> Next {
        let failure_state = if error.is_forbidden() {
            FailureState::Forbidden
        } else {
            FailureState::NotFound
        };
        Next {
            phase: self.start(),
            pause: Pause::Refused,
            report: Some((error, failure_state)),
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
