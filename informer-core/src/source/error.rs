//! Errors of lists and watches, and what they mean for a reflector.

use std::fmt;
use std::time::Duration;

use crate::printable::Printable;

/// What the server says when asked for a version it has not reached yet, in every release since 1.15.
const TOO_LARGE_MESSAGE: &str = "Too large resource version";
/// The cause that says the same to machines, since 1.20.
const TOO_LARGE_CAUSE: &str = "ResourceVersionTooLarge";
/// The parameters that request a streamed initial state. A kube-apiserver names them when it refuses them.
const STREAMING_PARAMETERS: [&str; 2] = ["sendInitialEvents", "resourceVersionMatch"];
/// What a [`SourceError::Deadline`] says was waited for, when no answer began in time.
pub(super) const ANSWER: &str = "the answer to a request";

/// Why a list or a watch failed.
///
/// Texts of the server are printed escaped, and cut at 1,024 characters.
///
/// `Clone`, so that one error can stand in `status()`, in a log line and in an event.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server answered with an error, as a response or as an event in a watch.
    #[error("the server answered {status}")]
    Status {
        /// What it said.
        status: ServerStatus,
    },
    /// No connection could be made.
    #[error("cannot connect to the server: {}", Printable::message(.0))]
    Connect(String),
    /// The connection broke while a response was read.
    #[error("the connection broke: {}", Printable::message(.0))]
    Transport(String),
    /// Nothing came for longer than was agreed.
    #[error("no answer within {after:?} while waiting for {what}")]
    Deadline {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The response is not what was asked for.
    #[error("the response cannot be understood: {}", Printable::message(.0))]
    Protocol(String),
    /// One frame or item is larger than the limit.
    #[error(
        "an object in the response is larger than the limit of {limit} bytes; raise `max_object_bytes` if it is legitimate"
    )]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A whole list is larger than the limit.
    #[error("the list has more than {limit} {unit}; raise `{setting}` if that is legitimate")]
    ListTooLarge {
        /// The limit.
        limit: u64,
        /// What is counted: `bytes` or `objects`.
        unit: &'static str,
        /// The setting that holds the limit.
        setting: &'static str,
    },
    /// The request could not even be made: a bad selector, bad credentials, a bad URL.
    #[error("the request cannot be made: {}", Printable::message(.0))]
    Request(String),
}

crate::__debug_is_the_message!(SourceError);

/// An error answer of the server (`metav1.Status`), as far as the library needs it.
///
/// A [`KubeSource`] escapes and cuts the texts while it reads them: a reason at 253 characters, messages at
/// 1,024.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, such as `Expired` or `Forbidden`; may be empty.
    pub reason: String,
    /// The server's sentence.
    pub message: String,
    /// How long the server asks to wait before the next request (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// The machine-readable causes (`details.causes[].reason`) with their messages.
    pub causes: Vec<(String, String)>,
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
        Ok(())
    }
}

impl SourceError {
    /// What the server said, if it was the server that refused.
    pub fn status(&self) -> Option<&ServerStatus> {
        match self {
            Self::Status { status } => Some(status),
            _ => None,
        }
    }

    /// The version asked for is no longer known (410, `Expired` or `Gone`): list again.
    pub fn is_expired(&self) -> bool {
        self.is_code_or_reason(410, &["Expired", "Gone"])
    }

    /// The version asked for is not known yet, for example by a replica that lags behind: list again, without a version.
    ///
    /// Recognises the three forms servers have used: a cause `ResourceVersionTooLarge`, a timeout whose cause says
    /// "Too large resource version", and a message that says so.
    pub fn is_too_large_version(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_timeout = status.reason == "Timeout" || status.code == 504;
        status.causes.iter().any(|(reason, message)| {
            reason == TOO_LARGE_CAUSE || (is_timeout && message.contains(TOO_LARGE_MESSAGE))
        }) || status.message.contains(TOO_LARGE_MESSAGE)
    }

    /// The server asks for fewer requests (429): wait and ask the same again. [`retry_after`](Self::retry_after) may
    /// say for how long.
    pub fn is_too_many_requests(&self) -> bool {
        self.is_code_or_reason(429, &["TooManyRequests"])
    }

    /// No connection could be made: nobody listens, the name does not resolve, the handshake failed. Wait and ask the
    /// same again.
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    /// The connection broke while it was in use. A watch can go on from the last version it saw.
    pub fn is_disconnect(&self) -> bool {
        matches!(self, Self::Transport(_))
    }

    /// The credentials are good, but not for this resource (403). Passes only when someone grants the right.
    pub fn is_forbidden(&self) -> bool {
        self.is_code_or_reason(403, &["Forbidden"])
    }

    /// The credentials are missing, wrong or expired (401).
    pub fn is_unauthorized(&self) -> bool {
        self.is_code_or_reason(401, &["Unauthorized"])
    }

    /// The resource does not exist (404): a custom resource definition that is not installed, or was removed.
    pub fn is_not_found(&self) -> bool {
        self.is_code_or_reason(404, &["NotFound"])
    }

    /// The server understood the request and finds a parameter invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.is_code_or_reason(422, &["Invalid"])
    }

    /// The server does not take the parameters of a streamed initial state, and says so: 400 or 422 with the
    /// name of one of them, `sendInitialEvents` or `resourceVersionMatch`, in its message or causes. Use a
    /// list instead.
    pub fn is_watch_list_refused(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_named = |text: &str| STREAMING_PARAMETERS.iter().any(|name| text.contains(name));
        let causes = status.causes.iter();
        (self.is_invalid() || self.is_code_or_reason(400, &["BadRequest"]))
            && (is_named(&status.message) || causes.into_iter().any(|(_, message)| is_named(message)))
    }

    /// The server may have refused the parameters of a streamed initial state, or anything else in the
    /// request: 400 and 422 without a parameter's name, and 405, 406 or 501, which servers other than a
    /// kube-apiserver send. Whether a list works shows which.
    pub(crate) fn may_refuse_watch_list(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(405, &["MethodNotAllowed"])
            || self.is_code_or_reason(406, &["NotAcceptable"])
            || self.is_code_or_reason(501, &[])
    }

    /// The server may have refused the resource version of the request: it cannot parse it (400, 422), or the
    /// request became too long by it (414, 431).
    pub(crate) fn may_refuse_version(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(414, &[])
            || self.is_code_or_reason(431, &[])
    }

    /// How long the answer to a request was waited for, if it did not come in time.
    pub(crate) fn answer_deadline(&self) -> Option<Duration> {
        match self {
            Self::Deadline { what: ANSWER, after } => Some(*after),
            _ => None,
        }
    }

    /// The server failed (500).
    pub fn is_internal(&self) -> bool {
        self.is_code_or_reason(500, &["InternalError"])
    }

    /// How long the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(|status| status.retry_after)
    }

    /// Proxies send codes without reasons, and events may carry reasons without codes: either is enough.
    fn is_code_or_reason(&self, code: u16, reasons: &[&str]) -> bool {
        self.status()
            .is_some_and(|status| status.code == code || reasons.contains(&status.reason.as_str()))
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
