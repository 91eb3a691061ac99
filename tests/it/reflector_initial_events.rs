//! The deadline for the end of an initial stream.

use std::time::Duration;

use informer_core::InitialState;

use super::scripted::{Rig, config, timed};

/// Upstream: TestInitialEventsEndBookmarkTicker (the ticker that does nothing). After the bookmark no
/// deadline is left.
#[tokio::test(start_paused = true)]
async fn after_the_end_bookmark_silence_is_no_failure() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.initial_end("5");
    assert_eq!(rig.received().await, ["add(initial) a@1"]);
    // Twice the deadline of the bookmark.
    rig.server.is_left_alone_for(Duration::from_secs(60)).await;
    assert!(watch.is_read());
    watch.modify("a@6");
    assert_eq!(rig.received().await, ["update a@1->6"]);
    assert_eq!(rig.server.requests, ["watch-list newest"]);
}

/// Upstream: TestInitialEventsEndBookmarkTicker (no events received). Upstream warns each time; here LIST
/// takes over.
#[tokio::test(start_paused = true)]
async fn a_stream_that_sends_nothing_is_given_up_after_the_deadline_that_was_chosen() {
    for deadline in [Duration::from_secs(5), Duration::from_secs(120)] {
        let mut config = config(InitialState::WatchList);
        config.bookmark_deadline = deadline;
        let mut rig = Rig::with(config, |builder| builder);
        let watch = rig.server.watch().await.open();
        let (wait, list) = timed(rig.server.list()).await;
        let limit = deadline + Duration::from_secs(2);
        assert!(
            (deadline..limit).contains(&wait),
            "{wait:?} instead of {deadline:?}"
        );
        assert!(!watch.is_read(), "the silent stream is dropped");
        list.page("5", &["a@1"]);
        assert_eq!(rig.received().await, ["add(initial) a@1"]);
    }
}

/// Upstream: TestInitialEventsEndBookmarkTicker (an event moves the deadline).
#[tokio::test(start_paused = true)]
async fn a_new_initial_object_moves_the_deadline() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    rig.server.is_left_alone_for(Duration::from_secs(20)).await;
    watch.add("a@1");
    rig.server.is_left_alone_for(Duration::from_secs(20)).await;
    watch.add("b@2");
    rig.server.is_left_alone_for(Duration::from_secs(20)).await;
    watch.initial_end("5");
    assert_eq!(rig.received().await, ["add(initial) a@1", "add(initial) b@2"]);
    assert_eq!(rig.server.requests, ["watch-list newest"]);
}
