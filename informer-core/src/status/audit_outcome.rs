//! The results of an audit.

use std::fmt;
use std::time::Duration;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::source::SourceError;

/// The result of an audit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// The cache equalled the server at that version.
    Sound,
    /// The cache differed. The whole scope is read again.
    Mismatch(AuditMismatch),
    /// The audit could not compare, for this reason.
    Skipped(AuditSkipped),
}

/// How the cache differed from the server's state at the same version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditMismatch {
    /// Objects that only the server had.
    pub missing: Differences,
    /// Objects that only the cache had.
    pub extra: Differences,
    /// Objects that the cache had at another version.
    pub other_version: Differences,
}

impl AuditMismatch {
    /// How many objects differ.
    pub fn total(&self) -> u64 {
        self.missing.count + self.extra.count + self.other_version.count
    }
}

impl fmt::Display for AuditMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("missing", &self.missing),
            ("extra", &self.extra),
            ("at another version", &self.other_version),
        ];
        let mut separator = "";
        for (what, differences) in parts.into_iter().filter(|(_, found)| found.count > 0) {
            write!(f, "{separator}{differences} {what}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Objects that differ in one way: the number of all of them, and the first few keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// How many objects differ.
    pub count: u64,
    /// The keys of the first ten.
    pub first: Vec<ObjectKey>,
}

impl Differences {
    /// The largest number of keys kept.
    const NAMED: usize = 10;

    pub(crate) fn add(&mut self, key: impl FnOnce() -> ObjectKey) {
        self.count += 1;
        if self.first.len() < Self::NAMED {
            self.first.push(key());
        }
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.count)?;
        let mut separator = "";
        for key in &self.first {
            write!(f, "{separator}{key}")?;
            separator = ", ";
        }
        let more = if self.count > self.first.len() as u64 {
            ", ..)"
        } else {
            ")"
        };
        f.write_str(more)
    }
}

/// Why an audit could not compare.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuditSkipped {
    /// The informer was not live in this scope, or a new list was about to be committed. No request was made.
    NotLive,
    /// An object was received whose name cannot be read, so the cache is incomplete until a list can be read
    /// in full.
    Unreadable,
    /// The server no longer has the state at that version: the cache received nothing, not even a bookmark,
    /// for longer than the server keeps its history, or the list took that long.
    Expired(SourceError),
    /// The server requests a lower rate (429). The next audits are delayed.
    Busy(SourceError),
    /// The server forbids the list (401, 403) or does not have the resource (404).
    Refused(SourceError),
    /// The audit exceeded its time limit.
    Timeout {
        /// The time limit.
        after: Duration,
    },
    /// The server returned its state at another version than the requested one: it does not support exact
    /// versions.
    OtherVersion {
        /// The requested version.
        requested: ResourceVersion,
        /// The returned version.
        answered: ResourceVersion,
    },
    /// The list failed in another way.
    Failed(SourceError),
}

impl AuditSkipped {
    /// Classifies the error of a list.
    pub(crate) fn of(error: SourceError) -> Self {
        if error.is_expired() {
            Self::Expired(error)
        } else if error.is_too_many_requests() {
            Self::Busy(error)
        } else if error.is_forbidden() || error.is_unauthorized() || error.is_not_found() {
            Self::Refused(error)
        } else {
            Self::Failed(error)
        }
    }

    /// Whether the server is overloaded or faulty, so that the next audit should be delayed.
    pub(crate) fn is_server_failure(&self) -> bool {
        matches!(
            self,
            Self::Busy(_) | Self::Refused(_) | Self::Timeout { .. } | Self::Failed(_)
        )
    }

    /// The wait that the server requests.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Expired(error) | Self::Busy(error) | Self::Refused(error) | Self::Failed(error) => {
                error.retry_after()
            }
            _ => None,
        }
    }
}

impl fmt::Display for AuditSkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLive => f.write_str("the informer was not live"),
            Self::Unreadable => f.write_str("an object's name cannot be read, so the cache is incomplete"),
            Self::Expired(error) => write!(f, "the version has expired: {error}"),
            Self::Busy(error) => write!(f, "the server is busy: {error}"),
            Self::Refused(error) => write!(f, "the list was refused: {error}"),
            Self::Timeout { after } => write!(f, "it exceeded its limit of {after:?}"),
            Self::OtherVersion { requested, answered } => {
                write!(f, "version {requested} was requested and {answered} returned")
            }
            Self::Failed(error) => write!(f, "the list failed: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    use crate::scope::Scope;
    use crate::source::ServerStatus;
    use crate::status::{AuditReport, AuditStatus};

    fn check(code: u16, expected: &str) {
        let status = ServerStatus {
            code,
            retry_after: Some(Duration::from_secs(7)),
            ..ServerStatus::default()
        };
        let skipped = AuditSkipped::of(SourceError::Status { status });
        let found = format!("{skipped:?}");
        let name = found.split('(').next().unwrap();
        assert_eq!(
            (name, skipped.retry_after()),
            (expected, Some(Duration::from_secs(7))),
            "{code}"
        );
    }

    #[test]
    fn no_refusal_is_treated_as_a_mismatch() {
        check(410, "Expired");
        check(429, "Busy");
        check(401, "Refused");
        check(403, "Refused");
        check(404, "Refused");
        check(422, "Failed");
        check(503, "Failed");
        check(504, "Failed");
    }

    #[test]
    fn only_what_the_server_causes_makes_the_next_audit_wait_longer() {
        let error = || SourceError::Protocol("no metadata".to_owned());
        assert!(AuditSkipped::Busy(error()).is_server_failure());
        assert!(AuditSkipped::Refused(error()).is_server_failure());
        assert!(AuditSkipped::Failed(error()).is_server_failure());
        assert!(!AuditSkipped::Expired(error()).is_server_failure());
    }

    #[test]
    fn every_audit_is_counted_by_its_outcome() {
        let report = |outcome| AuditReport {
            resource: "configmaps".to_owned(),
            scope: Scope::All,
            at: Instant::now(),
            took: Duration::ZERO,
            version: None,
            compared: 0,
            left_out: 0,
            outcome,
        };
        let mut status = AuditStatus::default();
        let expired = AuditSkipped::Expired(SourceError::Protocol("no metadata".to_owned()));
        let mismatch = AuditOutcome::Mismatch(AuditMismatch::default());
        for outcome in [
            AuditOutcome::Sound,
            mismatch,
            AuditOutcome::Sound,
            AuditOutcome::Skipped(expired),
        ] {
            status.count(&report(outcome));
        }
        assert_eq!((status.audits, status.mismatches, status.skipped), (3, 1, 1));
        assert!(status.last_mismatch.is_some());
    }

    #[test]
    fn all_differences_are_counted_and_ten_are_named() {
        let mut mismatch = AuditMismatch::default();
        for number in 0..12 {
            mismatch.extra.add(|| ObjectKey::cluster(format!("n{number}")));
        }
        mismatch.missing.add(|| ObjectKey::namespaced("web", "a"));
        assert_eq!(mismatch.total(), 13);
        assert_eq!(
            mismatch.to_string(),
            "1 (web/a) missing, 12 (n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, ..) extra"
        );
    }
}
