//! The lifecycle of an informer: it starts once, stops in order, and leaves no task behind.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::StreamExt as _;
use informer_core::{
    AddHandlerError, Event, HandlerEnded, HandlerState, SharedInformer, StartError, State, WaitError,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use crate::support::{
    LONG, Recorder, builder_of, informer_of, item, items, server_with, start, tasks, value,
};

/// Upstream: TestStateSharedInformer.
#[tokio::test(start_paused = true)]
async fn the_flags_of_a_life() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let state =
        |informer: &SharedInformer<ConfigMap>| (informer.is_stopped(), informer.status().state.to_string());
    assert_eq!(state(&informer), (false, "not started".into()));
    start(&informer).await;
    assert_eq!(state(&informer), (false, "live".into()));
    informer.stop();
    assert!(informer.is_stopped());
    informer.shutdown().await;
    assert_eq!(state(&informer), (true, "stopped".into()));
    assert_eq!(informer.start(), Err(StartError::Stopped), "a life is lived once");
}

#[tokio::test(start_paused = true)]
async fn starting_twice_is_an_error_and_changes_nothing() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    assert_eq!(informer.start(), Err(StartError::AlreadyStarted));
    assert_eq!(informer.clone().start(), Err(StartError::AlreadyStarted));
    assert_eq!(server.requests().of("configmaps").len(), 1);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_before_the_start_ends_everything() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let registration = Recorder::new().add_to(&informer);
    let mut events = informer.events();
    informer.shutdown().await;
    assert!(matches!(informer.status().state, State::Stopped));
    assert_eq!(informer.start(), Err(StartError::Stopped));
    assert!(informer.synced().await.is_err());
    let ended = tokio::time::timeout(LONG, registration.synced())
        .await
        .expect("no wait for ever");
    assert_eq!(ended, Err(HandlerEnded::Stopped));
    assert!(
        tokio::time::timeout(LONG, events.next())
            .await
            .expect("the stream ends")
            .is_none()
    );
    assert_eq!(server.requests().len(), 0);
}

/// Upstream: TestAddOnStoppedSharedInformer.
#[tokio::test(start_paused = true)]
async fn adding_a_handler_after_the_stop_is_an_error() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    informer.stop();
    // At once: the tasks have had no chance to notice yet.
    let refused = informer.add_handler(|_: Event<ConfigMap>| ()).unwrap_err();
    assert_eq!(refused, AddHandlerError::Stopped);
    assert!(refused.to_string().ends_with("the informer has stopped"));
    informer.shutdown().await;
    assert_eq!(
        informer.add_handler(|_: Event<ConfigMap>| ()).unwrap_err(),
        AddHandlerError::Stopped
    );
    assert_eq!(
        informer
            .add_async_handler(async |_: Event<ConfigMap>| ())
            .unwrap_err(),
        AddHandlerError::Stopped
    );
    assert!(informer.events().next().await.is_none());
}

/// When a handler is added, relative to the shutdown.
#[derive(Clone, Copy, Debug)]
enum Added {
    BeforeTheStart,
    AfterTheStart,
    NeverStarted,
}

/// Upstream: TestShutdown.
#[tokio::test(start_paused = true)]
async fn a_shutdown_leaves_no_task() {
    let server = server_with(&["a", "b"]);
    let client = server.client();
    let before = tasks();
    for added in [Added::BeforeTheStart, Added::AfterTheStart, Added::NeverStarted] {
        let informer = builder_of::<ConfigMap>(client.clone()).build().unwrap();
        let add = || {
            Recorder::new().add_to(&informer);
            informer
                .add_async_handler(|_: Event<ConfigMap>| tokio::time::sleep(Duration::from_secs(5)))
                .unwrap();
        };
        match added {
            Added::BeforeTheStart => {
                add();
                informer.start().unwrap();
            }
            Added::AfterTheStart => {
                start(&informer).await;
                add();
            }
            Added::NeverStarted => add(),
        }
        tokio::task::yield_now().await;
        informer.shutdown().await;
        assert_eq!(tasks(), before, "{added:?}");
        assert_eq!(server.watchers(), 0, "{added:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_at_any_moment_leaves_no_task() {
    let server = server_with(&["a", "b"]);
    let client = server.client();
    let before = tasks();
    for yields in 0..60 {
        let informer = builder_of::<ConfigMap>(client.clone()).build().unwrap();
        let registration = Recorder::new().add_to(&informer);
        informer.start().unwrap();
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        tokio::time::timeout(LONG, informer.shutdown())
            .await
            .expect("no deadlock");
        assert_eq!(tasks(), before, "after {yields} steps");
        // Either way, waiting for the handler ends.
        let _ = tokio::time::timeout(LONG, registration.synced())
            .await
            .expect("no wait for ever");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_that_takes_too_long_names_the_busy_handlers() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let (entered, entries) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let options = informer_core::HandlerOptions::default().name("sleeper");
    informer
        .add_handler_with(options, move |_: Event<ConfigMap>| {
            entered.send(()).unwrap();
            let _ = released.recv();
        })
        .unwrap();
    Recorder::new().add_to(&informer);
    informer.start().unwrap();
    tokio::task::spawn_blocking(move || entries.recv_timeout(LONG).unwrap())
        .await
        .unwrap();
    let late = informer
        .shutdown_timeout(Duration::from_millis(20))
        .await
        .unwrap_err();
    assert_eq!(late.busy, ["sleeper"]);
    assert!(late.to_string().contains("sleeper"));
    drop(release);
    informer.shutdown_timeout(LONG).await.unwrap();
}

#[test]
fn without_a_runtime_a_start_is_an_error_until_there_is_one() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (server, informer) = runtime.block_on(async {
        let server = server_with(&["a"]);
        let informer = informer_of(&server);
        (server, informer)
    });
    let received = Recorder::new();
    received.add_to(&informer);
    assert_eq!(informer.start(), Err(StartError::NoRuntime));
    runtime.block_on(async {
        start(&informer).await;
        assert_eq!(received.take(), ["initial a"]);
        informer.shutdown().await;
    });
    drop(server);
}

#[test]
fn a_custom_runtime_runs_the_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let entered = runtime.enter();
    let server = server_with(&["a"]);
    let client = server.client();
    drop(entered);
    let informer = builder_of::<ConfigMap>(client)
        .runtime(runtime.handle().clone())
        .build()
        .unwrap();
    let received = Recorder::new();
    let registration = received.add_to(&informer);
    informer.start().unwrap();
    runtime.block_on(async {
        registration.synced().await.unwrap();
        assert_eq!(received.take(), ["initial a"]);
        informer.shutdown().await;
    });
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_token_stops_the_informer() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let client = server.client();
    let informer = builder_of::<ConfigMap>(client.clone())
        .cancel_with(&token.child_token())
        .build()
        .unwrap();
    let before = tasks();
    let registration = Recorder::new().add_to(&informer);
    start(&informer).await;
    token.cancel();
    tokio::time::timeout(LONG, informer.shutdown())
        .await
        .expect("it stops by itself");
    assert_eq!(tasks(), before);
    assert!(matches!(informer.status().state, State::Stopped));
    assert_eq!(
        registration.status().state,
        HandlerState::Ended(HandlerEnded::Stopped)
    );
}

#[tokio::test(start_paused = true)]
async fn stopping_an_informer_does_not_cancel_its_users_token() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let informer = builder_of::<ConfigMap>(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    start(&informer).await;
    informer.shutdown().await;
    assert!(!token.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_token_cancelled_before_the_start_ends_everything() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let informer = builder_of::<ConfigMap>(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    let registration = Recorder::new().add_to(&informer);
    token.cancel();
    assert!(informer.is_stopped());
    assert_eq!(
        informer.add_handler(|_: Event<ConfigMap>| ()).unwrap_err(),
        AddHandlerError::Stopped
    );
    assert_eq!(informer.start(), Err(StartError::Stopped));
    let ended = tokio::time::timeout(LONG, registration.synced())
        .await
        .expect("no wait for ever");
    assert_eq!(ended, Err(HandlerEnded::Stopped));
    let version = "1".into();
    let waited = tokio::time::timeout(LONG, informer.wait_until(&version))
        .await
        .expect("no wait for ever");
    assert_eq!(waited, Err(WaitError::Stopped));
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_dropped_stops_and_its_cache_goes_on_answering() {
    let server = server_with(&["a"]);
    // A client has its own task as long as it lives.
    let client = server.client();
    let informer = builder_of::<ConfigMap>(client.clone()).build().unwrap();
    let before = tasks();
    let registration = Recorder::new().add_to(&informer);
    let mut events = informer.events();
    let by_value = informer
        .add_index("value", |object: &ConfigMap| Some(value(object).to_owned()))
        .unwrap();
    let indexer = informer.indexer();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    let second = informer.clone();
    drop(informer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(tasks() > before, "another handle is alive");
    drop(second);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tasks(), before);
    assert_eq!(server.watchers(), 0);
    assert_eq!(
        registration.status().state,
        HandlerState::Ended(HandlerEnded::Stopped)
    );
    while events.next().await.is_some() {}
    server.create(&item("b", "1")).unwrap();
    assert_eq!((indexer.len(), by_value.len("1")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_informer_dropped_before_its_start_ends_its_registrations() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let registration = Recorder::new().add_to(&informer);
    let mut events = informer.events();
    drop(informer);
    let ended = tokio::time::timeout(LONG, registration.synced())
        .await
        .expect("no wait for ever");
    assert_eq!(ended, Err(HandlerEnded::Stopped));
    assert!(
        tokio::time::timeout(LONG, events.next())
            .await
            .expect("the stream ends")
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_received_is_committed_before_the_end() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let stop = token.clone();
    let informer = builder_of::<ConfigMap>(server.client())
        .cancel_with(&token)
        // The stop comes while `c` is received: `b`, received just before, still waits in the queue.
        .transform(move |object| {
            if object.metadata.name.as_deref() == Some("c") {
                stop.cancel();
            }
        })
        .build()
        .unwrap();
    start(&informer).await;
    for name in ["b", "c"] {
        server.create(&item(name, "1")).unwrap();
    }
    tokio::time::timeout(LONG, token.cancelled())
        .await
        .expect("`c` is received");
    informer.shutdown().await;
    assert_eq!(items(&informer)[..2], ["a=1", "b=1"]);
}

/// Upstream: TestSharedInformerInitializationRace.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_and_indexes_added_while_starting_miss_nothing() {
    for _ in 0..50 {
        let server = server_with(&["a", "b"]);
        let informer = informer_of(&server);
        let barrier = Arc::new(tokio::sync::Barrier::new(3));
        let (first, second) = (barrier.clone(), barrier.clone());
        let starting = informer.clone();
        let starter = tokio::spawn(async move {
            first.wait().await;
            starting.start().unwrap();
        });
        let adding = informer.clone();
        let adder = tokio::spawn(async move {
            second.wait().await;
            let received = Recorder::new();
            let registration = received.add_to(&adding);
            let index = adding.add_index("all", |_: &ConfigMap| Some(1)).unwrap();
            registration.synced().await.unwrap();
            (received, index)
        });
        barrier.wait().await;
        starter.await.unwrap();
        let (received, index) = adder.await.unwrap();
        assert_eq!(received.take(), ["initial a", "initial b"]);
        informer.synced().await.unwrap();
        assert_eq!(index.len(&1), 2);
        informer.shutdown().await;
    }
}
