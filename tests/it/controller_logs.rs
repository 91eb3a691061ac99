//! The span of a reconcile, and the log lines of failures.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::controller::{Action, Controller, Request};
use informer_core::workqueue::limiter::ExponentialBackoff;
use k8s_openapi::api::core::v1::ConfigMap;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::controllers::Work;
use crate::informer_logs::Line;
use crate::support::{informer_of, server_with, start};

/// Keeps the spans and warnings of this thread, as text.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl Spans {
    fn push(&self, record: impl FnOnce(&mut Line)) {
        let mut line = Line(String::new());
        record(&mut line);
        self.0.lock().unwrap().push(line.0.trim_end().to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "reconcile" || *metadata.level() <= Level::WARN
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.push(|line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.push(|line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.push(|line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_has_a_span_with_key_attempt_and_outcome() {
    let spans = Spans::default();
    let _guard = informer_it::logging::to(spans.clone());
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let fails_once = |request: Arc<Request<ConfigMap>>| async move {
        match request.attempt() {
            0 => Err(std::io::Error::other("the disk is full")),
            _ => Ok(Action::await_change()),
        }
    };
    let backoff = ExponentialBackoff::new(Duration::from_secs(1), Duration::from_secs(1));
    let builder = Controller::new("items", &informer).backoff(backoff);
    let work = Work::start(builder, fails_once).await;
    work.calls().await;
    let rv = informer.indexer().list()[0]
        .metadata
        .resource_version
        .clone()
        .unwrap();
    let span = |attempt| {
        format!("controller=\"items\" resource=\"configmaps\" key=default/a rv={rv} attempt={attempt}")
    };
    let first = [
        &*span(0),
        "outcome=\"failed\"",
        "message=reconcile failed controller=\"items\" key=default/a failures=1 retry_in=1s suppressed=0 \
         error=\"the disk is full\"",
    ];
    assert_eq!(spans.take(), first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    work.calls().await;
    let second = [&*span(1), "outcome=\"done\""];
    assert_eq!(spans.take(), second);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_with_a_bounded_rate() {
    let spans = Spans::default();
    let _guard = informer_it::logging::to(spans.clone());
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let fails = |_: Arc<Request<ConfigMap>>| async { Err(std::io::Error::other("the disk is full")) };
    let backoff = ExponentialBackoff::new(Duration::from_millis(100), Duration::from_millis(100));
    let work = Work::start(Controller::new("items", &informer).backoff(backoff), fails).await;
    tokio::time::sleep(Duration::from_secs(299)).await;
    let lines = spans.take();
    let warnings = lines.iter().filter(|line| line.starts_with("message=")).count();
    assert_eq!(warnings, 10, "of {} calls", work.calls().await.len());
    work.stop().await;
}
