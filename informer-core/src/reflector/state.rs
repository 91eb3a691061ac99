//! What to ask next: the reflector's decisions, without any asking.

mod outcome;
mod phase;
mod streaming;

use std::time::Duration;

use tokio::time::Instant;

use super::InitialState;
use crate::mutant;
use crate::resource_version::ResourceVersion;
use crate::source::{ListFrom, SourceError, WatchListFrom, WatchListSupport};
use crate::status::{Coverage, Position, WatchListVerdict};

pub(super) use outcome::{EndReason, FailureState, Health, ListFailure, Next, Pause, WatchEnd};
use outcome::{VERY_SHORT, is_storage_read_error};
pub(super) use phase::Phase;
use streaming::{Fallback, Streaming};

/// How often a watch may fail to open or to last before the whole state is read again, to be safe.
const WATCH_FAILURES: u32 = 5;

/// How often the server may refuse requests that carry a version before the version itself is given up.
const VERSION_REFUSALS: u32 = 3;

/// How many watches in a row may bring nothing before the server's version is looked at.
const MUTE_WATCHES: u32 = 2;

/// Bookmarks come about once a minute. A watch shorter than this may have ended before its first one.
const FIRST_BOOKMARK: Duration = Duration::from_secs(180);

/// The longest time a server is given to begin its answer, however late its last answers were.
const LONGEST_ANSWER: Duration = Duration::from_secs(600);

/// The page size where none is configured.
const DEFAULT_PAGE: u32 = 500;

/// What a reflector remembers between requests.
#[derive(Debug)]
pub(super) struct Memory {
    /// The time of the decision at hand. The clock is an input, as everything else is.
    now: Instant,
    position: Position,
    continuity: Continuity,
    streaming: Streaming,
    paging: Paging,
    watch_failures: u32,
    version_refusals: u32,
    /// How many watches in a row brought nothing at all.
    mute_watches: u32,
    /// How long the next answer may take, where the source's own deadline was too short.
    answer_within: Option<Duration>,
}

/// Whether the server can still answer for the last version seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuity {
    Kept,
    /// It cannot: the next state is the newest, whatever its version.
    Lost,
}

/// Whether the server pages a list of any cached state: then it has no watch cache, and pages always make
/// sense.
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
        }
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

    /// How long the next answer may take; `None` leaves it to the source.
    pub(super) fn answer_within(&self) -> Option<Duration> {
        self.answer_within
    }

    /// A request was answered in time.
    pub(super) fn answered(&mut self) {
        self.answer_within = None;
    }

    /// How to read the whole state now: never older than what was seen, unless the server cannot do that.
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
            (None, Continuity::Kept) => ListFrom::AnyCached,
        };
        Phase::List { from }
    }

    /// How many items to ask for at once: upstream's rules (R10).
    pub(super) fn limit(&self, from: &ListFrom, page_size: Option<u32>) -> Option<u32> {
        match (page_size, self.paging, from) {
            (Some(size), ..) => Some(size),
            (None, Paging::Always, _) => Some(DEFAULT_PAGE),
            // The watch cache answers these, and would ignore pages.
            (None, Paging::WhereUseful, ListFrom::NotOlderThan(_) | ListFrom::Exactly(_)) => None,
            (None, Paging::WhereUseful, ListFrom::MostRecent | ListFrom::AnyCached) => Some(DEFAULT_PAGE),
        }
    }

    /// A list of whatever was at hand came in pages.
    pub(super) fn saw_pages_of_any_cached(&mut self) {
        self.paging = Paging::Always;
    }

    /// An ordered version was seen in a watch.
    pub(super) fn observe(&mut self, version: &ResourceVersion) {
        if mutant::is("I11") {
            return;
        }
        if self.last().is_none_or(|last| !version.is_older_than(last)) {
            self.position.version = Some(version.clone());
        }
    }

    /// Something in a watch could not be read, not even its name: what it was is found by the next list, at the latest when the
    /// watch ends.
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

    fn read(&mut self, version: ResourceVersion, coverage: Coverage) {
        self.position = Position {
            version: Some(version),
            coverage,
        };
        self.continuity = Continuity::Kept;
        self.version_refusals = 0;
        self.answered();
    }

    /// What to do after a watch-list or a list that brought no state.
    pub(super) fn after_list_failure(&mut self, phase: &Phase, failure: ListFailure) -> Next {
        let by_watch_list = matches!(phase, Phase::WatchList { .. });
        if !by_watch_list {
            self.streaming.list_failed();
        }
        match failure {
            ListFailure::Silent(error) => {
                let fallback = self.streaming.not_completed(&error.to_string(), self.now);
                self.fall_back(fallback, error)
            }
            ListFailure::Unfinished => {
                let error = SourceError::Protocol(
                    "the stream ended before the initial state was complete".to_owned(),
                );
                let fallback = self.streaming.unfinished(&error.to_string(), self.now);
                self.fall_back(fallback, error)
            }
            ListFailure::Older(error) => {
                self.continuity = Continuity::Lost;
                self.again(error)
            }
            ListFailure::Failed(error) if error.is_forbidden() || error.is_not_found() => self.refused(error),
            ListFailure::Failed(error) if error.is_expired() || error.is_too_large_version() => {
                self.continuity = Continuity::Lost;
                if phase.is_of_newest() {
                    return self.again(error);
                }
                Next {
                    phase: self.start(),
                    pause: Pause::None,
                    report: None,
                }
            }
            ListFailure::Failed(error) if error.is_connection_refused() || error.is_too_many_requests() => {
                self.again(error)
            }
            ListFailure::Failed(error) if by_watch_list && error.is_watch_list_refused() => {
                self.streaming.refused(&error.to_string(), self.now);
                self.list_at_once()
            }
            ListFailure::Failed(error) if phase.version().is_some() && self.gives_up_version(&error) => {
                self.again(error)
            }
            ListFailure::Failed(error) if by_watch_list && error.may_refuse_watch_list() => {
                self.streaming.doubt(&error.to_string());
                self.list_at_once()
            }
            ListFailure::Failed(error) => {
                self.wait_longer_after(&error);
                // The stream may be what fails, so this once the state is read by LIST; the next time may be better.
                if by_watch_list {
                    self.list_after(error)
                } else {
                    self.again(error)
                }
            }
        }
    }

    fn fall_back(&self, fallback: Fallback, error: SourceError) -> Next {
        match fallback {
            Fallback::Stream => self.again(error),
            Fallback::ListOnce => self.list_after(error),
            // The list is not to blame, so it does not wait; the failure is reported nevertheless.
            Fallback::Lists => Next {
                report: Some((error, FailureState::BackingOff)),
                ..self.list_at_once()
            },
        }
    }

    /// Read the whole state by LIST, without a wait.
    fn list_at_once(&self) -> Next {
        Next {
            phase: self.start_list(),
            pause: Pause::None,
            report: None,
        }
    }

    /// Read the whole state by LIST, after a wait.
    fn list_after(&self, error: SourceError) -> Next {
        Next {
            phase: self.start_list(),
            ..self.again(error)
        }
    }

    /// Grants the next request more time if the last one was not answered in time: a large list on a busy
    /// server may take minutes, and asking again after the same short time would never succeed.
    fn wait_longer_after(&mut self, error: &SourceError) {
        if let Some(after) = error.answer_deadline() {
            let longer = after.saturating_mul(2).min(LONGEST_ANSWER).max(after);
            self.answer_within = Some(longer);
        }
    }

    /// Counts refusals of requests that carry a version. After a few of them in a row the version is given
    /// up: it may be invalid, or too long for the server's limits, and the server would refuse it for ever.
    fn gives_up_version(&mut self, error: &SourceError) -> bool {
        if !error.may_refuse_version() {
            return false;
        }
        self.version_refusals += 1;
        if self.version_refusals < VERSION_REFUSALS {
            return false;
        }
        self.version_refusals = 0;
        self.continuity = Continuity::Lost;
        true
    }

    /// What to do after a watch.
    pub(super) fn after_watch(&mut self, from: ResourceVersion, end: WatchEnd) -> Next {
        let from = self.last().cloned().unwrap_or(from);
        let resume = match self.position.coverage {
            Coverage::Complete => Phase::Watch { from },
            // What was deleted before that list, or could not be read since, is wrong in the cache; a list
            // that can be read corrects it.
            Coverage::Partial => self.start(),
        };
        if end.events > 0 {
            self.watch_failures = 0;
            self.version_refusals = 0;
        }
        let healthy = end.health() == Health::Proven;
        let WatchEnd {
            reason,
            lived,
            events,
        } = end;
        match reason {
            EndReason::Closed if lived >= VERY_SHORT => {
                let phase = match (resume, self.is_version_in_doubt(lived, events)) {
                    (Phase::Watch { from }, true) => Phase::Probe { from },
                    (resume, _) => resume,
                };
                self.resume(phase)
            }
            EndReason::Closed => {
                let error = SourceError::Protocol(format!(
                    "a watch was closed after {lived:.1?} and {events} events"
                ));
                self.watch_failed(resume, error, FailureState::BackingOff)
            }
            EndReason::Overdue { .. } if healthy => self.resume(resume),
            EndReason::Overdue { silent_for } => {
                let error = SourceError::Deadline {
                    what: "events, a bookmark or the end of a watch",
                    after: silent_for,
                };
                self.watch_failed(resume, error, FailureState::Stalled)
            }
            EndReason::UnreadableDelete => {
                let error =
                    SourceError::Protocol("an object was deleted and its name cannot be read".to_owned());
                self.again(error)
            }
            EndReason::Doubted => {
                // Not just any state as new as the one in doubt: the server's own cache may be wrong.
                self.continuity = Continuity::Lost;
                Next {
                    phase: self.start(),
                    pause: Pause::None,
                    report: None,
                }
            }
            EndReason::WentBack => {
                self.continuity = Continuity::Lost;
                self.again(SourceError::Protocol(
                    "a bookmark was older than what was already seen".to_owned(),
                ))
            }
            EndReason::Failed(error) if error.is_forbidden() || error.is_not_found() => self.refused(error),
            EndReason::Failed(error) if error.is_expired() || is_storage_read_error(&error) => {
                self.again(error)
            }
            EndReason::Failed(error) if error.is_too_large_version() => {
                self.continuity = Continuity::Lost;
                self.again(error)
            }
            EndReason::Failed(error) if error.is_connection_refused() || error.is_too_many_requests() => {
                Next {
                    phase: resume,
                    ..self.again(error)
                }
            }
            // Proxies cut connections after a while. The watch worked, so this is as good as a close.
            EndReason::Failed(error) if healthy && error.is_disconnect() => self.resume(resume),
            EndReason::Failed(error) if self.gives_up_version(&error) => self.again(error),
            EndReason::Failed(error) => {
                self.wait_longer_after(&error);
                self.watch_failed(resume, error, FailureState::BackingOff)
            }
        }
    }

    /// Whether enough watches in a row brought nothing that the server may not have reached their version.
    ///
    /// A server keeps a watch from a version that it has not reached open, and sends neither events nor
    /// bookmarks. That happens after an etcd restore, and after one wrong version from a proxy. Upstream stays
    /// live and blind until the server reaches the version.
    fn is_version_in_doubt(&mut self, lived: Duration, events: u64) -> bool {
        match (events, lived >= FIRST_BOOKMARK) {
            (0, true) => self.mute_watches += 1,
            (0, false) => {}
            _ => self.mute_watches = 0,
        }
        let in_doubt = self.mute_watches >= MUTE_WATCHES;
        if in_doubt {
            self.mute_watches = 0;
        }
        in_doubt
    }

    /// What to do after a probe, which found the version of the server's newest state.
    pub(super) fn after_probe(
        &mut self,
        from: ResourceVersion,
        found: Result<Option<ResourceVersion>, SourceError>,
    ) -> Next {
        match found {
            Ok(Some(newest)) if newest.is_older_than(&from) => {
                self.continuity = Continuity::Lost;
                self.resume(self.start())
            }
            Ok(_) => self.resume(Phase::Watch { from }),
            Err(error) => Next {
                phase: Phase::Watch { from },
                ..self.again(error)
            },
        }
    }

    /// Go on after a watch that ended as watches do.
    fn resume(&mut self, phase: Phase) -> Next {
        self.watch_failures = 0;
        self.version_refusals = 0;
        Next {
            phase,
            pause: Pause::Minimum,
            report: None,
        }
    }

    /// Resume after a wait; if that has failed too often, read everything again.
    fn watch_failed(&mut self, resume: Phase, error: SourceError, failure_state: FailureState) -> Next {
        self.watch_failures += 1;
        let mut again = self.again(error);
        again.report = again.report.map(|(error, _)| (error, failure_state));
        if self.watch_failures >= WATCH_FAILURES {
            self.watch_failures = 0;
            return again;
        }
        Next {
            phase: resume,
            ..again
        }
    }

    /// Read the whole state after a wait.
    fn again(&self, error: SourceError) -> Next {
        Next {
            phase: self.start(),
            pause: Pause::Backoff {
                at_least: error.retry_after(),
            },
            report: Some((error, FailureState::BackingOff)),
        }
    }

    /// Read the whole state after a long wait: somebody has to grant a right or install a resource first.
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
