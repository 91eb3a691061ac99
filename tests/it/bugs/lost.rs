//! Lost changes: events dropped in the queue, between two requests, with a page, or without a name.

use std::time::Duration;

use informer_core::InitialState;
use informer_testing::{ApiServer, EventType, Fault, Garble, Rule, Verb, WatchCache};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{MINUTE, MODES, informer_by};
use crate::support::{
    LONG, Recorder, builder_of, final_items, informer_of, item, items, keys, quiet, server_with, settled,
    start, tasks, unseen,
};

/// kubernetes#27004: the queue looked up objects in the store, and dropped the deletion of one whose addition
/// was still queued. Here all three changes are in the queue before the store sees the first.
#[tokio::test(start_paused = true)]
async fn a_deletion_behind_a_queued_addition_is_not_dropped() {
    for initial in MODES {
        let server = server_with(&["a"]);
        let informer = informer_by(initial, &server);
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        server.create(&item("b", "1")).unwrap();
        server.update(&item("b", "2")).unwrap();
        server.delete(&item("b", "2")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(
            received.take(),
            ["initial a", "add b", "update b", "delete b"],
            "{initial:?}"
        );
        assert_eq!(keys(&informer), ["default/a"]);
        informer.shutdown().await;
    }
}

/// kubernetes#76624: a deletion arrived as an event without an object; the reflector logged it and continued,
/// and the object stayed in every cache until a restart.
#[tokio::test(start_paused = true)]
async fn a_deletion_event_without_an_object_leaves_nothing_behind() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    server.faults().add(Fault::GarbleEvent {
        kind: EventType::Deleted,
        index: 0,
        garble: Garble::Null,
    });
    // The rule applies to watches opened from now on.
    server.close_watches();
    quiet(&informer).await;
    server.delete(&item("a", "1")).unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(informer.status().scopes[0].counts.unreadable, 1);
    assert_eq!(received.take(), ["initial a", "initial b", "missed a"]);
    assert_eq!(keys(&informer), ["default/b"]);
    informer.shutdown().await;
}

/// kubernetes#83810: an object was deleted and came back, and the relist that contained it found its deletion
/// still queued and delivered nothing.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_back_in_a_relist_after_its_deletion_is_delivered() {
    let server = server_with(&["a"]);
    let informer = informer_by(InitialState::List, &server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    server.delete(&item("a", "1")).unwrap();
    // The deletion is on its way; only a list shows what follows.
    tokio::task::yield_now().await;
    unseen(&server, || drop(server.create(&item("a", "2")).unwrap()));
    settled(&informer, &server).await;
    let delivered = received.take();
    assert!(
        matches!(delivered.as_slice(), [_, gone, back] if gone.ends_with("a") && back == "add a"),
        "{delivered:?}"
    );
    assert_eq!(items(&informer), ["a=2"]);
    informer.shutdown().await;
}

/// kubernetes#141529: the fake tracker sent deletions only to open watches, so one between LIST and WATCH was
/// lost. The embedded server has a history, like the real one, and the watch starts where the list ended.
#[tokio::test(start_paused = true)]
async fn a_deletion_between_the_list_and_the_watch_is_delivered() {
    let server = server_with(&["a", "b"]);
    server
        .faults()
        .add(Rule::new(Fault::Delay(MINUTE)).on(Verb::Watch).once());
    let informer = informer_by(InitialState::List, &server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(server.watchers(), 0, "the watch is not open yet");
    server.delete(&item("a", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["initial a", "initial b", "delete a"]);
    assert_eq!(keys(&informer), ["default/b"]);
    assert_eq!(
        server.requests().lists().len(),
        1,
        "no list was needed to find out"
    );
    informer.shutdown().await;
}

/// kube#1524: the watcher of kube 0.92.0 delivered only part of a list in pages.
#[tokio::test(start_paused = true)]
async fn no_page_of_a_long_list_is_dropped() {
    let server = ApiServer::builder().watch_cache(WatchCache::Off).start();
    for number in 0..1_005 {
        server.create(&item(&format!("item-{number:04}"), "1")).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .initial_state(InitialState::List)
        .page_size(100)
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(server.requests().lists().len(), 11);
    assert_eq!(informer.indexer().len(), 1_005);
    assert_eq!(final_items(&received.events()), items(&informer));
    informer.shutdown().await;
}

/// kubernetes-client/javascript#572: objects deleted while the informer was disconnected stayed in its cache,
/// and each reconnect leaked the old connection.
#[tokio::test(start_paused = true)]
async fn reconnecting_leaves_neither_objects_nor_connections_behind() {
    for initial in MODES {
        let server = server_with(&["kept"]);
        let informer = informer_by(initial, &server);
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        let before = tasks();
        for round in 0..100 {
            let name = format!("round-{round}");
            server.create(&item(&name, "1")).unwrap();
            settled(&informer, &server).await;
            unseen(&server, || server.delete(&item(&name, "1")).unwrap());
            settled(&informer, &server).await;
        }
        quiet(&informer).await;
        assert_eq!(keys(&informer), ["default/kept"], "{initial:?}");
        assert_eq!(final_items(&received.events()), ["kept=1"]);
        assert_eq!((server.watchers(), tasks()), (1, before));
        informer.shutdown().await;
    }
}

/// kubeclient#599: when a watch ended, the state was read again and the next watch began after it; changes in
/// between were in the cache but never delivered.
#[tokio::test(start_paused = true)]
async fn changes_between_two_watches_are_delivered() {
    let happen = |server: &ApiServer, name: &str| {
        server.create(&item(name, "1")).unwrap();
        server.update(&item("a", name)).unwrap();
    };
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    received.take();
    // First the history still has it, then only a list does.
    server.close_watches();
    happen(&server, "b");
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["add b", "update a"]);
    unseen(&server, || happen(&server, "c"));
    settled(&informer, &server).await;
    let mut delivered = received.take();
    delivered.sort_unstable();
    assert_eq!(delivered, ["add c", "update a"]);
    tokio::time::timeout(LONG, informer.shutdown()).await.unwrap();
}

/// kube's reflector (finding C): subscribers received no deletions, neither from the watch nor from a relist.
#[tokio::test(start_paused = true)]
async fn every_subscriber_receives_deletions_watched_and_missed() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    let (early, late) = (Recorder::new(), Recorder::new());
    early.add_to(&informer);
    let mut events = informer.events();
    let streamed = Recorder::<ConfigMap>::new();
    let mut keep = streamed.handler();
    let reader = tokio::spawn(async move {
        while let Some(event) = futures::StreamExt::next(&mut events).await {
            keep(event);
        }
    });
    start(&informer).await;
    late.add_to(&informer);
    server.delete(&item("a", "1")).unwrap();
    settled(&informer, &server).await;
    unseen(&server, || server.delete(&item("b", "1")).unwrap());
    settled(&informer, &server).await;
    informer.shutdown().await;
    tokio::time::timeout(Duration::from_secs(1), reader)
        .await
        .expect("the stream ends")
        .unwrap();
    let expected = ["initial a", "initial b", "initial c", "delete a", "missed b"];
    for (who, received) in [("early", early), ("late", late), ("stream", streamed)] {
        assert_eq!(received.take(), expected, "{who}");
    }
}
