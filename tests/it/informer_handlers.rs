//! Handlers of a running informer: late ones, ones that panic; and indexes and transforms.

use std::sync::Arc;

use informer_core::store::IndexDefinition;
use informer_core::{Event, HandlerOptions, Offload, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{
    Recorder, final_items, informer_of, item, label, quiet, server_with, settled, start, value,
};

/// An item is added, changed to 2, and deleted again, while the informer runs.
async fn live_through(server: &ApiServer, informer: &SharedInformer<ConfigMap>, name: &str) {
    server.create(&item(name, "1")).unwrap();
    settled(informer, server).await;
    server.update(&item(name, "2")).unwrap();
    settled(informer, server).await;
    server.delete(&item(name, "2")).unwrap();
    settled(informer, server).await;
}

/// Upstream: TestAddWhileActive.
#[tokio::test(start_paused = true)]
async fn a_late_handler_receives_old_and_new_objects_and_syncs_after_the_old() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let first = Recorder::new();
    let first_registration = first.add_to(&informer);
    assert!(!first_registration.has_synced(), "the informer is not started");
    start(&informer).await;
    assert!(first_registration.has_synced());
    server.create(&item("b", "1")).unwrap();
    settled(&informer, &server).await;

    let late = Recorder::new();
    let registration = late.add_to(&informer);
    assert!(!registration.has_synced(), "it has received nothing yet");
    registration.synced().await.unwrap();
    assert!(registration.has_synced());
    assert_eq!(late.len(), 2, "all that was there");
    server.create(&item("c", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(late.take(), ["initial a", "initial b", "add c"]);
    assert_eq!(
        first.take(),
        ["initial a", "add b", "add c"],
        "the first receives nothing twice"
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_over_an_empty_cache_syncs_at_once() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    start(&informer).await;
    let registration = Recorder::new().add_to(&informer);
    registration.synced().await.unwrap();
    informer.shutdown().await;
}

/// Upstream: TestEventPanics, TestPanicPropagated. Upstream's process exits unless configured otherwise, and
/// then waits a second; here the next event follows at once, and other handlers are unaffected.
#[tokio::test(start_paused = true)]
async fn panics_are_reported_and_each_handler_is_on_its_own() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let bad_for = |bad: &'static str| {
        move |event: Event<ConfigMap>| {
            assert!(event.key().unwrap().name() != bad, "cannot bear this");
        }
    };
    let registrations = [
        informer.add_handler(bad_for("a")).unwrap(),
        informer
            .add_handler_with(HandlerOptions::default().run_on(Offload::Inline), bad_for("b"))
            .unwrap(),
        informer
            .add_async_handler(|event: Event<ConfigMap>| async move {
                tokio::task::yield_now().await;
                assert!(event.key().unwrap().name() != "c", "cannot bear c");
            })
            .unwrap(),
        informer
            .add_async_handler(|event: Event<ConfigMap>| {
                // This one panics before it returns a future.
                assert!(event.key().unwrap().name() != "a", "cannot bear a");
                std::future::ready(())
            })
            .unwrap(),
    ];
    let received = Recorder::new();
    received.add_to(&informer);
    let began = tokio::time::Instant::now();
    start(&informer).await;
    live_through(&server, &informer, "c").await;
    assert!(
        began.elapsed() < std::time::Duration::from_secs(1),
        "nobody was made to wait"
    );
    let reports = registrations.map(|registration| {
        let status = registration.status();
        (
            registration.has_synced(),
            status.panics,
            status.last_panic.unwrap(),
        )
    });
    let expected = [
        (1, "cannot bear this"),
        (1, "cannot bear this"),
        (3, "cannot bear c"),
        (1, "cannot bear a"),
    ];
    assert_eq!(
        reports,
        expected.map(|(panics, text)| (true, panics, text.to_owned()))
    );
    assert_eq!(
        received.take(),
        ["initial a", "initial b", "add c", "update c", "delete c"]
    );
    informer.shutdown().await;
}

static BY_VALUE: IndexDefinition<ConfigMap, String> =
    IndexDefinition::new("value", |object| vec![value(object).to_owned()]);

/// Upstream: TestIndexer, TestTypedIndexer, TestTypedSharedIndexInformerAddTypedIndexers,
/// TestTypedSharedIndexInformerGetTypedIndexer, TestTypedIndexersToIndexers.
#[tokio::test(start_paused = true)]
async fn an_index_is_complete_at_once_whenever_it_is_added() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let before = informer.index(&BY_VALUE).unwrap();
    start(&informer).await;
    let after = informer
        .add_index("length", |object: &ConfigMap| Some(value(object).len()))
        .unwrap();
    let labels = informer.add_label_index("app").unwrap();
    let names = |objects: Vec<Arc<ConfigMap>>| objects.iter().map(|object| label(object)).collect::<Vec<_>>();
    assert_eq!(names(before.get("1")), ["a=1", "b=1"]);
    assert_eq!(names(after.get(&1)), ["a=1", "b=1"]);

    let mut labelled = item("c", "10");
    labelled.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    server.create(&labelled).unwrap();
    server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(
        (names(before.get("1")), names(before.get("2"))),
        (vec!["b=1".into()], vec!["a=2".into()])
    );
    assert_eq!(
        (names(after.get(&1)).len(), names(after.get(&2))),
        (2, vec!["c=10".into()])
    );
    assert_eq!(names(labels.get("web")), ["c=10"]);
    assert_eq!(before.values(), ["1", "10", "2"]);
    assert_eq!(after.values(), [1, 2]);
    assert_eq!(
        names(informer.index(&BY_VALUE).unwrap().get("10")),
        ["c=10"],
        "the same index, requested again"
    );
    let taken = informer.add_index("value", |_: &ConfigMap| Some(0)).unwrap_err();
    assert!(taken.to_string().contains("value"), "{taken}");
    informer.shutdown().await;
}

/// Handlers added and removed between relists end with the state of the cache.
#[tokio::test(start_paused = true)]
async fn handlers_that_come_between_relists_believe_the_truth() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let mut all = Vec::new();
    for round in 2..8 {
        let received = Recorder::new();
        received.add_to(&informer);
        all.push(received);
        crate::support::unseen(&server, || {
            server.update(&item("a", &round.to_string())).unwrap();
            server.delete(&item("b", "")).unwrap();
            server.create(&item("b", &round.to_string())).unwrap();
        });
        settled(&informer, &server).await;
    }
    quiet(&informer).await;
    for received in all {
        assert_eq!(final_items(&received.events()), ["a=7", "b=7"]);
    }
    informer.shutdown().await;
}
