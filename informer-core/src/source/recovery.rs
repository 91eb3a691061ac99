//! Classifies errors by what has to happen before a retry can succeed. A wait for sync uses it.

use super::{ServerStatus, SourceError};

/// What has to happen before a request that failed can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// A user has to act: grant a permission, renew a token, install a CRD, fix a selector or a certificate.
    NeedsAction,
    /// The server has to become reachable and healthy: connections fail or break, responses are late, invalid
    /// or 5xx.
    Unreachable,
    /// The server limits the rate or the version has expired (429, 410): a later attempt succeeds.
    Transient,
}

impl SourceError {
    /// Returns what has to happen before the request that failed with this error can succeed.
    pub fn recovery(&self) -> Recovery {
        match self {
            Self::Status { .. } if self.is_expired() || self.is_too_large_version() => Recovery::Transient,
            Self::Status { status } => of_status(status),
            Self::Connect(text) | Self::Transport(text) if is_about_tls(text) => Recovery::NeedsAction,
            Self::Connect(_) | Self::Transport(_) | Self::Deadline { .. } | Self::Protocol(_) => {
                Recovery::Unreachable
            }
            Self::TooLarge { .. }
            | Self::ListTooLarge { .. }
            | Self::LimitReached { .. }
            | Self::TotalReached { .. }
            | Self::Request(_) => Recovery::NeedsAction,
        }
    }
}

fn of_status(status: &ServerStatus) -> Recovery {
    match (status.code, status.reason.as_str()) {
        // Timeouts, conflicts and rate limits pass without intervention.
        (408 | 409 | 429, _) | (0, "TooManyRequests" | "Timeout" | "Conflict") => Recovery::Transient,
        (400..=499, _)
        | (
            0,
            "BadRequest"
            | "Unauthorized"
            | "Forbidden"
            | "NotFound"
            | "MethodNotAllowed"
            | "NotAcceptable"
            | "Invalid"
            | "UnsupportedMediaType",
        ) => Recovery::NeedsAction,
        // Not implemented: a retry does not help.
        (501, _) => Recovery::NeedsAction,
        _ => Recovery::Unreachable,
    }
}

/// Whether a connection failed because of TLS: an untrusted certificate, or no common protocol.
///
/// The TLS libraries are not dependencies of this crate, so this matches the texts of their errors: rustls
/// has "invalid peer certificate", "received fatal alert" and "received corrupt message", OpenSSL
/// "certificate verify failed".
fn is_about_tls(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "certificate",
        "fatal alert",
        "corrupt message",
        "wrong version number",
    ]
    .iter()
    .any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn status(code: u16, reason: &str) -> SourceError {
        SourceError::Status {
            status: ServerStatus {
                code,
                reason: reason.to_owned(),
                ..ServerStatus::default()
            },
        }
    }

    #[test]
    fn every_error_determines_the_recovery() {
        use Recovery::{NeedsAction, Transient, Unreachable};
        let text = str::to_owned;
        let cases = [
            (status(400, ""), NeedsAction),
            (status(401, "Unauthorized"), NeedsAction),
            (status(403, "Forbidden"), NeedsAction),
            (status(0, "Forbidden"), NeedsAction),
            (status(404, ""), NeedsAction),
            (status(405, ""), NeedsAction),
            (status(406, ""), NeedsAction),
            (status(415, ""), NeedsAction),
            (status(422, "Invalid"), NeedsAction),
            (status(431, ""), NeedsAction),
            (status(501, ""), NeedsAction),
            (status(408, ""), Transient),
            (status(410, "Expired"), Transient),
            (status(429, ""), Transient),
            (status(0, "TooManyRequests"), Transient),
            (status(500, "InternalError"), Unreachable),
            (status(502, ""), Unreachable),
            (status(503, ""), Unreachable),
            (status(504, "Timeout"), Unreachable),
            (status(302, ""), Unreachable),
            (
                SourceError::Connect(text("tcp connect error: Connection refused")),
                Unreachable,
            ),
            (
                SourceError::Connect(text("failed to lookup address information")),
                Unreachable,
            ),
            (SourceError::Connect(text("tls handshake eof")), Unreachable),
            (
                SourceError::Connect(text("invalid peer certificate: UnknownIssuer")),
                NeedsAction,
            ),
            (
                SourceError::Transport(text("received fatal alert: CertificateRequired")),
                NeedsAction,
            ),
            (
                SourceError::Transport(text("connection reset by peer")),
                Unreachable,
            ),
            (
                SourceError::Deadline {
                    what: "an answer",
                    after: Duration::from_secs(30),
                },
                Unreachable,
            ),
            (SourceError::Protocol(text("not JSON")), Unreachable),
            (SourceError::TooLarge { limit: 1 }, NeedsAction),
            (SourceError::Request(text("no credentials")), NeedsAction),
        ];
        for (error, expected) in cases {
            assert_eq!(error.recovery(), expected, "{error}");
        }
    }

    #[test]
    fn a_version_that_the_server_has_not_reached_is_transient() {
        let mut error = status(504, "Timeout");
        let SourceError::Status { status } = &mut error else {
            unreachable!("made above");
        };
        status.message = "Too large resource version: 12, current: 9".to_owned();
        assert_eq!(error.recovery(), Recovery::Transient);
    }
}
