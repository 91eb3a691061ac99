//! C2, C4 and C5: no change is lost, nothing starts after the stop, reads show a key's own writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::ObjectKey;
use informer_core::controller::{Action, Controller, Request};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::controllers::{Work, lag, shows_the_first_state_of_a, writing};
use crate::support::{informer_of, item, server_with, start};

#[tokio::test(start_paused = true)]
async fn c02_a_change_during_a_reconcile_leads_to_another() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let slow = |_: Arc<Request<ConfigMap>>| async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(Action::await_change())
    };
    let work = Work::start(Controller::new("items", &informer).workers(2), slow).await;
    assert_eq!(work.calls().await, ["a=1"]);
    server.update(&item("a", "2")).unwrap();
    assert_eq!(work.calls().await, [""; 0], "the key is being reconciled");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(work.calls().await, ["a=2"]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c04_no_reconcile_starts_after_the_stop() {
    let server = server_with(&["a", "b", "c", "d"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = ended.clone();
    let slow = move |_: Arc<Request<ConfigMap>>| {
        let ended = counter.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            ended.fetch_add(1, Ordering::Relaxed);
            Ok(Action::await_change())
        }
    };
    let work = Work::start(Controller::new("items", &informer).workers(2), slow).await;
    assert_eq!(work.calls().await.len(), 2);
    let stopped = work.stop().await;
    assert_eq!(
        ended.load(Ordering::Relaxed),
        2,
        "the running ones finished, and no other started"
    );
    assert_eq!((stopped.left.len(), stopped.cancelled.len()), (2, 0));
}

/// The worker wakes before the run notices the stop.
#[tokio::test(start_paused = true)]
async fn c04_a_key_added_just_before_the_stop_is_left() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let count = move |_: Arc<Request<ConfigMap>>| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok(Action::await_change()) }
    };
    let work = Work::start(Controller::new("items", &informer), count).await;
    assert_eq!(work.calls().await, ["a=1"]);
    work.controller.reconcile(ObjectKey::namespaced("default", "a"));
    let stopped = work.stop().await;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "no other started");
    assert_eq!(stopped.left, [ObjectKey::namespaced("default", "a")]);
}

#[tokio::test(start_paused = true)]
async fn c04_a_key_that_fails_after_the_stop_is_left() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let ends_late = move |request: Arc<Request<ConfigMap>>| async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        match request.key().name() {
            "c" => Ok(Action::requeue(Duration::from_secs(60))),
            _ => Err(std::io::Error::other("the disk is full")),
        }
    };
    let work = Work::start(Controller::new("items", &informer).workers(3), ends_late).await;
    assert_eq!(work.calls().await.len(), 3);
    // Added again while it runs: it is reported once all the same.
    work.controller.reconcile(ObjectKey::namespaced("default", "a"));
    let mut stopped = work.stop().await;
    stopped.left.sort();
    let keys = ["a", "b", "c"].map(|name| ObjectKey::namespaced("default", name));
    assert_eq!(stopped.left, keys);
}

#[tokio::test(start_paused = true)]
async fn c05_no_reconcile_runs_on_a_cache_older_than_its_own_write() {
    let server = Arc::new(server_with(&["a"]));
    let informer = informer_of(&server);
    start(&informer).await;
    let writes = writing(&server, &informer, shows_the_first_state_of_a);
    let lag = lag(&server).await;
    let work = Work::start(Controller::new("items", &informer).workers(2), writes).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.faults().remove(lag);
    assert_eq!(work.calls().await, ["a=1", "a=2"], "never a=1 again");
    work.stop().await;
}
