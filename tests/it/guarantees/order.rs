//! What is heard in which order: I7 commit order, I8 late handlers, I11 resumption, I13 waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::{Event, ResourceVersion, WaitError};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use super::support::{
    Recorder, config_map, config_map_with, informer_of, quiet, replay, settled, start, value, version,
};

#[tokio::test(start_paused = true)]
async fn i07_a_handler_hears_changes_in_commit_order() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    let heard = Recorder::default();
    let registration = informer.add_handler(heard.handler()).unwrap();
    start(&informer, &registration).await;

    server.create(&config_map("a")).unwrap();
    server.create(&config_map("b")).unwrap();
    server.update(&config_map_with("a", "1")).unwrap();
    server.delete(&config_map("b")).unwrap();
    server.update(&config_map_with("a", "2")).unwrap();
    settled(&informer, &server).await;
    replay(&heard.events());
    assert_eq!(
        heard.take(),
        ["add a", "add b", "update a", "delete b", "update a"]
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i07_the_store_is_never_behind_the_event_in_hand() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    let behind = Arc::new(Mutex::new(Vec::new()));
    let (found, indexer) = (behind.clone(), informer.indexer());
    let registration = informer
        .add_handler(move |event: Event<ConfigMap>| {
            let key = event.key().unwrap();
            let stored = indexer.get(&key).map(|object| version(&object));
            let ahead = match &event {
                Event::Deleted(_) => stored.is_none(),
                _ => stored.is_none_or(|stored| stored >= version(event.object())),
            };
            if !ahead {
                found.lock().unwrap().push(format!(
                    "{event:?} but the store has {:?}",
                    indexer.get(&key).is_some()
                ));
            }
        })
        .unwrap();
    start(&informer, &registration).await;
    for round in 0..50 {
        server.create(&config_map("a")).unwrap();
        server.update(&config_map_with("a", &round.to_string())).unwrap();
        settled(&informer, &server).await;
        server.delete(&config_map("a")).unwrap();
        settled(&informer, &server).await;
    }
    assert_eq!(*behind.lock().unwrap(), Vec::<String>::new());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i08_a_late_handler_hears_one_snapshot_then_every_change_once() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&config_map(name)).unwrap();
    }
    let informer = informer_of(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    server.create(&config_map("c")).unwrap();
    settled(&informer, &server).await;

    let heard = Recorder::default();
    let registration = informer.add_handler(heard.handler()).unwrap();
    assert!(!registration.has_synced(), "it cannot have heard anything yet");
    registration.synced().await.unwrap();
    server.update(&config_map_with("a", "1")).unwrap();
    server.delete(&config_map("b")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(
        heard.take(),
        [
            "add(initial) a",
            "add(initial) b",
            "add(initial) c",
            "update a",
            "delete b"
        ]
    );
    informer.shutdown().await;
}

/// Handlers come while changes stream in; each must end up with exactly the cache, and hear no object twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i08_handlers_added_while_changes_stream_in_miss_nothing() {
    let server = Arc::new(ApiServer::start());
    for index in 0..50 {
        server
            .create(&config_map_with(&format!("object-{index}"), "0"))
            .unwrap();
    }
    let informer = informer_of(&server);
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();

    let writer = {
        let server = server.clone();
        tokio::task::spawn_blocking(move || {
            for round in 1..40 {
                for index in 0..50 {
                    server
                        .update(&config_map_with(&format!("object-{index}"), &round.to_string()))
                        .unwrap();
                }
            }
        })
    };
    let mut recorders = Vec::new();
    for _ in 0..20 {
        let heard = Recorder::default();
        let registration = informer.add_handler(heard.handler()).unwrap();
        registration.synced().await.unwrap();
        recorders.push(heard);
    }
    writer.await.unwrap();
    let last = ResourceVersion::new(&server.resource_version());
    informer
        .wait_until_within(&last, Duration::from_secs(60))
        .await
        .unwrap();
    quiet(&informer).await;
    for heard in recorders {
        let known = replay(&heard.events());
        assert_eq!(known.len(), 50);
        assert!(
            known.values().all(|object| value(object) == "39"),
            "a handler ended up with an old state"
        );
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i11_the_next_watch_starts_at_the_last_version_seen() {
    let server = ApiServer::start();
    server.create(&config_map("a")).unwrap();
    let informer = informer_of(&server);
    let heard = Recorder::default();
    let registration = informer.add_handler(heard.handler()).unwrap();
    start(&informer, &registration).await;
    let last = server.create(&config_map("b")).unwrap();
    settled(&informer, &server).await;
    server.clear_requests();

    tokio::time::sleep(Duration::from_secs(10)).await;
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let watches: Vec<String> = server
        .requests()
        .watches()
        .iter()
        .map(|request| request.resource_version().to_owned())
        .collect();
    assert_eq!(watches, [version(&last).to_string()]);
    assert_eq!(
        server.requests().lists().len(),
        0,
        "a clean close needs no relist"
    );
    assert_eq!(heard.take(), ["add(initial) a", "add b"], "nothing is told twice");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i13_after_a_wait_no_read_is_older() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    for round in 0..20 {
        let written = match round {
            0 => server.create(&config_map_with("a", "0")).unwrap(),
            _ => server.update(&config_map_with("a", &round.to_string())).unwrap(),
        };
        informer.wait_until(&version(&written)).await.unwrap();
        let read = informer
            .indexer()
            .get(&"default/a".parse().unwrap())
            .expect("it was written");
        assert!(
            version(&read) >= version(&written),
            "read {:?} after writing {:?}",
            version(&read),
            version(&written)
        );
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i13_a_wait_that_takes_too_long_is_a_typed_timeout() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    let future = ResourceVersion::new("999999999");
    let outcome = informer.wait_until_within(&future, Duration::from_secs(5)).await;
    assert!(matches!(outcome, Err(WaitError::Timeout { .. })), "{outcome:?}");
    informer.shutdown().await;
    assert_eq!(informer.wait_until(&future).await, Err(WaitError::Stopped));
}
