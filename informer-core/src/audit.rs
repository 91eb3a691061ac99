//! Self-audit: every so often, whether the cache has what the server had at the very same version.

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

pub(crate) use compare::{CacheOf, Cached};
use compare::{Comparison, Finding, Frozen};
pub(crate) use read::{Identities, IdentitiesOf};

/// The shortest period. A shorter one is taken for this.
const SHORTEST_PERIOD: Duration = Duration::from_secs(60);

/// The shortest time an audit may be given. A shorter one is taken for this.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the period is doubled while audits end badly one after the other: up to 16 times as long.
const DOUBLINGS: u32 = 4;

/// The longest wait a server can ask for by `Retry-After`; a longer one is taken for this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// A comparison of more objects than this is finished on the blocking pool.
const LARGE: usize = 10_000;

/// Called with the report of every audit.
pub type AuditHandler = Arc<dyn Fn(&AuditReport) + Send + Sync>;

/// How an informer checks its own cache against the server, in production.
///
/// An audit looks at the cache, asks the server for a list of names and versions at the very version the cache has
/// (`resourceVersionMatch=Exact`), with the informer's own selectors, and compares the two. A difference is a fault: of this library,
/// of the server, or of something between them that lost an event. It is logged as an error, told in
/// [`ScopeStatus::audit`](crate::ScopeStatus::audit) and to [`on_audit`](Self::on_audit), and healed: the scope is read again, whole,
/// and handlers hear what changes by that as they hear of every relist.
///
/// What an audit does not say: that the cache is *current*. A cache that has fallen behind is compared with the past it shows;
/// whether it is live is in [`ScopeStatus::state`](crate::ScopeStatus::state). And only names and versions are compared, not contents.
///
/// # Cost
///
/// Per audit and scope, one request for each [`page_size`](Self::page_size) objects, and the metadata of every object. Measured on
/// Kubernetes 1.37: 0.4 KB of JSON for a small ConfigMap, 3.1 KB for a Pod, most of it `managedFields`, which the server cannot be asked to
/// leave out. Clients of [`client`](crate::client) get it compressed, to a tenth or less. So 10,000 Pods cost 20 requests and 31 MB
/// of JSON, at most once per period. Recent servers answer from memory, older ones read etcd.
///
/// Here, names and versions are decoded and nothing else; 8 bytes per cached object are held while the audit runs, and the snapshot it
/// compares, which keeps objects alive that change meanwhile.
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
    /// The shortest time between two audits of one scope, and before the first; each wait is up to half as long again at
    /// random, so that the audits of many informers spread. Default one hour; less than a minute counts as a minute.
    ///
    /// While audits end badly one after the other (a busy or failing server, or a difference that comes back after it was healed)
    /// the wait doubles, up to 16 times, and it is never shorter than the server's `Retry-After`, up to ten minutes.
    pub period: Duration,
    /// How long one audit may take. Default two minutes; less than a second counts as a second. A server keeps old versions for five
    /// minutes or more, so a longer one would hardly help.
    pub timeout: Duration,
    /// How many objects a page of the list holds. Default 500.
    pub page_size: u32,
    /// Called with the report of every audit: sound, mismatch or skipped. It runs on the task that audits, so it must not block;
    /// a panic in it is caught.
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
    /// The defaults, with this period.
    pub fn every(period: Duration) -> Self {
        Self {
            period,
            ..Self::default()
        }
    }

    /// Sets how long one audit may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many objects a page of the list holds. Zero counts as one.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = objects;
        self
    }

    /// Sets what is called with the report of every audit.
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

/// Audits one scope, one audit at a time, for as long as its future is polled. Knows no kind: it is compiled once.
pub(crate) struct Auditor {
    options: AuditOptions,
    list: Box<dyn Identities>,
    cache: Box<dyn Cached>,
    reporter: Reporter,
    heal: Box<dyn Fn() + Send + Sync>,
    offload: Offload,
    random: SmallRng,
}

impl Auditor {
    pub(crate) fn new(
        options: AuditOptions,
        list: Box<dyn Identities>,
        cache: Box<dyn Cached>,
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

    /// Fixes all randomness, for tests that must repeat.
    pub(crate) fn seed(mut self, seed: Option<u64>) -> Self {
        if let Some(seed) = seed {
            self.random = SmallRng::seed_from_u64(seed);
        }
        self
    }

    /// Runs for ever, from when the cache is complete.
    pub(crate) async fn run(mut self, synced: Latch) {
        synced.wait().await;
        let mut troubles = 0;
        let mut at_least = Duration::ZERO;
        loop {
            tokio::time::sleep(self.pause(troubles).max(at_least)).await;
            let report = self.audit().await;
            (troubles, at_least) = match &report.outcome {
                AuditOutcome::Sound => (0, Duration::ZERO),
                AuditOutcome::Mismatch(_) => (troubles + 1, Duration::ZERO),
                AuditOutcome::Skipped(reason) => (
                    if reason.is_trouble() { troubles + 1 } else { 0 },
                    reason.retry_after().unwrap_or_default().min(LONGEST_RETRY_AFTER),
                ),
            };
            self.tell(&report);
        }
    }

    /// The wait before the next audit, after so many that ended badly.
    fn pause(&mut self, troubles: u32) -> Duration {
        let period = self.options.period.max(SHORTEST_PERIOD);
        let doublings = troubles.saturating_sub(1).min(DOUBLINGS);
        let spread = 1.0 + self.random.random::<f64>() / 2.0;
        // A period out of all measure is meant as "never": longer than any program runs will do.
        let seconds = (period.as_secs_f64() * spread * f64::from(1_u32 << doublings)).min(A_CENTURY);
        Duration::from_secs_f64(seconds)
    }

    fn tell(&self, report: &AuditReport) {
        self.reporter.audited(report);
        if matches!(report.outcome, AuditOutcome::Mismatch(_)) {
            (self.heal)();
        }
        if let Some(on_audit) = &self.options.on_audit
            && catch_unwind(AssertUnwindSafe(|| on_audit(report))).is_err()
        {
            tracing::error!(resource = %report.resource, "the audit handler panicked; it will be called again");
        }
    }

    /// One audit. Whatever happens in it ends as a report.
    async fn audit(&self) -> AuditReport {
        let at = Instant::now();
        // Kept until the end: the cache moves on meanwhile.
        let frozen = self.cache.freeze();
        let compared = AssertUnwindSafe(self.compare(&frozen)).catch_unwind().await;
        let finding = compared.unwrap_or_else(|_| {
            // The panic hook has printed what it said.
            Err(AuditSkipped::Failed(SourceError::Protocol(
                "the source panicked".to_owned(),
            )))
        });
        let (compared, left_out, outcome) = match finding {
            Ok(Finding {
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
            version: frozen.version(),
            compared,
            left_out,
            outcome,
        }
    }

    async fn compare(&self, frozen: &Arc<dyn Frozen>) -> Result<Finding, AuditSkipped> {
        let version = frozen.version().ok_or(AuditSkipped::NotLive)?;
        if let Some(reason) = self.reporter.audit_hindrance(&version) {
            return Err(reason);
        }
        let after = self.options.timeout.max(SHORTEST_TIMEOUT);
        let work = async {
            let mut comparison = Comparison::new(frozen.clone());
            let page_size = self.options.page_size.max(1);
            read::all_pages(&*self.list, &version, page_size, &mut comparison).await?;
            Ok(self.finish(comparison).await)
        };
        tokio::time::timeout(after, work)
            .await
            .unwrap_or(Err(AuditSkipped::Timeout { after }))
    }

    async fn finish(&self, comparison: Comparison) -> Finding {
        if comparison.len() <= LARGE || self.offload == Offload::Inline {
            return comparison.finish();
        }
        offload::run(|| comparison.finish()).await
    }
}

const A_CENTURY: f64 = 100.0 * 365.0 * 24.0 * 3600.0;
