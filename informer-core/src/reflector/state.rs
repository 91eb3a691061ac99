//! What to ask next: the reflector's decisions, without any asking.

use std::time::Duration;

use super::InitialState;
use crate::mutant;
use crate::resource_version::ResourceVersion;
use crate::source::{ListFrom, SourceError, WatchListFrom, WatchListSupport};
use crate::status::{State, WatchListVerdict};

/// How often a watch may fail to open or to last before the whole state is read again, to be safe.
const WATCH_FAILURES: u32 = 5;

/// How often a watch-list may end in good order without its bookmark before lists are used for good.
const UNFINISHED_WATCH_LISTS: u32 = 2;

/// A watch shorter than this is a failure, even if it was closed in good order.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// The page size where none is asked for.
const DEFAULT_PAGE: u32 = 500;

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Read the whole state through a watch, and go on with it.
    WatchList { from: WatchListFrom },
    /// Read the whole state by LIST.
    List { from: ListFrom },
    /// Watch for changes after a version.
    Watch { from: ResourceVersion },
}

impl Phase {
    /// What is asked for, and from where.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::WatchList {
                from: WatchListFrom::MostRecent,
            } => "WatchList(newest)",
            Self::WatchList { .. } => "WatchList(not older)",
            Self::List {
                from: ListFrom::MostRecent,
            } => "List(newest)",
            Self::List {
                from: ListFrom::AnyCached,
            } => "List(any)",
            Self::List { .. } => "List(not older)",
            Self::Watch { .. } => "Watch",
        }
    }
}

/// The next request, the wait before it, and what to report meanwhile.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) phase: Phase,
    pub(super) pause: Pause,
    pub(super) report: Option<(SourceError, Trouble)>,
}

/// How long to wait before the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    None,
    /// One step of the backoff, and at least what the server asked for.
    Backoff {
        at_least: Option<Duration>,
    },
    /// The slow pace of a refused request.
    Refused,
}

/// The state a failure is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    BackingOff,
    Forbidden,
    NotFound,
}

impl Trouble {
    pub(super) fn into_state(self, error: &SourceError, retry_in: Duration) -> State {
        let error = error.clone();
        match self {
            Self::BackingOff => State::BackingOff { error, retry_in },
            Self::Forbidden => State::Forbidden { error },
            Self::NotFound => State::NotFound { error },
        }
    }
}

/// How a watch ended.
#[derive(Debug)]
pub(super) struct WatchEnd {
    pub(super) reason: EndReason,
    /// How long it was open; zero if it never was.
    pub(super) lived: Duration,
    /// How many events it brought.
    pub(super) events: u64,
}

#[derive(Debug)]
pub(super) enum EndReason {
    /// The server closed it in good order.
    Closed,
    /// It could not be opened, or broke, or the server sent an error.
    Failed(SourceError),
    /// It was silent past its deadline.
    Overdue,
    /// Something was deleted and it cannot be read what: only the whole state can tell.
    UnreadableDelete,
    /// A bookmark was older than what was already seen: the server's history was rewound under the watch.
    WentBack,
    /// Somebody found the cache wrong and asked for a new list.
    Doubted,
}

/// How a list ended that brought no state.
#[derive(Debug)]
pub(super) enum ListFailure {
    /// The request or the stream failed.
    Failed(SourceError),
    /// The stream was closed in good order before the state was complete.
    Unfinished,
    /// A watch-list was silent for too long.
    Silent(SourceError),
    /// The server answered with a state older than one already seen.
    Older(SourceError),
}

/// What a reflector remembers between requests.
#[derive(Debug)]
pub(super) struct Memory {
    mode: InitialState,
    /// The last ordered version seen.
    last: Option<ResourceVersion>,
    continuity: Continuity,
    coverage: Coverage,
    verdict: WatchListVerdict,
    paging: Paging,
    unfinished_watch_lists: u32,
    watch_failures: u32,
}

/// Whether the server can still answer for the last version seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuity {
    Kept,
    /// It cannot: the next state is the newest, whatever its version.
    Lost,
}

/// Whether the last list, and all that came since, could be read in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    Whole,
    /// It had an object whose name could not be read, so that nothing could be deleted for being absent.
    Partial,
}

impl Coverage {
    pub(super) fn of(unreadable: usize) -> Self {
        if unreadable == 0 {
            Self::Whole
        } else {
            Self::Partial
        }
    }
}

/// Whether the server pages a list of whatever it has at hand: then it has no watch cache, and pages are always worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paging {
    WhereUseful,
    Always,
}

impl Memory {
    pub(super) fn new(mode: InitialState, support: WatchListSupport) -> Self {
        let verdict = match (mode, support) {
            (InitialState::List, _) => WatchListVerdict::Off,
            (_, WatchListSupport::Unsupported) => {
                WatchListVerdict::Refused("the source does not support it".to_owned())
            }
            _ => WatchListVerdict::Unknown,
        };
        Self {
            mode,
            last: None,
            continuity: Continuity::Kept,
            coverage: Coverage::Whole,
            verdict,
            paging: Paging::WhereUseful,
            unfinished_watch_lists: 0,
            watch_failures: 0,
        }
    }

    pub(super) fn verdict(&self) -> &WatchListVerdict {
        &self.verdict
    }

    pub(super) fn last(&self) -> Option<&ResourceVersion> {
        self.last.as_ref()
    }

    /// How to read the whole state now: never older than what was seen, unless the server cannot do that.
    pub(super) fn start(&self) -> Phase {
        let watch_list = self.mode == InitialState::WatchList
            && matches!(self.verdict, WatchListVerdict::Unknown | WatchListVerdict::Works);
        if watch_list {
            let from = match (&self.last, self.continuity) {
                (Some(version), Continuity::Kept) => WatchListFrom::NotOlderThan(version.clone()),
                _ => WatchListFrom::MostRecent,
            };
            return Phase::WatchList { from };
        }
        self.start_list()
    }

    fn start_list(&self) -> Phase {
        let from = match (&self.last, self.continuity) {
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
        if self.last.as_ref().is_none_or(|last| !version.is_older_than(last)) {
            self.last = Some(version.clone());
        }
    }

    /// Something in a watch could not be read, not even its name: what it was is found by the next list, at the latest when the
    /// watch ends.
    pub(super) fn missed_something(&mut self) {
        self.coverage = Coverage::Partial;
    }

    /// The whole state was read.
    pub(super) fn listed(&mut self, version: ResourceVersion, coverage: Coverage) {
        self.last = Some(version);
        self.coverage = coverage;
        self.continuity = Continuity::Kept;
    }

    /// A watch-list brought its end bookmark.
    pub(super) fn watch_list_works(&mut self) {
        self.verdict = WatchListVerdict::Works;
        self.unfinished_watch_lists = 0;
    }

    /// What to do after a watch-list or a list that brought no state.
    pub(super) fn after_list_failure(&mut self, phase: &Phase, failure: ListFailure) -> Next {
        let by_watch_list = matches!(phase, Phase::WatchList { .. });
        match failure {
            // It has worked before, so this is the network's silence, not the server's.
            ListFailure::Silent(error) if self.verdict == WatchListVerdict::Works => {
                let next = self.again(error);
                Next {
                    phase: self.start_list(),
                    ..next
                }
            }
            ListFailure::Silent(error) => self.refuse_watch_list(error.to_string(), Some(error)),
            ListFailure::Unfinished => {
                let error = SourceError::Protocol(
                    "the stream ended before the initial state was complete".to_owned(),
                );
                self.unfinished_watch_lists += 1;
                if by_watch_list && self.unfinished_watch_lists >= UNFINISHED_WATCH_LISTS {
                    return self.refuse_watch_list(error.to_string(), Some(error));
                }
                self.again(error)
            }
            ListFailure::Older(error) => {
                self.continuity = Continuity::Lost;
                self.again(error)
            }
            ListFailure::Failed(error) if error.is_forbidden() || error.is_not_found() => self.refused(error),
            ListFailure::Failed(error) if error.is_expired() || error.is_too_large_version() => {
                let asked_for_newest = matches!(
                    phase,
                    Phase::WatchList {
                        from: WatchListFrom::MostRecent
                    } | Phase::List {
                        from: ListFrom::MostRecent
                    }
                );
                self.continuity = Continuity::Lost;
                if asked_for_newest {
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
                self.refuse_watch_list(error.to_string(), None)
            }
            ListFailure::Failed(error) => {
                let next = self.again(error);
                // The stream may be what fails, so this once the state is read by LIST; the next time may be better.
                if by_watch_list {
                    Next {
                        phase: self.start_list(),
                        ..next
                    }
                } else {
                    next
                }
            }
        }
    }

    fn refuse_watch_list(&mut self, reason: String, report: Option<SourceError>) -> Next {
        self.verdict = WatchListVerdict::Refused(reason);
        Next {
            phase: self.start_list(),
            pause: Pause::None,
            report: report.map(|error| (error, Trouble::BackingOff)),
        }
    }

    /// What to do after a watch.
    pub(super) fn after_watch(&mut self, from: ResourceVersion, end: WatchEnd) -> Next {
        let WatchEnd {
            reason,
            lived,
            events,
        } = end;
        let from = self.last.clone().unwrap_or(from);
        let resume = match self.coverage {
            Coverage::Whole => Phase::Watch { from },
            // What was deleted before that list, or could not be read since, is not right in the cache; a list that can be read
            // makes it so.
            Coverage::Partial => self.start(),
        };
        if events > 0 {
            self.watch_failures = 0;
        }
        match reason {
            EndReason::Closed if lived >= VERY_SHORT => {
                self.watch_failures = 0;
                Next {
                    phase: resume,
                    pause: Pause::None,
                    report: None,
                }
            }
            EndReason::Closed => {
                let error = SourceError::Protocol(format!(
                    "a watch was closed after {lived:.1?} and {events} events"
                ));
                self.watch_failed(resume, error)
            }
            EndReason::Overdue => Next {
                phase: resume,
                pause: Pause::None,
                report: None,
            },
            EndReason::UnreadableDelete => {
                let error =
                    SourceError::Protocol("an object was deleted and its name cannot be read".to_owned());
                self.again(error)
            }
            EndReason::Doubted => {
                // Not just any state as new as the one that is doubted: the server's own cache may be what is wrong.
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
            EndReason::Failed(error) => self.watch_failed(resume, error),
        }
    }

    /// Resume after a wait; if that has failed too often, read everything again.
    fn watch_failed(&mut self, resume: Phase, error: SourceError) -> Next {
        self.watch_failures += 1;
        let again = self.again(error);
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
            report: Some((error, Trouble::BackingOff)),
        }
    }

    /// Read the whole state after a long wait: somebody has to grant a right or install a resource first.
    fn refused(&self, error: SourceError) -> Next {
        let trouble = if error.is_forbidden() {
            Trouble::Forbidden
        } else {
            Trouble::NotFound
        };
        Next {
            phase: self.start(),
            pause: Pause::Refused,
            report: Some((error, trouble)),
        }
    }
}

/// Whether the server could not read an object in its own storage. In a watch that is how the forced deletion of a corrupt
/// object is told, without its name: only the whole state says which one is gone.
fn is_storage_read_error(error: &SourceError) -> bool {
    error
        .status()
        .is_some_and(|status| status.reason == "StorageReadError")
}

#[cfg(test)]
mod tests;
