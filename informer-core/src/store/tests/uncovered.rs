//! Reads in a namespace that the store's informer does not cover: empty, and logged once.

use std::fmt;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

use super::{key, put};
use crate::scope::Scope;
use crate::selector::Selector;
use crate::store::{self, Indexer, IndexerWriter};

/// Collects the fields of every event, one line per event.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

/// A store filled by an informer over these scopes, which contains `web/a`.
fn attended(scopes: &[Scope]) -> (IndexerWriter<ConfigMap>, Indexer<ConfigMap>) {
    let (mut writer, indexer) = store::new();
    writer.attend("configmaps");
    let mut commit = writer.begin();
    for scope in scopes {
        commit.announce_scope(scope);
    }
    commit.publish();
    put(&mut writer, &[("web/a", &["v"])]);
    writer.filled();
    (writer, indexer)
}

/// Checks the log after these reads.
fn check(scopes: &[Scope], reads: &[fn(&Indexer<ConfigMap>) -> bool], expected: &[&str]) {
    let (_writer, indexer) = attended(scopes);
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        for (position, read) in reads.iter().enumerate() {
            assert!(read(&indexer), "read {position} returned something else");
        }
    });
    assert_eq!(*log.0.lock().unwrap(), expected);
}

const WARNING: &str = "WARN message=read in a namespace that the informer does not cover: the result is \
                         always empty \
                         resource=\"configmaps\" namespace=\"other\"";

fn two() -> [Scope; 2] {
    [Scope::of(Some("web")), Scope::of(Some("db"))]
}

#[test]
fn every_uncovered_read_is_empty_and_the_first_is_logged() {
    let reads: [fn(&Indexer<ConfigMap>) -> bool; 6] = [
        |indexer| indexer.get(&key("other/a")).is_none(),
        |indexer| !indexer.contains(&key("other/a")),
        |indexer| indexer.list_namespace("other").is_empty(),
        |indexer| indexer.len_namespace("other") == 0,
        |indexer| indexer.is_namespace_empty("other"),
        |indexer| {
            let selector: Selector = "app=v".parse().unwrap();
            indexer.select_namespace("other", &selector).is_empty()
        },
    ];
    for read in reads {
        check(&two(), &[read], &[WARNING]);
    }
    check(&two(), &reads, &[WARNING]);
}

#[test]
fn covered_reads_are_not_logged() {
    let reads: [fn(&Indexer<ConfigMap>) -> bool; 5] = [
        |indexer| indexer.get(&key("web/a")).is_some(),
        |indexer| indexer.get(&key("web/b")).is_none(),
        |indexer| indexer.list_namespace("db").is_empty(),
        |indexer| indexer.list().len() == 1,
        |indexer| indexer.resource() == Some("configmaps"),
    ];
    check(&two(), &reads, &[]);
}

/// A key without a namespace is a different error: there is no namespace to add to the informer.
#[test]
fn reads_without_a_namespace_are_not_logged() {
    let reads: [fn(&Indexer<ConfigMap>) -> bool; 2] = [
        |indexer| indexer.get(&key("a")).is_none(),
        |indexer| indexer.list_namespace("").is_empty(),
    ];
    check(&two(), &reads, &[]);
}

#[test]
fn the_first_read_after_the_end_of_the_writer_is_logged() {
    let (writer, indexer) = attended(&two());
    drop(writer);
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        assert_eq!(indexer.list().len(), 1);
        assert_eq!(indexer.list().len(), 1);
    });
    let lines = log.0.lock().unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("stopped informer"), "{lines:?}");
}

#[test]
fn an_informer_over_all_namespaces_covers_every_read() {
    check(
        &[Scope::All],
        &[
            |indexer| indexer.get(&key("other/a")).is_none(),
            |indexer| indexer.list_namespace("other").is_empty(),
        ],
        &[],
    );
}

#[test]
fn a_store_without_an_informer_covers_every_read() {
    let (_writer, indexer) = store::new::<ConfigMap>();
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        assert!(indexer.list_namespace("other").is_empty());
    });
    assert!(log.0.lock().unwrap().is_empty());
    assert_eq!(indexer.resource(), None);
}
