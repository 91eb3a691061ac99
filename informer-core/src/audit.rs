//! Self-audit: periodically compares the store with the server's objects at the same version.

mod compare;
mod read;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use crate::source::SourceError;
use crate::status::{AuditOutcome, AuditReport, AuditSkipped, Reporter};
use crate::sync::{Latch, Offload, offload};

use compare::{Comparison, ComparisonResult, ScopeSnapshot};
pub(crate) use compare::{ScopeStore, TypedScopeStore};
pub(crate) use read::{Identities, IdentitiesOf};

/// The shortest period. Shorter ones are raised to it.
const SHORTEST_PERIOD: Duration = Duration::from_secs(60);

/// The shortest timeout of an audit. Shorter ones are raised to it.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the period is doubled while consecutive audits fail: up to 16 times as long.
const DOUBLINGS: u32 = 4;

/// The longest wait that a server can request by `Retry-After`. Longer ones are lowered to it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Comparisons of more objects than this are finished on the blocking pool.
const LARGE: usize = 10_000;

/// Called with the report of every audit.
pub type AuditHandler = Arc<dyn Fn(&AuditReport) + Send + Sync>;

/// Options of an informer's self-audit, which compares its store with the server.
///
/// An audit takes a snapshot of the store, requests a list of names and versions at the snapshot's version
/// (`resourceVersionMatch=Exact`), with the informer's own selectors, and compares the two. A difference is
/// a fault: of this library, of the server, or of a component between them that lost an event. It is logged
/// as an error, reported in [`ScopeStatus::audit`](crate::ScopeStatus::audit) and to
/// [`on_audit`](Self::on_audit), and repaired: the scope is listed again, and handlers receive the changes
/// as after any relist.
///
/// An audit does not show that the store is *current*. A store that is behind is compared with the past
/// state it contains; [`ScopeStatus::state`](crate::ScopeStatus::state) reports whether it is live. Only
/// names and versions are compared, not contents.
///
/// # Cost
///
/// Per audit and scope, one request for each [`page_size`](Self::page_size) objects, which returns the
/// metadata of every object. Measured on Kubernetes 1.37: 0.4 KB of JSON for a small ConfigMap, 3.1 KB for
/// a Pod, most of it `managedFields`, which a request cannot exclude. Clients of [`client`](crate::client)
/// receive it compressed, to a tenth or less. So 10,000 Pods cost 20 requests and 31 MB of JSON, at most
/// once per period. Recent servers answer from memory, older ones read etcd.
///
/// The client decodes only names and versions. While the audit runs it holds 8 bytes per object, and the
/// snapshot, which keeps objects alive that change in the meantime.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{AuditOptions, AuditOutcome};
///
/// let options = AuditOptions::every(Duration::from_secs(1800)).on_audit(|report| {
///     if let AuditOutcome::Mismatch(mismatch) = &report.outcome {
///         eprintln!("{} in {}: {mismatch}", report.resource, report.scope);
///     }
/// });
/// assert_eq!(options.page_size, 500);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct AuditOptions {
    /// The shortest time between two audits of one scope, and before the first. Each wait is up to half as
    /// long again, at random, so that the audits of many informers are spread. Default: one hour; at least
    /// one minute.
    ///
    /// While consecutive audits fail (a busy or failing server, or a difference that returns after a
    /// repair), the wait doubles, up to 16 times, and it is never shorter than the server's `Retry-After`,
    /// up to ten minutes.
    pub period: Duration,
    /// The timeout of one audit. Default: two minutes; at least one second. Servers keep old versions for
    /// about five minutes, so a much longer timeout would not help.
    pub timeout: Duration,
    /// The number of objects per page of the list. Default: 500.
    pub page_size: u32,
    /// Called with the report of every audit: sound, mismatch or skipped. It runs on the audit's task, so
    /// it must not block; a panic in it is caught.
    pub on_audit: Option<AuditHandler>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(3600),
            timeout: Duration::from_secs(120),
            page_size: 500,
            on_audit: None,
        }
    }
}

impl AuditOptions {
    /// The default options, with this period.
    pub fn every(period: Duration) -> Self {
        Self {
            period,
            ..Self::default()
        }
    }

    /// Sets the timeout of one audit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the number of objects per page of the list; at least 1.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = objects;
        self
    }

    /// Sets the function that is called with the report of every audit.
    #[must_use]
    pub fn on_audit(mut self, handler: impl Fn(&AuditReport) + Send + Sync + 'static) -> Self {
        self.on_audit = Some(Arc::new(handler));
        self
    }
}

impl fmt::Debug for AuditOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditOptions")
            .field("period", &self.period)
            .field("timeout", &self.timeout)
            .field("page_size", &self.page_size)
            .field("on_audit", &self.on_audit.as_ref().map(|_| "set"))
            .finish()
    }
}

/// Audits one scope, one audit at a time, while its future is polled. It is independent of the kind, and so
/// compiled once.
pub(crate) struct Auditor {
    options: AuditOptions,
    list: Box<dyn Identities>,
    cache: Box<dyn ScopeStore>,
    reporter: Reporter,
    heal: Box<dyn Fn() + Send + Sync>,
    offload: Offload,
    random: SmallRng,
}

impl Auditor {
    pub(crate) fn new(
        options: AuditOptions,
        list: Box<dyn Identities>,
        cache: Box<dyn ScopeStore>,
        reporter: Reporter,
        heal: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        reporter.expect_audits();
        Self {
            options,
            list,
            cache,
            reporter,
            heal,
            offload: Offload::default(),
            random: SmallRng::from_rng(&mut rand::rng()),
        }
    }

    /// Sets where large comparisons are finished.
    pub(crate) fn offload(mut self, offload: Offload) -> Self {
        self.offload = offload;
        self
    }

    /// Fixes the random seed, for tests that must be repeatable.
    pub(crate) fn seed(mut self, seed: Option<u64>) -> Self {
        if let Some(seed) = seed {
            self.random = SmallRng::seed_from_u64(seed);
        }
        self
    }

    /// Runs forever, from when the store is complete.
    pub(crate) async fn run(mut self, synced: Latch) {
        synced.wait().await;
        let mut failures = 0;
        let mut at_least = Duration::ZERO;
        loop {
            let pause = pause(self.options.period, failures, &mut self.random);
            tokio::time::sleep(pause.max(at_least)).await;
            let report = self.audit().await;
            (failures, at_least) = match &report.outcome {
                AuditOutcome::Sound => (0, Duration::ZERO),
                AuditOutcome::Mismatch(_) => (failures + 1, Duration::ZERO),
                AuditOutcome::Skipped(reason) => (
                    if reason.is_server_failure() {
                        failures + 1
                    } else {
                        0
                    },
                    reason.retry_after().unwrap_or_default().min(LONGEST_RETRY_AFTER),
                ),
            };
            self.report(&report);
        }
    }

    fn report(&self, report: &AuditReport) {
        self.reporter.audited(report);
        if matches!(report.outcome, AuditOutcome::Mismatch(_)) {
            (self.heal)();
        }
        if let Some(on_audit) = &self.options.on_audit
            && catch_unwind(AssertUnwindSafe(|| on_audit(report))).is_err()
        {
            let resource = &report.resource;
            tracing::error!(%resource, "audit handler panicked; continuing with the next audit");
        }
    }

    /// Runs one audit. Every outcome is returned as a report.
    async fn audit(&self) -> AuditReport {
        let at = Instant::now();
        // Kept until the end: the store changes in the meantime.
        let snapshot = self.cache.snapshot();
        let compared = AssertUnwindSafe(self.compare(&snapshot)).catch_unwind().await;
        let differences = compared.unwrap_or_else(|_| {
            // The panic hook has printed its message.
            Err(AuditSkipped::Failed(SourceError::Protocol(
                "the source panicked".to_owned(),
            )))
        });
        let (compared, left_out, outcome) = match differences {
            Ok(ComparisonResult {
                compared,
                left_out,
                mismatch,
            }) => match mismatch.total() {
                0 => (compared, left_out, AuditOutcome::Sound),
                _ => (compared, left_out, AuditOutcome::Mismatch(mismatch)),
            },
            Err(reason) => (0, 0, AuditOutcome::Skipped(reason)),
        };
        AuditReport {
            resource: self.reporter.resource().to_owned(),
            scope: self.reporter.scope().clone(),
            at,
            took: at.elapsed(),
            version: snapshot.version(),
            compared,
            left_out,
            outcome,
        }
    }

    async fn compare(&self, snapshot: &Arc<dyn ScopeSnapshot>) -> Result<ComparisonResult, AuditSkipped> {
        let version = snapshot.version().ok_or(AuditSkipped::NotLive)?;
        if let Some(reason) = self.reporter.audit_hindrance(&version) {
            return Err(reason);
        }
        let after = self.options.timeout.max(SHORTEST_TIMEOUT);
        let work = async {
            let mut comparison = Comparison::new(snapshot.clone());
            let page_size = self.options.page_size.max(1);
            read::all_pages(&*self.list, &version, page_size, &mut comparison).await?;
            Ok(self.finish(comparison).await)
        };
        tokio::time::timeout(after, work)
            .await
            .unwrap_or(Err(AuditSkipped::Timeout { after }))
    }

    async fn finish(&self, comparison: Comparison) -> ComparisonResult {
        if comparison.len() <= LARGE || self.offload == Offload::Inline {
            return comparison.finish();
        }
        offload::run(|| comparison.finish()).await
    }
}

/// The wait before the next audit, after this many consecutive failures.
fn pause(period: Duration, failures: u32, random: &mut SmallRng) -> Duration {
    let period = period.max(SHORTEST_PERIOD);
    let doublings = failures.saturating_sub(1).min(DOUBLINGS);
    let spread = 1.0 + random.random::<f64>() / 2.0;
    // An excessive period means "never": any time longer than a program runs is correct.
    let seconds = (period.as_secs_f64() * spread * f64::from(1_u32 << doublings)).min(A_CENTURY);
    Duration::from_secs_f64(seconds)
}

const A_CENTURY: f64 = 100.0 * 365.0 * 24.0 * 3600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_with_failures_up_to_16_times_and_is_spread() {
        for (period, failures, shortest) in [
            (3_600, 0, 3_600.0),
            (3_600, 1, 3_600.0),
            (3_600, 2, 7_200.0),
            (3_600, 5, 57_600.0),
            (3_600, 1_000, 57_600.0),
            (1, 0, 60.0),
        ] {
            let mut random = SmallRng::seed_from_u64(1);
            let pauses: Vec<f64> = (0..200)
                .map(|_| pause(Duration::from_secs(period), failures, &mut random).as_secs_f64())
                .collect();
            let range = shortest..=shortest * 1.5;
            assert!(
                pauses.iter().all(|pause| range.contains(pause)),
                "{failures} {pauses:?}"
            );
            let is_late = |pause: &&f64| **pause > shortest * 1.25;
            assert!(
                (50..150).contains(&pauses.iter().filter(is_late).count()),
                "{pauses:?}"
            );
        }
        let never = pause(Duration::MAX, 5, &mut SmallRng::seed_from_u64(1));
        assert_eq!(never.as_secs_f64(), A_CENTURY);
    }
}
