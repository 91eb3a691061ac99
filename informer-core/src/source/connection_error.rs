//! Errors of connections, with the host and the protocol.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tower::BoxError;

/// Where on a connection an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The connection could not be established, or the server refused to begin with the request. A retry
    /// loses nothing.
    Connect,
    /// The request was sent.
    Exchange,
}

/// The other end of a connection, and the protocol.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) host: Arc<str>,
    pub(crate) protocol: &'static str,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.host, self.protocol)
    }
}

impl Peer {
    pub(crate) fn error(&self, stage: Stage, error: impl Into<BoxError>) -> BoxError {
        Box::new(ConnectionError {
            peer: self.clone(),
            stage,
            error: error.into(),
        })
    }
}

/// An error of a connection of [`crate::client`]. Prints the error that it wraps; `source()` has its causes.
pub(crate) struct ConnectionError {
    pub(super) peer: Peer,
    pub(super) stage: Stage,
    error: BoxError,
}

crate::__debug_is_the_message!(ConnectionError);

impl ConnectionError {
    /// Prints the peer and the innermost cause.
    pub(super) fn summary(&self) -> String {
        let innermost = super::answer::causes(&*self.error).last();
        let why = innermost.map(ToString::to_string).unwrap_or_default();
        format!("{}: {why}", self.peer)
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.peer, self.error)
    }
}

impl StdError for ConnectionError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}
