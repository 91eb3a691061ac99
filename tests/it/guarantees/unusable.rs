//! I16: an object that cannot be decoded is reported and stops nothing; it deletes only the object
//! it certainly replaced.

use std::sync::Arc;
use std::time::Duration;

use informer_core::source::{ListEvent, ObjectChange, Undecodable, WatchEvent};
use informer_core::{InitialState, SharedInformer, SharedInformerBuilder};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::Recorder;

use super::names;
use crate::scripted::{Answer, End, Script, garbled, initial_end, list_at, listed, object, status};

/// Runs a script by LIST and WATCH, and returns the informer and the events of a handler.
async fn play(answers: Vec<Answer>) -> (SharedInformer<ConfigMap>, Vec<String>) {
    play_with(answers, |builder| builder).await
}

/// Like [`play`], with further options.
async fn play_with(
    answers: Vec<Answer>,
    options: impl FnOnce(SharedInformerBuilder<ConfigMap>) -> SharedInformerBuilder<ConfigMap>,
) -> (SharedInformer<ConfigMap>, Vec<String>) {
    let builder = SharedInformer::builder_from_sources(vec![Arc::new(Script::new(answers).source())])
        .initial_state(InitialState::List);
    let informer = options(builder).build().unwrap();
    let received = Recorder::new();
    informer.add_handler(received.handler()).unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    (informer, received.take())
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
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(
            vec![
                upserted(Some("a"), "6"),
                WatchEvent::Modified(object("b", "7").into()),
            ],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(received, ["initial a", "initial b", "update b"]);
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
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(
            vec![
                upserted(Some("a"), "6"),
                WatchEvent::Modified(object("a", "7").into()),
            ],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(received, ["initial a", "update a"]);
    assert!(informer.status().stale.is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_an_undecodable_item_with_a_key_counts_as_present_in_a_list() {
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            ListEvent::Undecodable(garbled(Some("a"), "8")),
        ]),
    ])
    .await;
    assert_eq!(received, ["initial a", "initial b", "missed b"]);
    assert_eq!(names(&informer), ["a"]);
    assert_eq!(informer.status().stale.len(), 1);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_a_list_with_an_unreadable_key_deletes_nothing() {
    let (informer, received) = play(vec![
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
    assert_eq!(received, ["initial a", "initial b", "add c"]);
    assert_eq!(
        names(&informer),
        ["a", "b", "c"],
        "b may be the object whose name cannot be read"
    );
    informer.shutdown().await;
}

/// Deletions that such a list could not show are found by the next readable list, at the latest when the
/// watch ends.
#[tokio::test(start_paused = true)]
async fn i16_a_list_with_an_unreadable_key_is_followed_by_another_when_the_watch_ends() {
    let (informer, received) = play(vec![
        Answer::List(vec![
            list_at("9"),
            listed("a", "1"),
            ListEvent::Undecodable(garbled(None, "8")),
        ]),
        Answer::Watch(vec![WatchEvent::Added(object("b", "10").into())], End::Closed),
        Answer::List(vec![list_at("12"), listed("b", "10")]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(received, ["initial a", "add b", "missed a"]);
    informer.shutdown().await;
}

/// An object kept through such a list while the server was rewound is newer than the store; later events of
/// it are delivered.
#[tokio::test(start_paused = true)]
async fn i16_an_object_kept_through_a_rewind_receives_its_changes() {
    let (informer, received) = play(vec![
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
                WatchEvent::Modified(object("a", "6").into()),
                WatchEvent::Deleted(object("b", "7").into()),
            ],
            End::Open,
        ),
    ])
    .await;
    assert_eq!(
        received,
        ["initial a", "initial b", "update b", "update a", "delete b"]
    );
    assert!(informer.status().stale.is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_an_undecodable_deletion_is_a_deletion() {
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![deleted(Some("a"), "6")], End::Open),
    ])
    .await;
    assert_eq!(received, ["initial a", "initial b", "missed a"]);
    assert_eq!(names(&informer), ["b"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i16_a_deletion_whose_key_cannot_be_read_is_found_by_a_relist() {
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
        Answer::Watch(vec![deleted(None, "6")], End::Open),
        Answer::List(vec![list_at("6"), listed("b", "2")]),
    ])
    .await;
    assert_eq!(received, ["initial a", "initial b", "missed a"]);
    informer.shutdown().await;
}

/// Found while the simulation was written: nothing was marked stale, and no relist followed, so the cache
/// stayed outdated.
#[tokio::test(start_paused = true)]
async fn i16_a_change_whose_key_cannot_be_read_is_found_when_the_watch_ends() {
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(
            vec![upserted(None, "6"), WatchEvent::Added(object("b", "7").into())],
            End::Closed,
        ),
        Answer::List(vec![list_at("8"), listed("a", "6"), listed("b", "7")]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    assert_eq!(received, ["initial a", "add b", "update a"]);
    informer.shutdown().await;
}

/// Found by the simulation: the handler received the deletion of an object it had never received.
#[tokio::test(start_paused = true)]
async fn i10_deleting_an_unseen_recreation_is_a_deletion_of_the_known_object() {
    let mut recreated = object("a", "12").as_ref().clone();
    recreated.metadata.uid = Some("another".into());
    let (informer, received) = play(vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![list_at("9"), ListEvent::Undecodable(garbled(None, "8"))]),
        Answer::Watch(vec![WatchEvent::Deleted(Arc::new(recreated).into())], End::Open),
    ])
    .await;
    assert_eq!(received, ["initial a", "missed a"]);
    informer.shutdown().await;
}

/// Found by the simulation: an older state in the same list took the place of the newer one in the cache.
#[tokio::test(start_paused = true)]
async fn i01_an_unusable_state_does_not_bring_back_an_older_one_of_its_list() {
    let (informer, received) = play(vec![
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
    assert_eq!(received, ["initial a"]);
    assert_eq!(informer.status().stale.len(), 1);
    informer.shutdown().await;
}

/// Found by the simulation: the change of an object could not be read, and its older state in the same list
/// went into the cache.
#[tokio::test(start_paused = true)]
async fn i01_an_unreadable_state_does_not_bring_back_an_older_one_of_its_list() {
    let (informer, received) = play(vec![
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
    assert_eq!(received, ["initial a"]);
    informer.shutdown().await;
}

/// Found by the simulation: after a rewind the same version is another state, and it was treated as the one
/// in the cache.
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
    let by_watch = Answer::Watch(vec![WatchEvent::Modified(object("a", "19").into())], End::Open);
    let expired = Answer::Watch(vec![], End::Failed(status(410, "Expired")));
    let by_list = Answer::List(vec![list_at("21"), listed("a", "19")]);
    for answers in [vec![by_watch], vec![expired, by_list]] {
        let mut script = before_the_rewind();
        script.extend(answers);
        let (informer, received) = play(script).await;
        assert_eq!(received, ["initial a", "update a"]);
        informer.shutdown().await;
    }
}

/// An object that was created again under its name and cannot be decoded.
fn recreated(name: &str, version: &str) -> Undecodable {
    Undecodable {
        uid: Some("another".into()),
        ..garbled(Some(name), version)
    }
}

/// Checks the events of a handler, the names in the cache, and the keys known as unusable.
#[track_caller]
fn check(
    (informer, received): (SharedInformer<ConfigMap>, Vec<String>),
    expected: &[&str],
    cached: &[&str],
    unusable: &[&str],
) {
    let stale = informer.status().stale;
    let stale: Vec<&str> = stale.iter().map(|(key, _)| key.name()).collect();
    assert_eq!(received, expected);
    assert_eq!(names(&informer), cached);
    assert_eq!(stale, unusable);
}

/// The object that handlers know was certainly deleted; nothing was reported, and it stayed.
#[tokio::test(start_paused = true)]
async fn i03_an_object_recreated_and_undecodable_in_a_list_is_deleted() {
    let relist = |events: Vec<ListEvent<ConfigMap>>| {
        let mut list = vec![list_at("9"), listed("b", "2")];
        list.extend(events);
        vec![
            Answer::List(vec![list_at("5"), listed("a", "1"), listed("b", "2")]),
            Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
            Answer::List(list),
            Answer::Watch(vec![], End::Open),
        ]
    };
    let expected = ["initial a", "initial b", "missed a"];
    let played = play(relist(vec![ListEvent::Undecodable(recreated("a", "8"))])).await;
    check(played, &expected, &["b"], &["a"]);
    // Another item without a readable key keeps missing objects, but not the one that was certainly deleted.
    let played = play(relist(vec![
        ListEvent::Undecodable(recreated("a", "8")),
        ListEvent::Undecodable(garbled(None, "8")),
    ]))
    .await;
    check(played, &expected, &["b"], &["a"]);
    // Without the UID it may be the same object.
    let played = play(relist(vec![ListEvent::Undecodable(garbled(Some("a"), "8"))])).await;
    check(played, &["initial a", "initial b"], &["a", "b"], &["a"]);
}

#[tokio::test(start_paused = true)]
async fn i03_an_object_recreated_and_undecodable_in_an_initial_stream_is_deleted() {
    let answers = vec![
        Answer::Watch(
            vec![
                WatchEvent::Added(object("a", "1").into()),
                WatchEvent::Added(object("b", "2").into()),
                initial_end("5"),
            ],
            End::Failed(status(410, "Expired")),
        ),
        Answer::Watch(
            vec![
                WatchEvent::Added(object("b", "2").into()),
                WatchEvent::Undecodable {
                    change: ObjectChange::Upserted,
                    object: recreated("a", "8"),
                },
                initial_end("9"),
            ],
            End::Open,
        ),
    ];
    let played = play_with(answers, |builder| builder.initial_state(InitialState::WatchList)).await;
    check(played, &["initial a", "initial b", "missed a"], &["b"], &["a"]);
}

#[tokio::test(start_paused = true)]
async fn i03_an_object_recreated_and_undecodable_in_a_watch_is_deleted() {
    let watch = |events: Vec<WatchEvent<ConfigMap>>| {
        vec![
            Answer::List(vec![list_at("5"), listed("a", "1")]),
            Answer::Watch(events, End::Open),
        ]
    };
    let undecodable = |object| WatchEvent::Undecodable {
        change: ObjectChange::Upserted,
        object,
    };
    let played = play(watch(vec![undecodable(recreated("a", "8"))])).await;
    check(played, &["initial a", "missed a"], &[], &["a"]);
    // A good state of the new object is its addition; its deletion is not delivered to handlers that never
    // received it.
    let mut good = object("a", "9").as_ref().clone();
    good.metadata.uid = Some("another".into());
    let played = play(watch(vec![
        undecodable(recreated("a", "8")),
        WatchEvent::Modified(Arc::new(good.clone()).into()),
    ]))
    .await;
    check(played, &["initial a", "missed a", "add a"], &["a"], &[]);
    let played = play(watch(vec![
        undecodable(recreated("a", "8")),
        WatchEvent::Deleted(Arc::new(good).into()),
    ]))
    .await;
    check(played, &["initial a", "missed a"], &[], &[]);
    // A state older than the cache changes nothing.
    let played = play(watch(vec![
        WatchEvent::Modified(object("a", "7").into()),
        undecodable(recreated("a", "6")),
    ]))
    .await;
    check(played, &["initial a", "update a"], &["a"], &[]);
}

#[tokio::test(start_paused = true)]
async fn i03_an_object_recreated_whose_transform_fails_is_deleted() {
    let refuse_others = |object: &mut ConfigMap| match object.metadata.uid.as_deref() {
        Some("another") => Err("not this one".to_owned()),
        _ => Ok(()),
    };
    let recreated = || {
        let mut recreated = object("a", "8").as_ref().clone();
        recreated.metadata.uid = Some("another".into());
        Arc::new(recreated)
    };
    let by_watch = vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(vec![WatchEvent::Modified(recreated().into())], End::Open),
    ];
    let by_list = vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![list_at("9"), ListEvent::Item(recreated().into())]),
        Answer::Watch(vec![], End::Open),
    ];
    for answers in [by_watch, by_list] {
        let played = play_with(answers, |builder| builder.try_transform(refuse_others)).await;
        assert!(played.0.status().stale[0].1.contains("not this one"));
        check(played, &["initial a", "missed a"], &[], &["a"]);
    }
}

/// Objects that were unusable and then deleted, or usable again, before the state was complete. The deletion
/// was lost.
#[tokio::test(start_paused = true)]
async fn i03_within_one_initial_stream_the_last_event_of_a_key_counts() {
    let first = || {
        Answer::Watch(
            vec![WatchEvent::Added(object("a", "1").into()), initial_end("5")],
            End::Failed(status(410, "Expired")),
        )
    };
    let second = |mut events: Vec<WatchEvent<ConfigMap>>| {
        events.push(initial_end("9"));
        vec![first(), Answer::Watch(events, End::Open)]
    };
    let stream = |events| {
        play_with(second(events), |builder| {
            builder.initial_state(InitialState::WatchList)
        })
    };
    let deleted_good = WatchEvent::Deleted(object("a", "7").into());
    for deletion in [deleted_good, deleted(Some("a"), "7")] {
        let played = stream(vec![upserted(Some("a"), "6"), deletion]).await;
        check(played, &["initial a", "missed a"], &[], &[]);
    }
    let played = stream(vec![
        upserted(Some("a"), "6"),
        WatchEvent::Modified(object("a", "7").into()),
    ])
    .await;
    check(played, &["initial a", "update a"], &["a"], &[]);
    let played = stream(vec![
        WatchEvent::Modified(object("a", "6").into()),
        upserted(Some("a"), "7"),
    ])
    .await;
    check(played, &["initial a"], &["a"], &["a"]);
}

/// The mark of a state that could not be used does not outlive its object, or the next good state, in one
/// batch.
#[tokio::test(start_paused = true)]
async fn i16_within_one_batch_the_last_event_of_a_key_counts() {
    let watch = |events: Vec<WatchEvent<ConfigMap>>| {
        play(vec![
            Answer::List(vec![list_at("5"), listed("a", "1")]),
            Answer::Watch(events, End::Open),
        ])
    };
    // `b` was never seen in a good state.
    let played = watch(vec![
        upserted(Some("b"), "6"),
        WatchEvent::Deleted(object("b", "7").into()),
    ])
    .await;
    check(played, &["initial a"], &["a"], &[]);
    let played = watch(vec![upserted(Some("b"), "6"), deleted(Some("b"), "7")]).await;
    check(played, &["initial a"], &["a"], &[]);
    let played = watch(vec![
        upserted(Some("b"), "6"),
        WatchEvent::Modified(object("b", "7").into()),
    ])
    .await;
    check(played, &["initial a", "add b"], &["a", "b"], &[]);
    let played = watch(vec![
        upserted(Some("a"), "6"),
        WatchEvent::Deleted(object("a", "7").into()),
    ])
    .await;
    check(played, &["initial a", "delete a"], &[], &[]);
}

/// Objects left over by a rewind may be replaced by an older version, also by a list that could not be read
/// completely.
#[tokio::test(start_paused = true)]
async fn i01_a_left_over_of_a_rewind_is_replaced_by_a_list_with_an_unreadable_key() {
    let played = play(vec![
        Answer::List(vec![list_at("20"), listed("a", "19")]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::Refuse(status(410, "Expired")),
        Answer::List(vec![list_at("5"), ListEvent::Undecodable(garbled(None, "4"))]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("7"),
            listed("a", "6"),
            ListEvent::Undecodable(garbled(None, "4")),
        ]),
        Answer::Watch(vec![], End::Open),
    ])
    .await;
    check(played, &["initial a", "update a"], &["a"], &[]);
}
