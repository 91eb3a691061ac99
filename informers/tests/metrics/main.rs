//! Metrics: their values, their labels, and that series end with what they measure.

#![cfg(all(feature = "core", feature = "metrics"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod documents;
mod lifetimes;
mod promql;

use std::collections::BTreeSet;
use std::time::Duration;

use informer_testing::ApiServer;
use informers::controller::{Action, Controller, LeaderElection, Manager, Request};
use informers::metrics::{Kind, Metrics, Value};
use informers::workqueue::WorkQueue;
use informers::{Event, HandlerOptions, ResourceVersion, SharedInformer, SharedInformerFactory};
use k8s_openapi::api::core::v1::ConfigMap;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

/// A ConfigMap in `default`.
fn item(name: &str, value: &str) -> ConfigMap {
    item_in("default", name, value)
}

fn item_in(namespace: &str, name: &str, value: &str) -> ConfigMap {
    let metadata = json!({ "namespace": namespace, "name": name });
    serde_json::from_value(json!({ "metadata": metadata, "data": { "value": value } })).unwrap()
}

fn server_with(names: &[&str]) -> ApiServer {
    let server = ApiServer::start();
    for name in names {
        server.create(&item(name, "1")).unwrap();
    }
    server
}

/// Waits until the cache has what the server has, and handlers have had time for it.
async fn settled(informer: &SharedInformer<ConfigMap>, server: &ApiServer) {
    let version = ResourceVersion::new(&server.resource_version());
    informer.wait_until(&version).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The scraped text.
fn scrape(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics.clone()));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

/// The value of the only series that has these labels among its own.
fn value(metrics: &Metrics, name: &str, labels: &[(&str, &str)]) -> Value {
    let families = metrics.gather();
    let family = families.iter().find(|family| family.descriptor.name == name);
    let series = family.map_or(&[][..], |family| family.series.as_slice()).iter();
    let has = |label: &(&str, &str), own: &[(&str, String)]| {
        own.iter().any(|(name, value)| (*name, value.as_str()) == *label)
    };
    let mut found = series.filter(|series| labels.iter().all(|label| has(label, &series.labels)));
    let value = found.next().map(|series| series.value);
    assert!(found.next().is_none(), "several series of {name} {labels:?}");
    value.unwrap_or_else(|| panic!("no series of {name} {labels:?} in {families:#?}"))
}

fn count(metrics: &Metrics, name: &str, labels: &[(&str, &str)]) -> u64 {
    match value(metrics, name, labels) {
        Value::Count(count) => count,
        Value::Histogram(times) => times.count(),
        other => panic!("{name} is {other:?}"),
    }
}

fn number(metrics: &Metrics, name: &str, labels: &[(&str, &str)]) -> f64 {
    match value(metrics, name, labels) {
        Value::Number(number) => number,
        other => panic!("{name} is {other:?}"),
    }
}

/// Every series, as `name{label=value,..}`.
fn series(metrics: &Metrics) -> BTreeSet<String> {
    let families = metrics.gather();
    let series = families.iter().flat_map(|family| {
        let name = family.descriptor.name;
        let labels = family.series.iter().map(|series| &series.labels);
        labels.map(move |labels| format!("{name}{labels:?}"))
    });
    series.collect()
}

fn factory_of(server: &ApiServer) -> (SharedInformerFactory, Metrics) {
    let (factory, metrics) = (SharedInformerFactory::new(server.client()), Metrics::new());
    metrics.add_factory("test", &factory);
    (factory, metrics)
}

async fn started(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync().await.unwrap();
}

/// A program with everything that has metrics. `use_it` runs while all of it does.
async fn with_everything(use_it: impl AsyncFnOnce(&Metrics)) {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    let options = HandlerOptions::default().name("audit");
    items.add_handler_with(options, |_: Event<ConfigMap>| {}).unwrap();
    let election = LeaderElection::new(server.client(), "default", "items");
    metrics.add_leader_election(&election);
    let controller = Controller::new("items", &items).build().unwrap();
    let manager = Manager::new(factory).leader_election(election);
    let manager = manager.controller(controller, |_: Request<ConfigMap>| async {
        Ok::<_, std::io::Error>(Action::await_change())
    });
    let run = tokio::spawn(manager.run_until(std::future::pending()));
    tokio::time::sleep(Duration::from_secs(20)).await;
    use_it(&metrics).await;
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn every_series_is_in_the_table_with_exactly_its_labels() {
    with_everything(async |metrics| {
        let families = metrics.gather();
        let mut missing: BTreeSet<_> = Metrics::descriptors().iter().map(|known| known.name).collect();
        assert_eq!(missing.len(), Metrics::descriptors().len(), "two have one name");
        for family in &families {
            let known = family.descriptor;
            assert!(missing.remove(known.name), "{} is not in the table", known.name);
            assert_eq!(
                known.kind == Kind::Counter,
                known.name.ends_with("_total"),
                "{}",
                known.name
            );
            for series in &family.series {
                let labels: Vec<_> = series.labels.iter().map(|(name, _)| *name).collect();
                assert_eq!(labels, known.labels, "{}", known.name);
                let is_right = match series.value {
                    Value::Count(_) => known.kind == Kind::Counter,
                    Value::Number(_) => known.kind == Kind::Gauge,
                    Value::Histogram(_) => known.kind == Kind::Histogram,
                    _ => false,
                };
                assert!(is_right, "{} is {:?}", known.name, series.value);
            }
        }
        assert!(missing.is_empty(), "nothing exports {missing:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_counts_lists_watches_and_events_by_type() {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    started(&factory).await;
    server.create(&item("b", "1")).unwrap();
    server.update(&item("a", "2")).unwrap();
    server.update(&item("a", "3")).unwrap();
    server.delete(&item("b", "1")).unwrap();
    settled(&items, &server).await;
    let events = |kind| count(&metrics, "informer_events_total", &[("type", kind)]);
    assert_eq!(
        (events("added"), events("modified"), events("deleted")),
        (1, 2, 1)
    );
    let labels = [
        ("name", "test"),
        ("group", ""),
        ("version", "v1"),
        ("resource", "configmaps"),
        ("view", "objects"),
    ];
    assert_eq!(count(&metrics, "informer_lists_total", &labels), 1);
    assert_eq!(count(&metrics, "informer_watches_total", &labels), 1);
    assert_eq!(number(&metrics, "informer_store_objects", &labels), 1.0);
    assert_eq!(number(&metrics, "informer_synced", &labels), 1.0);
    assert!(count(&metrics, "informer_processing_latency_seconds", &labels) >= 2);
    let version: f64 = server.resource_version().parse().unwrap();
    assert_eq!(
        number(&metrics, "informer_store_resource_version", &labels),
        version
    );
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_relist_is_counted_by_its_reason() {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    started(&factory).await;
    // The informer misses these changes, and the server forgets them before it asks.
    server.close_watches();
    server.create(&item("b", "1")).unwrap();
    server.create(&item("c", "1")).unwrap();
    server.compact(server.revision());
    settled(&items, &server).await;
    let relists = |reason| count(&metrics, "informer_relists_total", &[("reason", reason)]);
    let all: u64 = ["expired", "silent", "watch_failed", "rewound"]
        .map(relists)
        .iter()
        .sum();
    assert_eq!((relists("expired"), all), (1, 1), "{}", scrape(&metrics));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_state_and_the_age_of_a_cache_are_visible() {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    let state = |state| number(&metrics, "informer_state", &[("state", state)]);
    assert_eq!((state("not_started"), state("live")), (1.0, 0.0));
    started(&factory).await;
    settled(&items, &server).await;
    assert_eq!((state("not_started"), state("live")), (0.0, 1.0));
    let staleness = || number(&metrics, "informer_staleness_seconds", &[]);
    assert!(staleness() < 1.0);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!((29.0..70.0).contains(&staleness()), "{}", staleness());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_shows_its_backlog_and_its_times() {
    let server = server_with(&["a", "b", "c"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    let slow = |_: Event<ConfigMap>| tokio::time::sleep(Duration::from_secs(2));
    items
        .add_async_handler_with(HandlerOptions::default().name("slow"), slow)
        .unwrap();
    let of = [("handler", "slow")];
    factory.start();
    items.synced().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(number(&metrics, "informer_handler_pending_events", &of), 1.0);
    assert!(number(&metrics, "informer_handler_oldest_event_seconds", &of) >= 2.0);
    assert!(number(&metrics, "informer_handler_busy_seconds", &of) >= 0.9);
    factory.wait_for_sync().await.unwrap();
    let Value::Histogram(times) = value(&metrics, "informer_handler_duration_seconds", &of) else {
        panic!("not a histogram");
    };
    assert_eq!((times.count(), times.sum().as_secs()), (3, 6));
    let bucket = times
        .buckets()
        .find(|(bound, _)| *bound == Duration::from_millis(2_500));
    assert_eq!(bucket.map(|(_, count)| count), Some(3));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_shows_how_long_its_keys_waited_and_were_processed() {
    let (metrics, queue) = (Metrics::new(), WorkQueue::new());
    metrics.add_queue("retries", &queue);
    let of = [("name", "retries")];
    queue.add(1);
    queue.add(1);
    queue.add_after(2, Duration::from_secs(3_600));
    assert_eq!(number(&metrics, "workqueue_depth", &of), 1.0);
    assert_eq!(number(&metrics, "workqueue_delayed", &of), 1.0);
    tokio::time::advance(Duration::from_secs(1)).await;
    let item = queue.get().await.unwrap();
    tokio::time::advance(Duration::from_millis(50)).await;
    assert_eq!(
        number(&metrics, "workqueue_longest_running_processor_seconds", &of),
        0.05
    );
    assert_eq!(number(&metrics, "workqueue_unfinished_work_seconds", &of), 0.05);
    drop(item);
    assert_eq!(count(&metrics, "workqueue_adds_total", &of), 1);
    assert_eq!(count(&metrics, "workqueue_retries_total", &of), 1);
    let text = scrape(&metrics);
    for line in [
        "workqueue_queue_duration_seconds_sum{name=\"retries\"} 1.0",
        "workqueue_queue_duration_seconds_bucket{le=\"0.1\",name=\"retries\"} 0",
        "workqueue_queue_duration_seconds_bucket{le=\"1.0\",name=\"retries\"} 1",
        "workqueue_work_duration_seconds_bucket{le=\"+Inf\",name=\"retries\"} 1",
        "workqueue_work_duration_seconds_sum{name=\"retries\"} 0.05",
        "workqueue_adds_total{name=\"retries\"} 1",
    ] {
        assert!(text.lines().any(|own| own == line), "no {line} in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn reconciles_are_counted_by_result_and_timed() {
    let server = server_with(&["good", "bad"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    let controller = Controller::new("items", &items).build().unwrap();
    let manager = Manager::new(factory).controller(controller, |request: Request<ConfigMap>| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match request.key().name() {
            "good" => Ok(Action::await_change()),
            _ => Err(std::io::Error::other("no")),
        }
    });
    let run = tokio::spawn(manager.run_until(std::future::pending()));
    tokio::time::sleep(Duration::from_millis(2_004)).await;
    let reconciles = |result| {
        let of = [("controller", "items"), ("result", result)];
        count(&metrics, "controller_reconcile_total", &of)
    };
    assert_eq!((reconciles("success"), reconciles("error")), (1, 1));
    assert_eq!(count(&metrics, "controller_reconcile_duration_seconds", &[]), 2);
    assert_eq!(number(&metrics, "controller_failing_keys", &[]), 1.0);
    assert_eq!(
        count(&metrics, "workqueue_retries_total", &[("name", "items")]),
        1
    );
    run.abort();
}
