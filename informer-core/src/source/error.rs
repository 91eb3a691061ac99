//! Errors of lists and watches, and what they mean for a reflector.

use std::fmt;
use std::time::Duration;

use crate::printable::Printable;

/// The message for a version that the server has not reached yet, in every release since 1.15.
const TOO_LARGE_MESSAGE: &str = "Too large resource version";
/// The machine-readable cause of the same error, since 1.20.
const TOO_LARGE_CAUSE: &str = "ResourceVersionTooLarge";
/// The parameters that request a streamed initial state. A kube-apiserver names them when it rejects them.
const STREAMING_PARAMETERS: [&str; 2] = ["sendInitialEvents", "resourceVersionMatch"];
/// The value of `what` in a [`SourceError::Deadline`] if no response began in time.
pub(super) const ANSWER: &str = "the answer to a request";

/// Why a list or a watch failed.
///
/// Texts of the server are escaped and truncated to 1,024 characters when printed.
///
/// `Clone`, so that `status()`, a log line and an event can hold the same error.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server sent an error, as a response or as an event of a watch.
    #[error("the server answered {status}")]
    Status {
        /// The error.
        status: ServerStatus,
    },
    /// No connection could be established.
    #[error("cannot connect to the server: {}", Printable::message(.0))]
    Connect(String),
    /// The connection broke while a response was read.
    #[error("the connection broke: {}", Printable::message(.0))]
    Transport(String),
    /// The server sent nothing within a time limit.
    #[error("no answer within {after:?} while waiting for {what}")]
    Deadline {
        /// What the source waited for.
        what: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// The response is invalid, or is not the requested one.
    #[error("invalid response: {}", Printable::message(.0))]
    Protocol(String),
    /// An object in a list or a watch is larger than the limit.
    #[error(
        "an object in the response is larger than the limit of {limit} bytes; raise `max_object_bytes` to \
         accept it"
    )]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A list is larger than the limit.
    #[error("the list has more than {limit} {unit}; raise `{setting}` to accept it")]
    ListTooLarge {
        /// The limit.
        limit: u64,
        /// The unit of the limit: `bytes` or `objects`.
        unit: &'static str,
        /// The option that sets the limit.
        setting: &'static str,
    },
    /// The objects of the server are more than an informer may hold. Its cache keeps the last state that was
    /// within the limit.
    #[error(
        "the cache would hold more than {limit} {unit}; it stays at its last state until the server has \
         less; raise `{setting}`, or cache less: a label selector, fewer namespaces, a projection, packed \
         storage"
    )]
    LimitReached {
        /// The limit.
        limit: u64,
        /// The unit of the limit: `bytes` or `objects`.
        unit: &'static str,
        /// The option that sets the limit.
        setting: &'static str,
    },
    /// The objects of the server are more than all informers of a factory may hold together. The cache keeps
    /// its last state.
    #[error(
        "all caches of the factory together would hold more than {limit} bytes; this one stays at its last \
         state until the server has less or another cache is released; raise `max_total_bytes`, or cache \
         less: a label selector, fewer namespaces, a projection, packed storage"
    )]
    TotalReached {
        /// The limit in bytes.
        limit: u64,
    },
    /// The request could not be sent because of its selector, credentials or URL.
    #[error("cannot send the request: {}", Printable::message(.0))]
    Request(String),
}

crate::__debug_is_the_message!(SourceError);

/// An error of the server (`metav1.Status`), as far as the library needs it.
///
/// A [`KubeSource`](super::KubeSource) escapes the texts and truncates them: a reason to 253 characters,
/// messages to 1,024.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, such as `Expired` or `Forbidden`; may be empty.
    pub reason: String,
    /// The message.
    pub message: String,
    /// How long to wait before the next request (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// The machine-readable causes (`details.causes[].reason`) with their messages.
    pub causes: Vec<(String, String)>,
    /// What to do about it, added by a [`KubeSource`](super::KubeSource) to 401, 403 and 404; empty
    /// otherwise.
    pub hint: String,
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.reason.is_empty() {
            write!(f, " {}", Printable::name(&self.reason))?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", Printable::message(&self.message))?;
        }
        if !self.hint.is_empty() {
            write!(f, "; {}", Printable::message(&self.hint))?;
        }
        Ok(())
    }
}

impl SourceError {
    /// Returns the error of the server, if it sent one.
    pub fn status(&self) -> Option<&ServerStatus> {
        match self {
            Self::Status { status } => Some(status),
            _ => None,
        }
    }

    /// Whether the objects of the server are more than the informer may hold.
    pub fn is_limit_reached(&self) -> bool {
        matches!(
            self,
            Self::LimitReached { .. } | Self::TotalReached { .. } | Self::ListTooLarge { .. }
        )
    }

    /// Whether the requested version has expired (410, `Expired` or `Gone`): list again.
    pub fn is_expired(&self) -> bool {
        self.is_code_or_reason(410, &["Expired", "Gone"])
    }

    /// Whether the server has not reached the requested version, for example a replica that lags behind: list
    /// again, without a version.
    ///
    /// Recognises the three forms that servers have used: a cause `ResourceVersionTooLarge`, a timeout with a
    /// cause "Too large resource version", and a message with this text.
    pub fn is_too_large_version(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_timeout = status.reason == "Timeout" || status.code == 504;
        status.causes.iter().any(|(reason, message)| {
            reason == TOO_LARGE_CAUSE || (is_timeout && message.contains(TOO_LARGE_MESSAGE))
        }) || status.message.contains(TOO_LARGE_MESSAGE)
    }

    /// Whether the server limits the rate of requests (429): wait and retry.
    /// [`retry_after`](Self::retry_after) may say how long.
    pub fn is_too_many_requests(&self) -> bool {
        self.is_code_or_reason(429, &["TooManyRequests"])
    }

    /// Whether no connection could be established: the port is closed, the name does not resolve, the
    /// handshake failed, or the server refused the request's HTTP/2 stream. Wait and retry.
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    /// Whether the connection broke during a response. A watch can continue from the last version it saw.
    pub fn is_disconnect(&self) -> bool {
        matches!(self, Self::Transport(_))
    }

    /// Whether the credentials are valid but lack the permission (403). It has to be granted.
    pub fn is_forbidden(&self) -> bool {
        self.is_code_or_reason(403, &["Forbidden"])
    }

    /// Whether the credentials are missing, wrong or expired (401).
    pub fn is_unauthorized(&self) -> bool {
        self.is_code_or_reason(401, &["Unauthorized"])
    }

    /// Whether the resource does not exist (404): its custom resource definition is not installed, or was
    /// removed.
    pub fn is_not_found(&self) -> bool {
        self.is_code_or_reason(404, &["NotFound"])
    }

    /// Whether the server considers a parameter invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.is_code_or_reason(422, &["Invalid"])
    }

    /// Whether the server rejected the parameters of a streamed initial state: 400 or 422 with the name of
    /// one of them, `sendInitialEvents` or `resourceVersionMatch`, in the message or causes. Use a list
    /// instead.
    pub fn is_watch_list_refused(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_named = |text: &str| STREAMING_PARAMETERS.iter().any(|name| text.contains(name));
        let causes = status.causes.iter();
        (self.is_invalid() || self.is_code_or_reason(400, &["BadRequest"]))
            && (is_named(&status.message) || causes.into_iter().any(|(_, message)| is_named(message)))
    }

    /// Whether the server may have rejected the parameters of a streamed initial state, or anything else in
    /// the request: 400 and 422 without the name of a parameter, and 405, 406 or 501, which servers other
    /// than a kube-apiserver send. If a list succeeds, it was the parameters.
    pub(crate) fn may_refuse_watch_list(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(405, &["MethodNotAllowed"])
            || self.is_code_or_reason(406, &["NotAcceptable"])
            || self.is_code_or_reason(501, &[])
    }

    /// Whether the server may have rejected the resource version of the request: it cannot parse it (400,
    /// 422), or the version makes the request too long (414, 431).
    pub(crate) fn may_refuse_version(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(414, &[])
            || self.is_code_or_reason(431, &[])
    }

    /// Returns the deadline of the response, if no response began in time.
    pub(crate) fn answer_deadline(&self) -> Option<Duration> {
        match self {
            Self::Deadline { what: ANSWER, after } => Some(*after),
            _ => None,
        }
    }

    /// Whether the server failed (500).
    pub fn is_internal(&self) -> bool {
        self.is_code_or_reason(500, &["InternalError"])
    }

    /// Returns how long to wait before the next request, if the server sent it.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(|status| status.retry_after)
    }

    /// Checks code and reason; one match is enough. Proxies send codes without reasons, and events may have
    /// reasons without codes.
    fn is_code_or_reason(&self, code: u16, reasons: &[&str]) -> bool {
        self.status()
            .is_some_and(|status| status.code == code || reasons.contains(&status.reason.as_str()))
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
