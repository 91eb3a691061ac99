//! Stopping at every point where a reflector waits: nothing is left behind, and nothing half applied.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use informer_core::delta::QueueOptions;
use informer_core::source::ListEvent;
use informer_core::source::SourceError;
use informer_core::{InitialState, SharedInformer, State};
use k8s_openapi::api::core::v1::Pod;

use super::scripted::{Rig, config, metadata, pod, refused, scripted, settle, status, timed};

/// Stops the informer and checks that it takes no time and leaves no task.
async fn check_stops(rig: &Rig) {
    let (took, ()) = timed(rig.informer.shutdown()).await;
    assert_eq!(took, Duration::ZERO, "stopping waits for nothing");
    check_no_task();
    assert!(matches!(rig.state().await, State::Stopped));
}

fn check_no_task() {
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

/// Upstream: TestReflectorWatchStoppedBefore.
#[tokio::test(start_paused = true)]
async fn an_informer_stopped_before_its_start_sends_no_request() {
    let (source, mut server) = scripted();
    let informer = SharedInformer::<Pod>::from_source(source);
    informer.stop();
    assert!(informer.start().is_err());
    server.is_left_alone_for(Duration::from_secs(600)).await;
    check_no_task();
}

#[tokio::test(start_paused = true)]
async fn stopping_during_a_list_request_abandons_it() {
    let mut rig = Rig::listing();
    let list = rig.server.list().await;
    check_stops(&rig).await;
    assert!(!list.is_waited_for());
}

#[tokio::test(start_paused = true)]
async fn stopping_in_the_middle_of_a_page_applies_nothing_of_it() {
    let mut rig = Rig::listing();
    let page = rig.server.list().await.open();
    page.send(Ok(ListEvent::Metadata(metadata("5"))));
    page.send(Ok(ListEvent::Item(pod("a@1").into())));
    settle().await;
    check_stops(&rig).await;
    assert!(!page.is_read());
    assert!(rig.store().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn stopping_in_the_middle_of_the_initial_events_applies_nothing_of_them() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    settle().await;
    check_stops(&rig).await;
    assert!(!watch.is_read());
    assert!(rig.store().await.is_empty());
}

/// Upstream: TestRunUntil, TestReflectorWatchStoppedAfter,
/// TestReflectorHandleWatchStoppedAfter.
#[tokio::test(start_paused = true)]
async fn stopping_while_watching_lets_the_watch_go() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.modify("a@6");
    settle().await;
    check_stops(&rig).await;
    assert!(!watch.is_read());
    assert_eq!(
        rig.store().await,
        ["a@6"],
        "readers go on answering from the last state"
    );
    rig.server.is_left_alone_for(Duration::from_secs(600)).await;
}

/// Upstream: TestReflectorHandleWatchStoppedBefore, TestReflectorStopWatch.
#[tokio::test(start_paused = true)]
async fn stopping_during_a_watch_request_sends_no_more() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &[]);
    let _unanswered = rig.server.watch().await;
    check_stops(&rig).await;
    rig.server.is_left_alone_for(Duration::from_secs(600)).await;
}

#[tokio::test(start_paused = true)]
async fn stopping_does_not_wait_for_a_backoff() {
    let errors: [SourceError; 3] = [refused(), status(403, "Forbidden"), status(500, "InternalError")];
    for error in errors {
        let mut rig = Rig::listing();
        rig.server.list().await.fail(error);
        settle().await;
        check_stops(&rig).await;
        rig.server.is_left_alone_for(Duration::from_secs(600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_does_not_wait_for_the_pause_after_a_panic() {
    let mut rig = Rig::listing();
    rig.server.list().await.panic();
    settle().await;
    check_stops(&rig).await;
}

/// The reflector waits for room in the queue when the stop comes: what is in the queue is committed, what is
/// not is not.
#[tokio::test(start_paused = true)]
async fn stopping_while_the_queue_is_full_applies_a_prefix() {
    let slot: Arc<OnceLock<SharedInformer<Pod>>> = Arc::default();
    let stopper = slot.clone();
    let mut rig = Rig::with(config(InitialState::List), |builder| {
        builder
            .queue(QueueOptions::default().capacity(1).batch(1))
            .transform(move |pod| {
                // Runs when `c` is taken out of the queue, in which there is room for one: for `d`, and not
                // for `e`.
                if pod.metadata.name.as_deref() == Some("c") {
                    stopper.get().expect("set before the first event").stop();
                }
            })
    });
    slot.set(rig.informer.clone()).expect("set once");
    rig.server.list().await.page("5", &["a@1"]);
    let watch = rig.server.watch().await.open();
    for text in ["b@6", "c@7", "d@8", "e@9"] {
        watch.add(text);
    }
    settle().await;
    rig.informer.shutdown().await;
    check_no_task();
    assert_eq!(rig.store().await, ["a@1", "b@6", "c@7", "d@8"]);
    assert_eq!(rig.version().await, "8");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_stops_everything() {
    let (rig, watch) = Rig::synced("5", &["a@1"]).await;
    let indexer = rig.informer.indexer();
    let Rig { informer, events, .. } = rig;
    let other = informer.clone();
    drop(informer);
    settle().await;
    assert!(watch.is_read(), "one handle is left");
    drop(other);
    settle().await;
    assert!(!watch.is_read());
    check_no_task();
    assert_eq!(indexer.len(), 1, "readers go on answering from the last state");
    drop(events);
}
