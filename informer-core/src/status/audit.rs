//! What audits find: one report each, and what `status()` keeps of them.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Coverage, Reporter, State};
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::SourceError;

/// The audits of one scope since the informer was made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditStatus {
    /// Audits that compared the cache with the server, whatever they found.
    pub audits: u64,
    /// Of these, the ones that found a difference.
    pub mismatches: u64,
    /// Audits that could not compare.
    pub skipped: u64,
    /// The last audit.
    pub last: Option<AuditReport>,
    /// The last audit that found a difference, also when things are well again.
    pub last_mismatch: Option<AuditReport>,
}

impl AuditStatus {
    pub(super) fn count(&mut self, report: &AuditReport) {
        match &report.outcome {
            AuditOutcome::Sound => self.audits += 1,
            AuditOutcome::Mismatch(_) => {
                self.audits += 1;
                self.mismatches += 1;
                self.last_mismatch = Some(report.clone());
            }
            AuditOutcome::Skipped(_) => self.skipped += 1,
        }
        self.last = Some(report.clone());
    }
}

/// One audit of one scope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditReport {
    /// The resource: `pods`, `deployments.apps`.
    pub resource: String,
    /// The scope.
    pub scope: Scope,
    /// When the audit began: the cache was looked at then.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
    /// The version of the cache at which it was compared; `None` if it had none.
    pub version: Option<ResourceVersion>,
    /// How many objects were compared, of those that the cache or the server has.
    pub compared: u64,
    /// How many were left out, because the cache is known not to have their newest state (see
    /// [`InformerStatus::stale`](crate::InformerStatus::stale)) or because they have no version.
    pub left_out: u64,
    /// What came of it.
    pub outcome: AuditOutcome,
}

impl AuditReport {
    pub(super) fn log(&self) {
        let Self {
            resource,
            scope,
            version,
            compared,
            outcome,
            ..
        } = self;
        let rv = version.as_ref().map(ToString::to_string);
        match outcome {
            AuditOutcome::Sound => {
                tracing::debug!(%resource, %scope, rv, compared, "audited the cache; it is sound");
            }
            AuditOutcome::Mismatch(mismatch) => {
                tracing::error!(%resource, %scope, rv, compared, %mismatch, "the cache differed from the server at the same version; it is read again");
            }
            AuditOutcome::Skipped(reason) => {
                tracing::debug!(%resource, %scope, rv, %reason, "skipped an audit of the cache");
            }
        }
    }
}

/// What came of an audit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// The cache had what the server had, at that version.
    Sound,
    /// It had not. The scope is read again, whole.
    Mismatch(AuditMismatch),
    /// The audit says nothing about the cache, for this reason.
    Skipped(AuditSkipped),
}

/// How the cache differed from the server's state at the same version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditMismatch {
    /// Objects that the server had and the cache had not.
    pub missing: Differences,
    /// Objects that the cache had and the server had not.
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

/// Objects that differ in one way: all counted, the first few named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// How many there are.
    pub count: u64,
    /// The keys of the first ten.
    pub first: Vec<ObjectKey>,
}

impl Differences {
    /// How many keys are named.
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

/// Why an audit says nothing about the cache.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuditSkipped {
    /// The informer was not live in this scope, or a new list was on its way into the cache. Nothing was asked of the server.
    NotLive,
    /// An object came whose name cannot be read, so that the cache is known to be incomplete until a list can be read in full.
    Unreadable,
    /// The server no longer has the state at that version: the cache heard nothing for longer than the server keeps its history, not
    /// even a bookmark, or the list took that long.
    Expired(SourceError),
    /// The server asks for fewer requests (429). The next audits come later.
    Busy(SourceError),
    /// The server does not let us list (401, 403), or does not have the resource (404).
    Refused(SourceError),
    /// The audit took longer than it may.
    Timeout {
        /// How long it may take.
        after: Duration,
    },
    /// The server answered with its state at another version than the one asked for: it does not know exact versions.
    OtherVersion {
        /// The version asked for.
        asked: ResourceVersion,
        /// The version of the answer.
        answered: ResourceVersion,
    },
    /// The list failed in some other way.
    Failed(SourceError),
}

impl AuditSkipped {
    /// What a failed list means for an audit.
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

    /// Whether the server has trouble, or makes some, so that the next audit should wait for longer.
    pub(crate) fn is_trouble(&self) -> bool {
        matches!(
            self,
            Self::Busy(_) | Self::Refused(_) | Self::Timeout { .. } | Self::Failed(_)
        )
    }

    /// How long the server asks to be left alone.
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
            Self::NotLive => f.write_str("the cache was not being kept current"),
            Self::Unreadable => f.write_str("an object's name cannot be read, so the cache is incomplete"),
            Self::Expired(error) => write!(f, "the version is gone: {error}"),
            Self::Busy(error) => write!(f, "the server is busy: {error}"),
            Self::Refused(error) => write!(f, "the list was refused: {error}"),
            Self::Timeout { after } => write!(f, "it was not done within {after:?}"),
            Self::OtherVersion { asked, answered } => {
                write!(f, "version {asked} was asked for and {answered} answered")
            }
            Self::Failed(error) => write!(f, "the list failed: {error}"),
        }
    }
}

impl Reporter {
    /// Audits are on.
    pub(crate) fn expect_audits(&self) {
        self.update(|scope| scope.audit = Some(AuditStatus::default()));
    }

    /// Why an audit of a cache at this version would say nothing, if that is known without asking the server.
    pub(crate) fn audit_hindrance(&self, version: &ResourceVersion) -> Option<AuditSkipped> {
        let scopes = self.board.scopes.lock();
        let scope = scopes.iter().find(|scope| scope.scope == self.scope)?;
        let is_outdated = scope
            .listed
            .as_ref()
            .is_none_or(|listed| version.is_older_than(listed));
        if !matches!(scope.state, State::Live) || is_outdated {
            return Some(AuditSkipped::NotLive);
        }
        (scope.coverage == Coverage::Partial).then_some(AuditSkipped::Unreadable)
    }

    /// An audit of this scope is done.
    pub(crate) fn audited(&self, report: &AuditReport) {
        report.log();
        self.update(|scope| scope.audit.get_or_insert_default().count(report));
        self.board.announce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ServerStatus;

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
    fn no_refusal_is_taken_for_a_mismatch() {
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
        assert!(AuditSkipped::Busy(error()).is_trouble());
        assert!(AuditSkipped::Refused(error()).is_trouble());
        assert!(AuditSkipped::Failed(error()).is_trouble());
        assert!(!AuditSkipped::Expired(error()).is_trouble());
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
