//! Transforms, and the version of the cache that they must not disturb.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_core::Event;
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{
    Recorder, builder_of, informer_of, item, items, keys, label, server_with, settled, start, unseen, value,
    version_of,
};

/// Upstream: TestTransformingInformer, TestSharedInformerTransformer.
#[tokio::test(start_paused = true)]
async fn store_and_events_carry_transformed_objects_only() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .transform(|object| {
            let data = object.data.get_or_insert_default();
            let value = data.entry("value".into()).or_default();
            *value = format!("<{value}>");
        })
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    server.create(&item("b", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(items(&informer), ["a=<1>", "b=<1>"]);
    server.update(&item("b", "2")).unwrap();
    server.delete(&item("b", "")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(items(&informer), ["a=<1>"]);

    let mut seen = Vec::new();
    for event in received.events() {
        if let Event::Updated { old, .. } = &event {
            seen.push(label(old));
        }
        seen.push(label(event.object()));
    }
    assert_eq!(seen, ["a=<1>", "b=<1>", "b=<1>", "b=<2>", "b=<2>"]);
    informer.shutdown().await;
}

/// Upstream: TestTransformingInformerRace, where only lists are safe; here watch-lists are too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_never_see_an_object_that_was_not_transformed_once() {
    let server = Arc::new(ApiServer::start());
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::from_secs(1))
        .transform(|object| {
            object
                .data
                .get_or_insert_default()
                .entry("value".into())
                .or_default()
                .push('t')
        })
        .build()
        .unwrap();
    informer
        .add_handler(|event: Event<ConfigMap>| assert_eq!(value(event.object()).matches('t').count(), 1))
        .unwrap();
    start(&informer).await;
    let done = Arc::new(AtomicBool::new(false));
    let (stop, indexer) = (done.clone(), informer.indexer());
    let reader = tokio::task::spawn_blocking(move || {
        while !stop.load(Ordering::Relaxed) {
            for object in indexer.list() {
                assert_eq!(value(&object).matches('t').count(), 1, "{}", label(&object));
            }
        }
    });
    for round in 0..200 {
        let object = item(&format!("item-{}", round % 20), "");
        match round < 20 {
            true => drop(server.create(&object).unwrap()),
            false => drop(server.update(&object).unwrap()),
        }
        if round % 50 == 49 {
            unseen(&server, || drop(server.update(&item("item-0", "")).unwrap()));
            settled(&informer, &server).await;
        }
    }
    settled(&informer, &server).await;
    done.store(true, Ordering::Relaxed);
    reader.await.unwrap();
    assert_eq!(informer.status().handlers[0].panics, 0);
    informer.shutdown().await;
}

/// Upstream: TestStoreResourceVersion.
#[tokio::test(start_paused = true)]
async fn the_version_of_the_cache_follows_every_event_and_bookmarks() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    assert_eq!(informer.last_sync_resource_version(), None);
    start(&informer).await;
    let check = || {
        assert_eq!(
            informer.last_sync_resource_version().unwrap().to_string(),
            server.resource_version()
        )
    };
    check();
    server.create(&item("b", "1")).unwrap();
    settled(&informer, &server).await;
    check();
    server.update(&item("b", "2")).unwrap();
    settled(&informer, &server).await;
    check();
    server.delete(&item("b", "")).unwrap();
    settled(&informer, &server).await;
    check();
    // Something else changes: only a bookmark shows it.
    server
        .create(&k8s_openapi::api::core::v1::Secret {
            metadata: item("s", "").metadata,
            ..Default::default()
        })
        .unwrap();
    settled(&informer, &server).await;
    check();
    informer.shutdown().await;
}

/// Upstream: TestStoreResourceVersionWithNonMetaTransform. There is no object without metadata here; the
/// nearest is a transform that removes the version; the store's version still moves.
#[tokio::test(start_paused = true)]
async fn a_transform_that_drops_versions_does_not_stop_the_version_of_the_cache() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .transform(|object| object.metadata.resource_version = None)
        .build()
        .unwrap();
    start(&informer).await;
    let written = server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(informer.last_sync_resource_version(), Some(version_of(&written)));
    assert_eq!(items(&informer), ["a=2"]);
    informer.shutdown().await;
}

/// Upstream: TestSharedInformerStartRace. A transform and an error handler are given to the builder, so
/// nothing can race with the start; this test shows that they apply from the first object on.
#[tokio::test(start_paused = true)]
async fn a_transform_is_in_force_from_the_first_object_on() {
    let server = server_with(&["a", "b"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .try_transform(|object| match object.metadata.name.as_deref() {
            Some("a") => Err("not this one".to_owned()),
            _ => {
                object.data = None;
                Ok(())
            }
        })
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(keys(&informer), ["default/b"]);
    assert!(
        informer
            .indexer()
            .list()
            .iter()
            .all(|object| object.data.is_none())
    );
    let stale = informer.status().stale;
    assert!(
        stale.len() == 1 && stale[0].1.contains("not this one"),
        "{stale:?}"
    );
    assert_eq!(received.take(), ["initial b"]);
    informer.shutdown().await;
}
