//! Waiting for an informer: to be in sync, and to have reached a version.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use informer_core::{HandlerEnded, ResourceVersion, State, WaitError};
use informer_testing::{ApiServer, VersionFormat};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::scripted::Rig;
use crate::support::{
    Door, LONG, Recorder, builder_of, informer_of, item, quiet, server_with, start, version_of,
};

/// Upstream: TestWaitFor, as far as it applies: many wait, all wake, and a late caller does not wait.
#[tokio::test(start_paused = true)]
async fn any_number_of_tasks_can_wait() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let registration = Recorder::new().add_to(&informer);
    let woken = Arc::new(AtomicUsize::new(0));
    let waiters: Vec<_> = (0..1_000)
        .map(|_| {
            let (informer, registration, woken) = (informer.clone(), registration.clone(), woken.clone());
            tokio::spawn(async move {
                informer.synced().await.unwrap();
                registration.synced().await.unwrap();
                woken.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(woken.load(Ordering::Relaxed), 0);
    informer.start().unwrap();
    for waiter in waiters {
        tokio::time::timeout(LONG, waiter)
            .await
            .expect("every waiter wakes")
            .unwrap();
    }
    informer.synced().await.unwrap();
    informer.shutdown().await;
    informer
        .synced()
        .await
        .expect("it has been in sync, and that stays true");
}

#[tokio::test(start_paused = true)]
async fn waits_for_sync_end_with_the_stop() {
    let door = Door::default();
    door.shut(503, "ServiceUnavailable");
    let server = ApiServer::start();
    let informer = builder_of::<ConfigMap>(door.client(&server)).build().unwrap();
    let registration = Recorder::new().add_to(&informer);
    informer.start().unwrap();
    let waiting = informer.clone();
    let waiter = tokio::spawn(async move { waiting.synced().await });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!waiter.is_finished());
    informer.shutdown().await;
    let error = waiter.await.unwrap().unwrap_err();
    assert_eq!(error.resource, "configmaps");
    assert_eq!(registration.synced().await, Err(HandlerEnded::Stopped));
    quiet(&informer).await;
}
#[tokio::test(start_paused = true)]
async fn a_wait_returns_at_once_when_the_version_is_there() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let written = server.update(&item("a", "2")).unwrap();
    start(&informer).await;
    let before = Instant::now();
    informer.wait_until(&version_of(&written)).await.unwrap();
    informer.wait_until(&ResourceVersion::new("1")).await.unwrap();
    assert_eq!(Instant::now(), before);
    informer.shutdown().await;
    informer
        .wait_until(&version_of(&written))
        .await
        .expect("the last state still has it");
}

/// Upstream: TestMutationCacheOnAddOrUpdate: a write counts until the store has it or something newer.
/// Upstream overlays the write on the store; here the reader waits.
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_write_ends_with_an_equal_or_a_newer_store_and_not_before() {
    for (arrives, ends) in [("a@1", false), ("a@2", true), ("a@3", true)] {
        let mut rig = Rig::watch_listing();
        let watch = rig.server.watch().await.open();
        watch.add("a@0");
        watch.initial_end("0");
        assert_eq!(rig.received().await, ["add(initial) a@0"]);
        let informer = rig.informer.clone();
        let written = ResourceVersion::new("2");
        let mut wait = tokio::spawn(async move {
            informer.wait_until(&written).await.unwrap();
            informer.indexer().get(&"default/a".parse().unwrap()).unwrap()
        });
        let early = tokio::time::timeout(Duration::from_secs(5), &mut wait).await;
        assert!(early.is_err(), "the store does not have the write yet");
        watch.modify(arrives);
        let read = tokio::time::timeout(Duration::from_secs(5), &mut wait).await;
        assert_eq!(read.is_ok(), ends, "after {arrives}");
        if let Ok(read) = read {
            let expected = arrives.strip_prefix("a@").unwrap();
            assert_eq!(version_of(read.unwrap().as_ref()), ResourceVersion::new(expected));
        }
        wait.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn versions_that_cannot_be_ordered_cannot_be_waited_for() {
    let server = ApiServer::builder().versions(VersionFormat::Opaque).start();
    let written = server.create(&item("a", "1")).unwrap();
    let informer = informer_of(&server);
    start(&informer).await;
    let here = informer.last_sync_resource_version().unwrap();
    assert!(!here.is_comparable(), "{here}");
    informer.wait_until(&here).await.unwrap();
    let elsewhere = ResourceVersion::new("not-that-one");
    assert_eq!(
        informer.wait_until(&elsewhere).await,
        Err(WaitError::NotComparable {
            version: elsewhere.clone()
        })
    );
    let received = Recorder::new();
    received.add_to(&informer);
    server.update(&item("a", "2")).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    quiet(&informer).await;
    assert_ne!(informer.last_sync_resource_version(), Some(version_of(&written)));
    assert_eq!(received.take(), ["initial a", "update a"]);
    informer.shutdown().await;
}

/// Waits must return although no task of the informer ever ran.
#[tokio::test(start_paused = true)]
async fn a_token_cancelled_before_the_start_ends_every_wait() {
    let server = server_with(&["a"]);
    let make = || {
        let token = CancellationToken::new();
        let builder = builder_of::<ConfigMap>(server.client()).cancel_with(&token);
        (builder.build().unwrap(), token)
    };
    let ends = async |what: &str, wait: BoxFuture<'static, ()>, token: CancellationToken| {
        let waiter = tokio::spawn(wait);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiter.is_finished(), "{what} did not wait");
        token.cancel();
        let ended = tokio::time::timeout(LONG, waiter).await;
        ended.unwrap_or_else(|_| panic!("{what} waits for ever")).unwrap();
    };

    let (informer, token) = make();
    let wait = async move {
        let version = ResourceVersion::new("1");
        assert_eq!(informer.wait_until(&version).await, Err(WaitError::Stopped));
    };
    ends("wait_until", wait.boxed(), token).await;

    let (informer, token) = make();
    let written = server.update(&item("a", "2")).unwrap();
    let wait = async move {
        informer.wait_for(&written).await.unwrap_err();
    };
    ends("wait_for", wait.boxed(), token).await;

    let (informer, token) = make();
    let registration = Recorder::new().add_to(&informer);
    let wait = async move {
        assert_eq!(registration.synced().await, Err(HandlerEnded::Stopped));
        drop(informer);
    };
    ends("Registration::synced", wait.boxed(), token).await;

    let (informer, token) = make();
    let mut events = informer.events();
    let wait = async move {
        assert!(events.next().await.is_none());
        drop(informer);
    };
    ends("events", wait.boxed(), token).await;

    let (informer, token) = make();
    let mut changes = informer.status_changes();
    let wait = async move {
        assert!(changes.changed().await);
        assert!(matches!(informer.status().state, State::Stopped));
    };
    ends("status_changes", wait.boxed(), token).await;

    let (informer, token) = make();
    let wait = async move {
        informer.synced().await.unwrap_err();
    };
    ends("synced", wait.boxed(), token).await;
}

#[tokio::test(start_paused = true)]
async fn waits_that_begin_after_the_token_was_cancelled_end_at_once() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let builder = builder_of::<ConfigMap>(server.client()).cancel_with(&token);
    let informer = builder.build().unwrap();
    let registration = Recorder::new().add_to(&informer);
    token.cancel();
    let waits = async {
        assert_eq!(registration.synced().await, Err(HandlerEnded::Stopped));
        let version = ResourceVersion::new("1");
        assert_eq!(informer.wait_until(&version).await, Err(WaitError::Stopped));
        assert!(informer.events().next().await.is_none());
    };
    tokio::time::timeout(LONG, waits).await.expect("nothing waits");
}
