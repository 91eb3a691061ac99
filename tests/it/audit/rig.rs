//! An informer with self-audit, its reports, and a server with constant writes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Once;
use std::time::Duration;

use informer_core::{
    AuditOptions, AuditOutcome, AuditReport, AuditStatus, Object, SharedInformer, SharedInformerBuilder,
};
use informer_testing::{ApiServer, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, span};

use crate::support::{LONG, builder_of, item_in, start};

/// The shortest allowed period.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// The builder of an informer over the ConfigMaps of a server.
pub(crate) fn maps(server: &ApiServer) -> SharedInformerBuilder<ConfigMap> {
    builder_of(server.client())
}

/// Reports received by `on_audit`.
pub(crate) struct Reports(tokio::sync::Mutex<mpsc::UnboundedReceiver<AuditReport>>);

impl Reports {
    /// The reports since the last call.
    pub(crate) fn take(&self) -> Vec<AuditReport> {
        let mut reports = self.0.try_lock().unwrap();
        std::iter::from_fn(|| reports.try_recv().ok()).collect()
    }
}

/// A started informer with self-audit.
pub(crate) struct Audited<K: Object> {
    pub(crate) informer: SharedInformer<K>,
    pub(crate) reports: Reports,
}

impl<K: Object> Audited<K> {
    pub(crate) async fn start(builder: SharedInformerBuilder<K>) -> Self {
        Self::start_with(builder, AuditOptions::every(PERIOD).timeout(TIMEOUT)).await
    }

    pub(crate) async fn start_with(builder: SharedInformerBuilder<K>, options: AuditOptions) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        let options = options.on_audit(move |report| drop(sender.send(report.clone())));
        let informer = builder.audit(options).build().unwrap();
        start(&informer).await;
        Self {
            informer,
            reports: Reports(tokio::sync::Mutex::new(reports)),
        }
    }

    /// The next report.
    pub(crate) async fn next(&self) -> AuditReport {
        let mut reports = self.reports.0.lock().await;
        let next = tokio::time::timeout(100 * LONG, reports.recv()).await;
        next.expect("an audit comes in time").expect("the informer runs")
    }

    /// The next report of a mismatch among a few reports.
    pub(crate) async fn next_mismatch(&self) -> AuditReport {
        for _ in 0..10 {
            let report = self.next().await;
            if matches!(report.outcome, AuditOutcome::Mismatch(_)) {
                return report;
            }
        }
        panic!("no audit found anything");
    }

    /// The audits of the only scope.
    pub(crate) fn status(&self) -> AuditStatus {
        self.informer.status().scopes.remove(0).audit.unwrap()
    }
}

/// A report as text: `sound 3`, `mismatch of 3: 1 (default/b) extra`, `skipped: ...`.
pub(crate) fn describe(report: &AuditReport) -> String {
    let compared = report.compared;
    match &report.outcome {
        AuditOutcome::Sound => format!("sound {compared}"),
        AuditOutcome::Mismatch(mismatch) => format!("mismatch of {compared}: {mismatch}"),
        AuditOutcome::Skipped(reason) => format!("skipped: {reason}"),
        other => panic!("{other:?} is new"),
    }
}

/// Whether a request begins the list of an audit.
pub(crate) fn is_exact(request: &Request) -> bool {
    request.parameter("resourceVersionMatch") == Some("Exact")
}

pub(crate) fn exact_lists(server: &ApiServer) -> usize {
    server.requests().filtered(is_exact).len()
}

/// Creates, changes, relabels and deletes objects in three namespaces, every few seconds.
pub(crate) async fn churn(server: &ApiServer, time: Duration) {
    let mut random = SmallRng::seed_from_u64(5);
    let end = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < end {
        let namespace = ["a", "a-b", "b"][random.random_range(0..3)];
        let name = format!("item-{}", random.random_range(0..20));
        let mut object = item_in(namespace, &name, &random.random::<u32>().to_string());
        let tier = ["front", "back"][random.random_range(0..2)];
        object.metadata.labels = Some(BTreeMap::from([("tier".into(), tier.into())]));
        let is_there = server.objects::<ConfigMap>().iter().any(|known| {
            known.metadata.name == object.metadata.name
                && known.metadata.namespace == object.metadata.namespace
        });
        match (is_there, random.random_range(0..3)) {
            (false, _) => drop(server.create(&object).unwrap()),
            (true, 0) => server.delete(&object).unwrap(),
            (true, _) => drop(server.update(&object).unwrap()),
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..6_000))).await;
    }
}

/// Errors and warnings logged on the thread of each test.
///
/// One subscriber serves the whole program: tracing caches per call site whether a subscriber is interested,
/// and subscribers that are added and removed while other tests run would be missed.
pub(crate) struct Errors;

thread_local! {
    static LOGGED: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

impl Errors {
    pub(crate) fn listen() -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing::subscriber::set_global_default(Self).unwrap());
        Self
    }

    pub(crate) fn take(&self) -> Vec<String> {
        self.take_of(Level::ERROR)
    }

    /// The warnings since the last call.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.take_of(Level::WARN)
    }

    fn take_of(&self, level: Level) -> Vec<String> {
        let logged = LOGGED.take().into_iter();
        logged
            .filter(|(of, _)| *of == level)
            .map(|(_, line)| line)
            .collect()
    }
}

impl tracing::Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let level = *event.metadata().level();
        LOGGED.with_borrow_mut(|logged| logged.push((level, line.0)));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The fields of one event as text.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}
