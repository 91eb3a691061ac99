//! How a request ended, and what follows: the input and output of the reflector's decisions.

use std::time::Duration;

use super::super::pulse::SUSPICIOUS;
use super::Phase;
use crate::source::SourceError;
use crate::status::State;

/// A watch shorter than this is a failure, even if it was closed normally and delivered events. Otherwise a
/// server that closes every watch after its first event would get requests as fast as it answers.
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);

/// The next request, the wait before it, and what is reported meanwhile.
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
    /// The shortest pause between requests, without a failure.
    Minimum,
    /// One step of the backoff, and at least what the server requested.
    Backoff {
        at_least: Option<Duration>,
    },
    /// The long wait after a 403 or 404.
    Refused,
    /// The long wait after a limit was reached: reading the whole state again is expensive.
    OverLimit,
}

/// The [`State`] that a failure leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum FailureState {
    BackingOff,
    Stalled,
    Forbidden,
    NotFound,
    LimitReached,
}

impl FailureState {
    pub(in super::super) fn into_state(self, error: &SourceError, retry_in: Duration) -> State {
        let error = error.clone();
        match self {
            Self::BackingOff => State::BackingOff { error, retry_in },
            Self::Stalled => State::Stalled,
            Self::Forbidden => State::Forbidden { error },
            Self::NotFound => State::NotFound { error },
            Self::LimitReached => State::LimitReached { error },
        }
    }
}

/// How a watch ended.
#[derive(Debug)]
pub(in super::super) struct WatchEnd {
    pub(in super::super) reason: EndReason,
    /// How long it was open; zero if it was never opened.
    pub(in super::super) lived: Duration,
    /// How many events it delivered, including bookmarks.
    pub(in super::super) events: u64,
}

/// Why a watch ended.
#[derive(Debug)]
pub(in super::super) enum EndReason {
    /// The server closed it normally.
    Closed,
    /// It could not be opened, it broke, or the server sent an error.
    Failed(SourceError),
    /// It exceeded its timeout or missed its bookmarks; nothing had arrived for this long.
    Overdue { silent_for: Duration },
    /// An object was deleted whose key cannot be read. Only a list shows which one.
    UnreadableDelete,
    /// A bookmark was older than the last version: the server's history was rewound during the watch.
    WentBack,
    /// An audit found a difference and requested a relist.
    Doubted,
    /// A watch from a saved version was silent for as long as it may be.
    Unconfirmed,
}

/// What a watch proves about server and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Health {
    /// It delivered data, and another watch can resume it: the backoff is reset.
    Proven,
    /// It was healthy for this long, which may or may not be enough.
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
            // Silence proves nothing.
            EndReason::Overdue { .. } if self.events == 0 => Health::For(Duration::ZERO),
            EndReason::Overdue { silent_for } => Health::For(self.lived.saturating_sub(*silent_for)),
            EndReason::Closed if self.made_progress() => Health::Proven,
            EndReason::Failed(error) if self.made_progress() && is_resumed(error) => Health::Proven,
            // Followed by a list, which is expensive: data alone must not reset the backoff.
            _ => Health::For(self.lived),
        }
    }

    /// Whether the watch ended normally, which proves that the server is alive.
    pub(in super::super) fn is_orderly(&self) -> bool {
        matches!(self.reason, EndReason::Closed) && self.lived >= VERY_SHORT
    }

    /// Whether the watch delivered anything and did not end at once.
    pub(super) fn made_progress(&self) -> bool {
        self.events > 0 && self.lived >= VERY_SHORT
    }
}

/// Whether a watch that failed with this error is resumed by another watch.
fn is_resumed(error: &SourceError) -> bool {
    !(error.is_expired()
        || error.is_too_large_version()
        || error.is_forbidden()
        || error.is_not_found()
        || error.is_limit_reached()
        || is_storage_read_error(error))
}

/// Whether the server could not read an object in its storage. A watch reports the forced deletion of a
/// corrupt object like this, without its name, so only a list shows which one was deleted.
pub(super) fn is_storage_read_error(error: &SourceError) -> bool {
    error
        .status()
        .is_some_and(|status| status.reason == "StorageReadError")
}

/// Why a list returned no state.
#[derive(Debug)]
pub(in super::super) enum ListFailure {
    /// The request or the stream failed.
    Failed(SourceError),
    /// The stream was closed normally before the state was complete.
    Unfinished,
    /// A watch-list made no progress towards its end bookmark for too long.
    Silent(SourceError),
    /// The server returned a state older than one already seen.
    Older(SourceError),
}
