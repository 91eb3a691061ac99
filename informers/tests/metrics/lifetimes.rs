//! Which series exist: they end with what they measure, are bounded, and occur once.

use std::collections::BTreeSet;

use informer_testing::ApiServer;
use informers::controller::{Controller, LeaderElection};
use informers::metrics::Metrics;
use informers::workqueue::WorkQueue;
use informers::{Event, HandlerOptions, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::{factory_of, item_in, number, scrape, series, server_with, started};

#[tokio::test(start_paused = true)]
async fn series_disappear_with_what_they_measure() {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    started(&factory).await;
    let before = series(&metrics);
    assert!(!before.is_empty());

    let options = HandlerOptions::default().name("short-lived");
    let handler = items.add_handler_with(options, |_: Event<ConfigMap>| {}).unwrap();
    assert!(series(&metrics).len() > before.len());
    handler.remove().await;
    assert_eq!(series(&metrics), before, "the handler was removed");

    let secrets = factory.core().v1().secrets().informer();
    started(&factory).await;
    assert_eq!(series(&metrics).len(), 2 * before.len());
    secrets.shutdown().await;
    assert_eq!(series(&metrics), before, "the informer was stopped");

    let queue = WorkQueue::<u32>::new();
    metrics.add_queue("short-lived", &queue);
    let controller = Controller::new("short-lived", &items).build().unwrap();
    metrics.add_controller(&controller);
    let election = LeaderElection::new(server.client(), "default", "short-lived");
    metrics.add_leader_election(&election);
    let of_them = |series: &BTreeSet<String>| series.iter().filter(|one| one.contains("short-lived")).count();
    assert!(of_them(&series(&metrics)) > 20);
    drop((queue, controller, election));
    assert_eq!(of_them(&series(&metrics)), 0);

    drop((factory, items));
    assert_eq!(series(&metrics), BTreeSet::new(), "the factory was dropped");
    assert_eq!(
        format!("{metrics:?}"),
        "Metrics { sources: 0 }",
        "nothing is kept"
    );
}

#[tokio::test(start_paused = true)]
async fn the_number_of_series_does_not_depend_on_objects_or_namespaces() {
    async fn series_with(namespaces: usize, objects: usize) -> BTreeSet<String> {
        let server = ApiServer::start();
        let namespaces: Vec<String> = (0..namespaces).map(|number| format!("team-{number}")).collect();
        for namespace in &namespaces {
            for number in 0..objects {
                server
                    .create(&item_in(namespace, &format!("object-{number}"), "1"))
                    .unwrap();
            }
        }
        let builder = SharedInformerFactory::builder(server.client());
        let factory = builder.namespaces(namespaces).build().unwrap();
        let metrics = Metrics::new();
        metrics.add_factory("test", &factory);
        let items = factory.core().v1().config_maps().informer();
        // Two handlers of one name are one series, and so are many streams.
        for _ in 0..2 {
            let options = HandlerOptions::default().name("audit");
            items.add_handler_with(options, |_: Event<ConfigMap>| {}).unwrap();
        }
        let streams: Vec<_> = (0..objects).map(|_| items.events()).collect();
        let controller = Controller::new("items", &items).build().unwrap();
        factory.track(controller.downgrade());
        started(&factory).await;
        let series = series(&metrics);
        drop((streams, controller));
        factory.shutdown().await;
        series
    }
    let few = series_with(1, 1).await;
    assert_eq!(series_with(12, 20).await, few);
    assert!(
        !few.iter()
            .any(|series| series.contains("object-") || series.contains("team-"))
    );
}

#[tokio::test(start_paused = true)]
async fn several_informers_of_one_resource_have_different_labels() {
    let server = ApiServer::start();
    let (factory, metrics) = factory_of(&server);
    let whole = factory.informer_for::<Secret>();
    let metadata = factory.metadata_for::<Secret>();
    let objects = |view| number(&metrics, "informer_store_objects", &[("view", view)]);
    assert_eq!((objects("objects"), objects("metadata")), (0.0, 0.0));
    drop((whole, metadata));
    // The same factory again, under the same name: one series with the sum of both.
    metrics.add_factory("test", &factory);
    let before = series(&metrics).len();
    metrics.add_factory("other", &factory);
    assert_eq!(series(&metrics).len(), 2 * before);
}

#[tokio::test(start_paused = true)]
async fn no_series_occurs_twice_and_every_label_is_escaped() {
    let server = server_with(&["a"]);
    let (factory, metrics) = factory_of(&server);
    let items = factory.core().v1().config_maps().informer();
    for name in ["a\"b\\c\nd", "x", "x"] {
        let options = HandlerOptions::default().name(name);
        items.add_handler_with(options, |_: Event<ConfigMap>| {}).unwrap();
    }
    started(&factory).await;
    let text = scrape(&metrics);
    let samples: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    assert_eq!(
        samples.iter().collect::<BTreeSet<_>>().len(),
        samples.len(),
        "{text}"
    );
    assert!(text.contains(r#"handler="a\"b\\c\nd""#), "{text}");
    factory.shutdown().await;
}
