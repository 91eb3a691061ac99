//! What handlers may do: I9 sync truth, I14 panics and blocking, I15 transforms.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use informer_core::store::Freshness;
use informer_core::{Event, State};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Recorder, builder_of, informer_of, item, settled, start, unseen, value};

use super::names;

#[tokio::test(start_paused = true)]
async fn i09_synced_means_that_the_initial_state_is_in_the_store() {
    let server = ApiServer::start();
    for index in 0..25 {
        server.create(&item(&format!("object-{index:02}"), "0")).unwrap();
    }
    let informer = informer_of(&server);
    assert!(!informer.has_synced());
    assert!(matches!(informer.status().state, State::NotStarted));
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!(informer.indexer().len(), 25);
    informer.shutdown().await;
    assert!(informer.has_synced(), "it has been complete once");
    assert!(matches!(informer.status().state, State::Stopped));
}

#[tokio::test(start_paused = true)]
async fn i09_a_cache_reports_whether_it_is_filling_kept_or_left_behind() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let indexer = informer.indexer();
    assert_eq!((indexer.freshness(), indexer.len()), (Freshness::NotStarted, 0));
    informer.start().unwrap();
    assert_eq!((indexer.freshness(), indexer.len()), (Freshness::Filling, 0));
    informer.synced().await.unwrap();
    assert_eq!(
        (indexer.freshness(), informer.status().freshness),
        (Freshness::Kept, Freshness::Kept)
    );
    drop(informer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        (indexer.freshness(), indexer.len()),
        (Freshness::Final, 1),
        "it goes on answering"
    );
}

/// The handler is held inside its last initial call, on a real thread; its registration must not be in sync.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i09_a_registration_is_synced_only_after_its_handler_returned() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&item(name, "0")).unwrap();
    }
    let informer = informer_of(&server);
    let (entered, entries) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let registration = informer
        .add_handler(move |event: Event<ConfigMap>| {
            entered.send(event.key().unwrap().name().to_owned()).unwrap();
            let _ = released.recv();
        })
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    let entries = tokio::task::spawn_blocking(move || {
        assert_eq!(entries.recv().unwrap(), "a");
        entries
    });
    let entries = entries.await.unwrap();
    assert!(
        !registration.has_synced(),
        "the handler is still in its first call"
    );
    release.send(()).unwrap();
    tokio::task::spawn_blocking(move || assert_eq!(entries.recv().unwrap(), "b"))
        .await
        .unwrap();
    assert!(
        !registration.has_synced(),
        "the handler is still in its last call"
    );
    release.send(()).unwrap();
    registration.synced().await.unwrap();
    drop(release);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i09_ten_tasks_waiting_for_sync_all_wake() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let registration = informer.add_handler(|_: Event<ConfigMap>| ()).unwrap();
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let (informer, registration) = (informer.clone(), registration.clone());
            tokio::spawn(async move {
                informer.synced().await.unwrap();
                registration.synced().await.unwrap();
            })
        })
        .collect();
    tokio::task::yield_now().await;
    informer.start().unwrap();
    for waiter in waiters {
        tokio::time::timeout(Duration::from_secs(60), waiter)
            .await
            .expect("every waiter wakes")
            .unwrap();
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i14_a_panicking_handler_hurts_only_itself_and_still_syncs() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&item(name, "0")).unwrap();
    }
    let informer = informer_of(&server);
    let good = Recorder::new();
    informer.add_handler(good.handler()).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let bad = informer
        .add_handler(move |event: Event<ConfigMap>| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert!(event.key().unwrap().name() != "a", "this one cannot bear it");
        })
        .unwrap();
    informer.start().unwrap();
    tokio::time::timeout(Duration::from_secs(60), bad.synced())
        .await
        .expect("it still syncs")
        .unwrap();
    server.create(&item("c", "0")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(calls.load(Ordering::Relaxed), 3, "it goes on with the next event");
    assert_eq!(good.take(), ["initial a", "initial b", "add c"]);
    let status = bad.status();
    assert_eq!(status.panics, 1);
    assert!(status.last_panic.unwrap().contains("cannot bear"));
    informer.shutdown().await;
}

/// As many handlers asleep on real threads as the runtime has workers: the cache and other handlers go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_blocking_handlers_stall_nobody() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let mut gates = Vec::new();
    for _ in 0..4 {
        let (release, gate) = mpsc::channel::<()>();
        gates.push(release);
        informer
            .add_handler(move |_: Event<ConfigMap>| while gate.recv().is_ok() {})
            .unwrap();
    }
    let good = Recorder::new();
    let registration = informer.add_handler(good.handler()).unwrap();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    for name in ["b", "c"] {
        let made = server.create(&item(name, "0")).unwrap();
        let version = made.metadata.resource_version.as_deref().unwrap().into();
        informer
            .wait_until_within(&version, Duration::from_secs(60))
            .await
            .unwrap();
    }
    while good.events().len() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // On a busy machine the threads of the sleepers may start late.
    let sleepers = || {
        let handlers = informer.status().handlers;
        handlers
            .iter()
            .filter(|handler| handler.busy_for.is_some())
            .count()
    };
    while sleepers() < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let stuck = informer
        .shutdown_timeout(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(stuck.busy.len(), 4, "the sleepers are named: {stuck}");
    drop(gates);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i14_a_panicking_index_function_hurts_only_its_index() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&item(name, name)).unwrap();
    }
    let informer = informer_of(&server);
    let broken = informer
        .add_index("broken", |object: &ConfigMap| {
            assert!(value(object) != "a", "no `a` here");
            vec![value(object).to_owned()]
        })
        .unwrap();
    let exact = informer
        .add_index("exact", |object: &ConfigMap| vec![value(object).to_owned()])
        .unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!(names(&informer), ["a", "b"]);
    assert_eq!(
        (broken.values(), exact.values()),
        (vec!["b".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
    informer.shutdown().await;
}

/// Upstream: TestCacheWithTransformer. There the store transforms; here each object is transformed before the
/// store.
#[tokio::test(start_paused = true)]
async fn i15_a_transform_runs_once_per_object_received_before_anyone_sees_it() {
    for watch_list in [
        informer_core::InitialState::WatchList,
        informer_core::InitialState::List,
    ] {
        let server = ApiServer::start();
        for name in ["a", "b"] {
            server.create(&item(name, "")).unwrap();
        }
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(watch_list)
            .transform(|object| {
                let data = object.data.get_or_insert_default();
                data.entry("value".into()).or_default().push('t');
            })
            .build()
            .unwrap();
        let by_value = informer
            .add_index("value", |object: &ConfigMap| vec![value(object).to_owned()])
            .unwrap();
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        server.update(&item("a", "new")).unwrap();
        settled(&informer, &server).await;
        unseen(&server, || drop(server.create(&item("c", "")).unwrap()));
        settled(&informer, &server).await;

        let values: Vec<String> = informer
            .indexer()
            .list()
            .iter()
            .map(|object| value(object).to_owned())
            .collect();
        assert_eq!(values, ["newt", "t", "t"], "{watch_list:?}");
        assert_eq!(by_value.values(), ["newt", "t"]);
        for event in received.events() {
            assert_eq!(value(event.object()).matches('t').count(), 1, "{event:?}");
        }
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i14_a_panicking_transform_hurts_only_its_object() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        server.create(&item(name, "0")).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .transform(|object| assert!(object.metadata.name.as_deref() != Some("a"), "no `a` here"))
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!(names(&informer), ["b"]);
    let stale = informer.status().stale;
    assert_eq!(stale.len(), 1);
    assert!(
        stale[0].0.name() == "a" && stale[0].1.contains("panicked"),
        "{stale:?}"
    );
    assert_eq!(informer.status().transform_failures, 1);
    informer.shutdown().await;
}
