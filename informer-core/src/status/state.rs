//! The states of an informer.

use std::fmt;
use std::time::Duration;

use crate::source::SourceError;

/// What an informer is doing in one scope. Whether its cache is complete is a separate question: see
/// `has_synced`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum State {
    /// The informer was not started.
    NotStarted,
    /// The informer is reading the whole state.
    Listing {
        /// How many objects were received.
        received: u64,
        /// How many objects the list has, if the server reported it.
        expected: Option<u64>,
    },
    /// A watch is open: changes arrive as they happen.
    Live,
    /// A watch was silent past its timeout or missed its bookmarks, and was not closed: the connection or the
    /// server is dead.
    ///
    /// The watch was replaced. Opening a stream proves nothing, so this state lasts until an event, a
    /// bookmark or a list arrives, or until the server closes a watch normally. It counts as an error.
    Stalled,
    /// A request or stream failed and will be retried.
    BackingOff {
        /// What failed.
        error: SourceError,
        /// The wait before the next attempt.
        retry_in: Duration,
    },
    /// The server forbids listing or watching this resource. Retried slowly, in case access is granted.
    Forbidden {
        /// The server's answer.
        error: SourceError,
    },
    /// The server does not have this resource. Retried slowly, in case it is installed.
    NotFound {
        /// The server's answer.
        error: SourceError,
    },
    /// The server has more objects than the informer may hold. The cache keeps the last state that was within
    /// the limit and does not follow changes. The whole state is read again every one to two minutes, and the
    /// cache is current again when it is within the limit.
    LimitReached {
        /// The limit, and what to do.
        error: SourceError,
    },
    /// The informer was paused: it sends no requests, and its cache is the last state.
    Paused,
    /// The informer has stopped. It does not start again.
    Stopped,
}

impl State {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::NotStarted => "NotStarted",
            Self::Listing { .. } => "Listing",
            Self::Live => "Live",
            Self::Stalled => "Stalled",
            Self::BackingOff { .. } => "BackingOff",
            Self::Forbidden { .. } => "Forbidden",
            Self::NotFound { .. } => "NotFound",
            Self::LimitReached { .. } => "LimitReached",
            Self::Paused => "Paused",
            Self::Stopped => "Stopped",
        }
    }

    pub(super) const fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::BackingOff { retry_in, .. } => Some(*retry_in),
            _ => None,
        }
    }

    /// Orders states from healthy to unhealthy: an informer's state is that of its worst scope.
    pub(crate) fn severity(&self) -> u8 {
        match self {
            Self::Live => 0,
            Self::Listing { .. } => 1,
            Self::Stalled => 2,
            Self::BackingOff { .. } => 3,
            Self::LimitReached { .. } => 4,
            Self::NotFound { .. } => 5,
            Self::Forbidden { .. } => 6,
            Self::Paused => 7,
            Self::NotStarted => 8,
            Self::Stopped => 9,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("not started"),
            Self::Listing {
                received,
                expected: Some(expected),
            } => write!(f, "listing, {received} of {expected}"),
            Self::Listing {
                received,
                expected: None,
            } => write!(f, "listing, {received} so far"),
            Self::Live => f.write_str("live"),
            Self::Stalled => f.write_str("stalled: nothing arrives from the server"),
            Self::BackingOff { error, retry_in } if retry_in.is_zero() => {
                write!(f, "trying again now: {error}")
            }
            Self::BackingOff { error, retry_in } => {
                write!(f, "trying again in {}: {error}", Wait(*retry_in))
            }
            Self::Forbidden { error } => write!(f, "forbidden, trying again slowly: {error}"),
            Self::NotFound { error } => write!(f, "not found, trying again slowly: {error}"),
            Self::LimitReached { error } => write!(f, "over a limit, trying again slowly: {error}"),
            Self::Paused => f.write_str("paused"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// Displays a wait for people: `350ms`, `12.5s`, `10m`.
pub(super) struct Wait(pub(super) Duration);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_millis() {
            0 => f.write_str("less than 1ms"),
            millis @ 1..1_000 => write!(f, "{millis}ms"),
            1_000..120_000 => write!(f, "{seconds:.1}s"),
            _ => write!(f, "{:.0}m", seconds / 60.0),
        }
    }
}
