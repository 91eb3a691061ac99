//! Log lines of an informer: every change once, with a bounded rate.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::source::ListEvent;
use informer_core::source::SourceError;
use informer_core::{InitialState, State};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

use super::scripted::{Rig, config, metadata, refused, scripted, settle, status, undecodable};

/// Keeps the warnings and errors of this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = informer_it::logging::to(log.clone());
        (log, guard)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

pub(crate) struct Line(pub(crate) String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_informer_logs_once_and_then_every_few_minutes_with_a_count() {
    let (log, _guard) = Log::begin();
    let mut rig = Rig::listing();
    let begun = tokio::time::Instant::now();
    let mut attempts = 0;
    while begun.elapsed() < Duration::from_secs(1_800) {
        rig.server.list().await.fail(status(403, "Forbidden"));
        attempts += 1;
    }
    settle().await;
    let lines = log.lines();
    assert!(attempts > 90, "{attempts} attempts");
    assert!(
        (2..=7).contains(&lines.len()),
        "{} lines: {lines:#?}",
        lines.len()
    );
    let suppressed: u64 = lines
        .iter()
        .filter_map(|line| {
            line.split("suppressed=")
                .nth(1)?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        })
        .sum();
    assert!(
        suppressed > attempts / 2,
        "{suppressed} of {attempts} attempts were counted: {lines:#?}"
    );
    for line in &lines {
        assert_eq!(
            line.matches("403").count(),
            1,
            "the error is in the line once: {line}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_change_of_the_state_is_logged() {
    let (log, _guard) = Log::begin();
    let mut rig = Rig::listing();
    rig.server.list().await.fail(status(403, "Forbidden"));
    rig.server.list().await.fail(refused());
    rig.server.list().await.fail(status(404, "NotFound"));
    settle().await;
    let lines = log.lines();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (line, state) in lines.iter().zip(["Forbidden", "BackingOff", "NotFound"]) {
        assert!(line.contains(&format!("state=\"{state}\"")), "{line}");
    }
}

/// Four kilobytes of gzip once made half a gigabyte of log.
#[tokio::test(start_paused = true)]
async fn a_list_of_unusable_objects_logs_a_few_and_is_counted_in_the_status() {
    let (log, _guard) = Log::begin();
    let mut rig = Rig::listing();
    let page = rig.server.list().await.open();
    page.send(Ok(ListEvent::Metadata(metadata("5"))));
    for number in 0..3_000 {
        let name = format!("pod-{number}@1");
        let text = (number % 3 > 0).then_some(name.as_str());
        page.send(Ok(ListEvent::Undecodable(undecodable(text))));
    }
    drop(page);
    let _watch = rig.server.watch().await.open();
    let scope = rig.scope().await;
    assert_eq!((scope.unusable, scope.counts.undecodable), (3_000, 3_000));
    let lines = log.lines();
    assert!((1..=10).contains(&lines.len()), "{} lines", lines.len());
}

/// Ten lines at most within five minutes, then one with the number of those left out.
#[tokio::test(start_paused = true)]
async fn failed_transforms_and_objects_out_of_scope_log_a_few_lines_with_a_count() {
    let failing = Rig::with(config(InitialState::List), |builder| {
        builder.try_transform(|_| Err("simulated".to_owned()))
    });
    let (source, server) = scripted();
    let source = source.in_namespace("other");
    let foreign = Rig::over(source, server, config(InitialState::List), |builder| builder);
    for mut rig in [failing, foreign] {
        let (log, _guard) = Log::begin();
        let pods: Vec<String> = (0..3_000).map(|number| format!("pod-{number}@1")).collect();
        let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
        rig.server.list().await.page("5", &pods);
        let watch = rig.server.watch().await.open();
        settle().await;
        assert_eq!(log.lines().len(), 10, "{:#?}", log.lines());
        tokio::time::sleep(Duration::from_secs(301)).await;
        watch.add("late@6");
        settle().await;
        let lines = log.lines();
        let last = lines.last().expect("lines were logged before");
        assert!(last.contains("suppressed=2990"), "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_says_how_many_objects_of_the_last_list_are_unusable() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.send(Ok(informer_core::source::WatchEvent::Undecodable {
        change: informer_core::source::ObjectChange::Upserted,
        object: undecodable(Some("b@2")),
    }));
    watch.initial_end("5");
    assert_eq!(rig.scope().await.unusable, 1);
    watch.fail(super::scripted::expired());
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.initial_end("6");
    assert_eq!(rig.scope().await.unusable, 0, "of the last list");
}

#[test]
fn waits_are_shown_as_people_read_them() {
    use std::time::Duration;
    let error = SourceError::Connect("refused".to_owned());
    for (retry_in, expected) in [
        (Duration::ZERO, "trying again now: "),
        (Duration::from_micros(3), "trying again in less than 1ms: "),
        (Duration::from_micros(812_345), "trying again in 812ms: "),
        (Duration::from_millis(1_234), "trying again in 1.2s: "),
        (Duration::from_secs(600), "trying again in 10m: "),
    ] {
        let state = State::BackingOff {
            error: error.clone(),
            retry_in,
        };
        let text = state.to_string();
        assert!(text.starts_with(expected), "{text}");
    }
}
