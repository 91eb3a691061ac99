//! I16: an object that cannot be decoded is reported, stops nothing, and is never taken for a deletion.

use std::time::Duration;

use informer_core::source::{ListEvent, ObjectChange, WatchEvent};
use informer_core::{InitialState, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::Heard;

use super::names;
use super::script::{Answer, End, Script, garbled, list_at, listed, object, status};

/// Runs a script by LIST and WATCH and gives the informer, with what a handler heard, once the script has been played.
async fn play(answers: Vec<Answer>) -> (SharedInformer<ConfigMap>, Vec<String>) {
    let informer = SharedInformer::builder_from_sources(vec![std::sync::Arc::new(Script::new(answers))])
        .initial_state(InitialState::List)
        .build()
        .unwrap();
    let heard = Heard::new();
    informer.add_handler(heard.handler()).unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    (informer, heard.take())
}

fn upserted(name: Option<&str>, version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Undecodable {
        change: ObjectChange::Upserted,
        object: garbled(name, version),
    }
}

fn deleted(name: Option<&str>, version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Undecodable {
        change: ObjectChange::Deleted,
        object: garbled(name, version),
    }
}

#[tokio::test(start_paused = true)]
async fn i16_an_undecodable_update_leaves_the_last_good_state_marked_stale() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(
            vec![upserted(Some("a"), "6"), WatchEvent::Modified(object("b", "7"))],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(heard, ["initial a", "initial b", "update b"]);
    let status = informer.status();
    assert_eq!(names(&informer), ["a", "b"]);
    assert_eq!(
        status.stale.iter().map(|(key, _)| key.name()).collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!(status.scopes[0].counts.undecodable, 1);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_a_good_state_clears_the_mark() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(
            vec![upserted(Some("a"), "6"), WatchEvent::Modified(object("a", "7"))],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(heard, ["initial a", "update a"]);
    assert!(informer.status().stale.is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_an_undecodable_item_with_a_key_counts_as_present_in_a_list() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            ListEvent::Undecodable(garbled(Some("a"), "8")),
        ]),
    ])
    .await;
    assert_eq!(heard, ["initial a", "initial b", "missed b"]);
    assert_eq!(names(&informer), ["a"]);
    assert_eq!(informer.status().stale.len(), 1);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_a_list_with_an_unreadable_key_deletes_nothing() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            listed("a", "1"),
            ListEvent::Undecodable(garbled(None, "8")),
            listed("c", "9"),
        ]),
    ])
    .await;
    assert_eq!(heard, ["initial a", "initial b", "add c"]);
    assert_eq!(
        names(&informer),
        ["a", "b", "c"],
        "b may be the object whose name cannot be read"
    );
    informer.shutdown().await;
}

/// What could not be deleted after such a list is found by the next one that can be read, at the latest when the watch ends.
#[tokio::test(start_paused = true)]
async fn i16_a_list_with_an_unreadable_key_is_followed_by_another_when_the_watch_ends() {
    let (informer, heard) = play(vec![
        Answer::List(vec![
            list_at("9"),
            listed("a", "1"),
            ListEvent::Undecodable(garbled(None, "8")),
        ]),
        Answer::Watch(vec![WatchEvent::Added(object("b", "10"))], End::Closed),
        Answer::List(vec![list_at("12"), listed("b", "10")]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a", "add b", "missed a"]);
    informer.shutdown().await;
}

/// An object kept through such a list while the server was rewound is newer than the store; what is said of it later is right.
#[tokio::test(start_paused = true)]
async fn i16_an_object_kept_through_a_rewind_hears_of_its_changes() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("20"), listed("a", "19"), listed("b", "20")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::Refuse(status(410, "Expired")),
        Answer::List(vec![
            list_at("5"),
            ListEvent::Undecodable(garbled(Some("a"), "4")),
            listed("b", "3"),
        ]),
        Answer::Watch(
            vec![
                WatchEvent::Modified(object("a", "6")),
                WatchEvent::Deleted(object("b", "7")),
            ],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(
        heard,
        ["initial a", "initial b", "update b", "update a", "delete b"]
    );
    assert!(informer.status().stale.is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_an_undecodable_deletion_is_a_deletion() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![deleted(Some("a"), "6")], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a", "initial b", "missed a"]);
    assert_eq!(names(&informer), ["b"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_a_deletion_whose_key_cannot_be_read_is_found_by_a_relist() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![deleted(None, "6")], End::Open),
        Answer::List(vec![list_at("6"), listed("b", "2")]),
    ])
    .await;
    assert_eq!(heard, ["initial a", "initial b", "missed a"]);
    informer.shutdown().await;
}

/// Found while the simulation was written: nothing was marked stale, and no list followed, so the cache stayed behind.
#[tokio::test(start_paused = true)]
async fn i16_a_change_whose_key_cannot_be_read_is_found_when_the_watch_ends() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(
            vec![upserted(None, "6"), WatchEvent::Added(object("b", "7"))],
            End::Closed,
        ),
        Answer::List(vec![list_at("8"), listed("a", "6"), listed("b", "7")]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a", "add b", "update a"]);
    informer.shutdown().await;
}

/// Found by the simulation: the handler heard of the end of an object it had never heard of.
#[tokio::test(start_paused = true)]
async fn i10_the_deletion_of_an_unseen_recreation_is_told_as_the_end_of_the_object_known() {
    let mut recreated = object("a", "12").as_ref().clone();
    recreated.metadata.uid = Some("another".into());
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![list_at("9"), ListEvent::Undecodable(garbled(None, "8"))]),
        Answer::Watch(vec![WatchEvent::Deleted(recreated.into())], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a", "missed a"]);
    informer.shutdown().await;
}

/// Found by the simulation: an older state in the same list took the place of the newer one in the cache.
#[tokio::test(start_paused = true)]
async fn i01_an_unusable_state_does_not_bring_back_an_older_one_of_its_list() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("7"), listed("a", "7")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            listed("a", "5"),
            ListEvent::Undecodable(garbled(Some("a"), "8")),
        ]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a"]);
    assert_eq!(informer.status().stale.len(), 1);
    informer.shutdown().await;
}

/// Found by the simulation: the change of an object could not be read, and its older state in the same list went into the cache.
#[tokio::test(start_paused = true)]
async fn i01_an_unreadable_state_does_not_bring_back_an_older_one_of_its_list() {
    let (informer, heard) = play(vec![
        Answer::List(vec![list_at("7"), listed("a", "7")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            listed("a", "5"),
            ListEvent::Undecodable(garbled(None, "8")),
        ]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(heard, ["initial a"]);
    informer.shutdown().await;
}

/// Found by the simulation: after a rewind the same version is another state, and it was taken for the one in the cache.
#[tokio::test(start_paused = true)]
async fn i01_a_version_that_is_used_again_after_a_rewind_is_a_new_state() {
    let before_the_rewind = || {
        vec![
            Answer::List(vec![list_at("20"), listed("a", "19")]),
            Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
            Answer::Refuse(status(410, "Expired")),
            Answer::List(vec![
                list_at("5"),
                ListEvent::Undecodable(garbled(Some("a"), "4")),
            ]),
        ]
    };
    let by_watch = Answer::Watch(vec![WatchEvent::Modified(object("a", "19"))], End::Open);
    let expired = Answer::Watch(vec![], End::Failed(status(410, "Expired")));
    let by_list = Answer::List(vec![list_at("21"), listed("a", "19")]);
    for answers in [vec![by_watch], vec![expired, by_list]] {
        let mut script = before_the_rewind();
        script.extend(answers);
        let (informer, heard) = play(script).await;
        assert_eq!(heard, ["initial a", "update a"]);
        informer.shutdown().await;
    }
}
