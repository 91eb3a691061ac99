//! How a request ended, and what follows: the words in which the reflector and its decisions talk.

use std::time::Duration;

use super::super::pulse::SUSPICIOUS;
use super::Phase;
use crate::source::SourceError;
use crate::status::State;

/// A watch shorter than this is a failure, even if it was closed in good order and brought events: without
/// this a server that closes every watch after its first event would be asked as fast as it answers.
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);

/// The next request, the wait before it, and what to report meanwhile.
#[derive(Debug)]
pub(in super::super) struct Next {
    pub(in super::super) phase: Phase,
    pub(in super::super) pause: Pause,
    pub(in super::super) report: Option<(SourceError, FailureState)>,
}

/// How long to wait before the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Pause {
    None,
    /// The shortest pause between requests: nothing is wrong.
    Minimum,
    /// One step of the backoff, and at least what the server asked for.
    Backoff {
        at_least: Option<Duration>,
    },
    /// The slow pace of a refused request.
    Refused,
}

/// The state a failure is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum FailureState {
    BackingOff,
    Stalled,
    Forbidden,
    NotFound,
}

impl FailureState {
    pub(in super::super) fn into_state(self, error: &SourceError, retry_in: Duration) -> State {
        let error = error.clone();
        match self {
            Self::BackingOff => State::BackingOff { error, retry_in },
            Self::Stalled => State::Stalled,
            Self::Forbidden => State::Forbidden { error },
            Self::NotFound => State::NotFound { error },
        }
    }
}

/// How a watch ended.
#[derive(Debug)]
pub(in super::super) struct WatchEnd {
    pub(in super::super) reason: EndReason,
    /// How long it was open; zero if it never was.
    pub(in super::super) lived: Duration,
    /// How many events it brought, bookmarks included.
    pub(in super::super) events: u64,
}

#[derive(Debug)]
pub(in super::super) enum EndReason {
    /// The server closed it in good order.
    Closed,
    /// It could not be opened, or broke, or the server sent an error.
    Failed(SourceError),
    /// It outlived its timeout, or missed its bookmarks; nothing had arrived for this long.
    Overdue { silent_for: Duration },
    /// Something was deleted and its key cannot be read: only the whole state shows what it was.
    UnreadableDelete,
    /// A bookmark was older than what was already seen: the server's history was rewound under the watch.
    WentBack,
    /// An audit found the cache wrong and requested a new list.
    Doubted,
}

/// What a watch says about the health of server and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Health {
    /// It brought data, and another watch can follow it: the waits start from the beginning.
    Proven,
    /// It was well for this long, which may or may not be enough.
    For(Duration),
}

impl WatchEnd {
    /// The end of a watch that could not be opened.
    pub(in super::super) fn unopened(error: SourceError) -> Self {
        Self {
            reason: EndReason::Failed(error),
            lived: Duration::ZERO,
            events: 0,
        }
    }

    pub(in super::super) fn health(&self) -> Health {
        match &self.reason {
            EndReason::Overdue { silent_for } if self.events > 0 && *silent_for < SUSPICIOUS => {
                Health::Proven
            }
            // Silence is no sign of health.
            EndReason::Overdue { .. } if self.events == 0 => Health::For(Duration::ZERO),
            EndReason::Overdue { silent_for } => Health::For(self.lived.saturating_sub(*silent_for)),
            EndReason::Closed if self.made_progress() => Health::Proven,
            EndReason::Failed(error) if self.made_progress() && is_resumed(error) => Health::Proven,
            // What ends in a list is dear, so that data before it is not enough.
            _ => Health::For(self.lived),
        }
    }

    /// Whether the watch ended as watches do, so that the server is known to be there.
    pub(in super::super) fn is_orderly(&self) -> bool {
        matches!(self.reason, EndReason::Closed) && self.lived >= VERY_SHORT
    }

    /// Whether the watch brought anything and was not over at once.
    pub(super) fn made_progress(&self) -> bool {
        self.events > 0 && self.lived >= VERY_SHORT
    }
}

/// Whether a watch that failed like this is followed by another one from where it was.
fn is_resumed(error: &SourceError) -> bool {
    !(error.is_expired()
        || error.is_too_large_version()
        || error.is_forbidden()
        || error.is_not_found()
        || is_storage_read_error(error))
}

/// Whether the server could not read an object in its own storage. In a watch this is how the forced deletion
/// of a corrupt object is reported, without its name: only the whole state shows which one was deleted.
pub(super) fn is_storage_read_error(error: &SourceError) -> bool {
    error
        .status()
        .is_some_and(|status| status.reason == "StorageReadError")
}

/// How a list ended that brought no state.
#[derive(Debug)]
pub(in super::super) enum ListFailure {
    /// The request or the stream failed.
    Failed(SourceError),
    /// The stream was closed in good order before the state was complete.
    Unfinished,
    /// A watch-list made no progress towards its end bookmark for too long.
    Silent(SourceError),
    /// The server answered with a state older than one already seen.
    Older(SourceError),
}
