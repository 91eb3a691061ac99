//! Order of delivery: I7 commit order, I8 late handlers, I11 resumption, I13 waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::{Event, ResourceVersion, WaitError};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Recorder, final_items, informer_of, item, quiet, settled, start, version_of};

#[tokio::test(start_paused = true)]
async fn i07_a_handler_receives_changes_in_commit_order() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;

    server.create(&item("a", "0")).unwrap();
    server.create(&item("b", "0")).unwrap();
    server.update(&item("a", "1")).unwrap();
    server.delete(&item("b", "0")).unwrap();
    server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    final_items(&received.events());
    assert_eq!(
        received.take(),
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
    informer
        .add_handler(move |event: Event<ConfigMap>| {
            let key = event.key().unwrap();
            let stored = indexer.get(&key).map(|object| version_of(object.as_ref()));
            let ahead = match &event {
                Event::Deleted(_) => stored.is_none(),
                _ => stored.is_none_or(|stored| stored >= version_of(event.object().as_ref())),
            };
            if !ahead {
                found.lock().unwrap().push(format!(
                    "{event:?} but the store has {:?}",
                    indexer.get(&key).is_some()
                ));
            }
        })
        .unwrap();
    start(&informer).await;
    for round in 0..50 {
        server.create(&item("a", "0")).unwrap();
        server.update(&item("a", &round.to_string())).unwrap();
        settled(&informer, &server).await;
        server.delete(&item("a", "0")).unwrap();
        settled(&informer, &server).await;
    }
    assert_eq!(*behind.lock().unwrap(), Vec::<String>::new());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i08_a_late_handler_receives_one_snapshot_then_every_change_once() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&item(name, "0")).unwrap();
    }
    let informer = informer_of(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    server.create(&item("c", "0")).unwrap();
    settled(&informer, &server).await;

    let received = Recorder::new();
    let registration = informer.add_handler(received.handler()).unwrap();
    assert!(!registration.has_synced(), "it cannot have received anything yet");
    registration.synced().await.unwrap();
    server.update(&item("a", "1")).unwrap();
    server.delete(&item("b", "0")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(
        received.take(),
        ["initial a", "initial b", "initial c", "update a", "delete b"]
    );
    informer.shutdown().await;
}

/// Handlers are added while changes arrive; each must end with the state of the cache and receive no object
/// twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i08_handlers_added_while_changes_stream_in_miss_nothing() {
    let server = Arc::new(ApiServer::start());
    for index in 0..50 {
        server.create(&item(&format!("object-{index}"), "0")).unwrap();
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
                        .update(&item(&format!("object-{index}"), &round.to_string()))
                        .unwrap();
                }
            }
        })
    };
    let mut recorders = Vec::new();
    for _ in 0..20 {
        let received = Recorder::new();
        let registration = informer.add_handler(received.handler()).unwrap();
        registration.synced().await.unwrap();
        recorders.push(received);
    }
    writer.await.unwrap();
    let last = ResourceVersion::new(&server.resource_version());
    informer
        .wait_until_within(&last, Duration::from_secs(60))
        .await
        .unwrap();
    quiet(&informer).await;
    for received in recorders {
        let final_items = final_items(&received.events());
        assert_eq!(final_items.len(), 50);
        assert!(
            final_items.iter().all(|object| object.ends_with("=39")),
            "a handler ended up with an old state"
        );
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i11_the_next_watch_starts_at_the_last_version_seen() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    let last = server.create(&item("b", "0")).unwrap();
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
    assert_eq!(watches, [version_of(&last).to_string()]);
    assert_eq!(
        server.requests().lists().len(),
        0,
        "a clean close needs no relist"
    );
    assert_eq!(
        received.take(),
        ["initial a", "add b"],
        "nothing is delivered twice"
    );
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
            0 => server.create(&item("a", "0")).unwrap(),
            _ => server.update(&item("a", &round.to_string())).unwrap(),
        };
        informer.wait_until(&version_of(&written)).await.unwrap();
        let read = informer
            .indexer()
            .get(&"default/a".parse().unwrap())
            .expect("it was written");
        assert!(
            version_of(read.as_ref()) >= version_of(&written),
            "read {:?} after writing {:?}",
            version_of(read.as_ref()),
            version_of(&written)
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
