//! Faulty servers: I1 no going back, I2 monotonic versions, I4 no ghosts, I12 bounded requests.

use std::sync::Arc;
use std::time::Duration;

use informer_core::source::{BookmarkMark, SourceError, WatchEvent};
use informer_core::{InitialState, ResourceVersion, SharedInformer, State};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Recorder, final_items, version_of};

use super::names;
use crate::scripted::{Answer, End, Script, initial_end, list_at, listed, object, status};

fn informer_over(script: &Script, initial: InitialState) -> SharedInformer<ConfigMap> {
    SharedInformer::builder_from_sources(vec![Arc::new(script.source())])
        .initial_state(initial)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn i01_an_older_state_never_takes_the_place_of_a_newer_one() {
    let script = Script::new([
        Answer::List(vec![list_at("5"), listed("a", "5")]),
        Answer::Watch(
            vec![
                WatchEvent::Modified(object("a", "8").into()),
                // A server that replays its history: nothing is new.
                WatchEvent::Modified(object("a", "6").into()),
                WatchEvent::Deleted(object("a", "7").into()),
                WatchEvent::Added(object("a", "8").into()),
                WatchEvent::Modified(object("a", "9").into()),
            ],
            End::Open,
        ),
    ]);
    let informer = informer_over(&script, InitialState::List);
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(final_items(&received.events()).len(), 1);
    assert_eq!(received.take(), ["initial a", "update a", "update a"]);
    assert_eq!(
        version_of(informer.indexer().list()[0].as_ref()),
        ResourceVersion::new("9")
    );
    assert_eq!(informer.status().scopes[0].counts.outdated, 2);
    informer.shutdown().await;
}

/// A stale replica answers a relist; its answer is refused, and the cache waits for a server that is not
/// behind.
#[tokio::test(start_paused = true)]
async fn i02_the_store_version_never_goes_back_on_a_stale_answer() {
    let script = Script::new([
        Answer::List(vec![list_at("10"), listed("a", "9")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![list_at("5"), listed("a", "4"), listed("old", "3")]),
        Answer::List(vec![list_at("12"), listed("a", "11")]),
        Answer::Watch(vec![], End::Open),
    ]);
    let informer = informer_over(&script, InitialState::List);
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    informer
        .wait_until_within(&"12".into(), Duration::from_secs(60))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        received.take(),
        ["initial a", "update a"],
        "nothing of the stale answer was delivered"
    );
    assert_eq!(informer.status().scopes[0].counts.rewinds, 0);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i02_bookmarks_move_the_version_and_no_object_is_newer_than_it() {
    let bookmark = |version: &str| WatchEvent::Bookmark {
        version: Some(version.into()),
        mark: BookmarkMark::Progress,
    };
    let script = Script::new([
        Answer::List(vec![list_at("10"), listed("a", "9")]),
        Answer::Watch(
            vec![
                bookmark("20"),
                WatchEvent::Modified(object("a", "25").into()),
                WatchEvent::Bookmark {
                    version: None,
                    mark: BookmarkMark::Progress,
                },
                // A bookmark without a version moves nothing, and an older one does not belong to this
                // history.
                bookmark("21"),
            ],
            End::Open,
        ),
        Answer::List(vec![list_at("26"), listed("a", "25")]),
        Answer::Watch(vec![], End::Open),
    ]);
    let informer = informer_over(&script, InitialState::List);
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (versions, indexer) = (seen.clone(), informer.indexer());
    informer
        .add_handler(move |_: informer_core::Event<ConfigMap>| {
            let snapshot = indexer.snapshot();
            let store = snapshot.resource_version().expect("something was listed");
            assert!(
                snapshot
                    .list()
                    .iter()
                    .all(|object| version_of(object.as_ref()) <= store),
                "an object is newer than the store"
            );
            versions.lock().unwrap().push(store);
        })
        .unwrap();
    informer.start().unwrap();
    informer
        .wait_until_within(&"25".into(), Duration::from_secs(60))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(informer.last_sync_resource_version(), Some("25".into()));
    informer
        .wait_until_within(&"26".into(), Duration::from_secs(60))
        .await
        .expect("it looks again, and goes on");
    assert!(seen.lock().unwrap().is_sorted(), "{seen:?}");
    assert_eq!(informer.status().handlers[0].panics, 0);
    informer.shutdown().await;
}

/// The newest state of the server itself is older: etcd was restored. The cache follows and reports it.
#[tokio::test(start_paused = true)]
async fn i01_a_rewind_of_the_server_is_followed_and_reported() {
    let script = Script::new([
        Answer::List(vec![list_at("10"), listed("a", "9"), listed("b", "10")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::Refuse(status(410, "Expired")),
        Answer::List(vec![list_at("5"), listed("a", "4")]),
        Answer::Watch(vec![WatchEvent::Modified(object("a", "6").into())], End::Open),
    ]);
    let informer = informer_over(&script, InitialState::List);
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(
        received.take(),
        ["initial a", "initial b", "missed b", "update a", "update a"]
    );
    assert_eq!(informer.status().scopes[0].counts.rewinds, 1);
    assert_eq!(informer.last_sync_resource_version(), Some("6".into()));
    informer.shutdown().await;
}

/// The first stream ends before its end bookmark; its objects were deleted before the second.
#[tokio::test(start_paused = true)]
async fn i04_an_aborted_initial_stream_leaves_no_ghost() {
    let script = Script::new([
        Answer::Watch(
            vec![
                WatchEvent::Added(object("a", "1").into()),
                WatchEvent::Added(object("ghost", "2").into()),
            ],
            End::Failed(SourceError::Transport("reset by peer".into())),
        ),
        Answer::List(vec![list_at("9"), listed("a", "1")]),
        Answer::Watch(vec![], End::Open),
    ]);
    let informer = informer_over(&script, InitialState::WatchList);
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(received.take(), ["initial a"]);
    assert_eq!(names(&informer), ["a"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i04_what_is_deleted_before_the_end_bookmark_was_never_there() {
    let script = Script::new([Answer::Watch(
        vec![
            WatchEvent::Added(object("a", "1").into()),
            WatchEvent::Added(object("b", "2").into()),
            WatchEvent::Deleted(object("a", "3").into()),
            WatchEvent::Modified(object("b", "4").into()),
            initial_end("5"),
        ],
        End::Open,
    )]);
    let informer = informer_over(&script, InitialState::WatchList);
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(received.take(), ["initial b"]);
    assert_eq!(
        version_of(informer.indexer().list()[0].as_ref()),
        ResourceVersion::new("4")
    );
    informer.shutdown().await;
}

/// Ten minutes of nothing but errors: a bounded number of requests, a visible state, and recovery when they
/// stop.
#[tokio::test(start_paused = true)]
async fn i12_while_everything_fails_requests_are_few_and_then_the_cache_converges() {
    let failures = 4_000;
    let mut answers: Vec<Answer> = (0..failures)
        .map(|_| Answer::Refuse(status(503, "ServiceUnavailable")))
        .collect();
    answers.push(Answer::List(vec![list_at("5"), listed("a", "1")]));
    answers.push(Answer::Watch(vec![], End::Open));
    let script = Script::new(answers);
    let informer = informer_over(&script, InitialState::List);
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let scope = informer.status().scopes.remove(0);
    assert!(matches!(scope.state, State::BackingOff { .. }), "{}", scope.state);
    let error = scope.last_error.expect("the last error is shown");
    assert_eq!(error.count, scope.counts.errors);
    // Five waits under 30 s, then 30 to 60 s each.
    assert!(
        (10..=30).contains(&scope.counts.errors),
        "{} requests in ten minutes",
        scope.counts.errors
    );

    script.skip_refusals();
    informer
        .synced_within(Duration::from_secs(70))
        .await
        .expect("one more wait, and it recovers");
    assert_eq!(names(&informer), ["a"]);
    informer.shutdown().await;
}
