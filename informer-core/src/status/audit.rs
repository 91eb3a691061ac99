//! Audit reports, and their summary in `status()`.

use std::time::Duration;

use tokio::time::Instant;

use super::{AuditOutcome, AuditSkipped, Coverage, Reporter, State};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

/// The audits of one scope since the informer was built.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditStatus {
    /// Audits that compared the cache with the server, with any result.
    pub audits: u64,
    /// Those of them that found a difference.
    pub mismatches: u64,
    /// Audits that could not compare.
    pub skipped: u64,
    /// The last audit.
    pub last: Option<AuditReport>,
    /// The last audit that found a difference, also after a recovery.
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
    /// When the audit began and the cache was read.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
    /// The version at which the cache was compared; `None` if it had none.
    pub version: Option<ResourceVersion>,
    /// How many objects of the cache or the server were compared.
    pub compared: u64,
    /// How many were left out, because the cache is known not to have their newest state (see
    /// [`InformerStatus::stale`](crate::InformerStatus::stale)) or because they have no version.
    pub left_out: u64,
    /// The result.
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
                tracing::debug!(%resource, %scope, rv, compared, "audited the cache and found no difference");
            }
            AuditOutcome::Mismatch(mismatch) => {
                tracing::error!(
                    %resource, %scope, rv, compared, %mismatch,
                    "the cache differed from the server at the same version; it is read again"
                );
            }
            AuditOutcome::Skipped(reason) => {
                tracing::debug!(%resource, %scope, rv, %reason, "skipped an audit of the cache");
            }
        }
    }
}

impl Reporter {
    /// Enables audits in the status.
    pub(crate) fn expect_audits(&self) {
        self.update(|scope| scope.audit = Some(AuditStatus::default()));
    }

    /// Why an audit at this version cannot compare, if that is known without a request.
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

    /// Reports a finished audit.
    pub(crate) fn audited(&self, report: &AuditReport) {
        report.log();
        self.update(|scope| scope.audit.get_or_insert_default().count(report));
        self.board.announce();
    }
}
