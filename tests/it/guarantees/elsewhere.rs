//! I3, I4: objects outside the scope of an informer never enter its cache.

use std::sync::Arc;
use std::time::Duration;

use informer_core::source::{ListEvent, ObjectChange, Undecodable, WatchEvent};
use informer_core::{InitialState, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::scripted::{Answer, End, Script, garbled, initial_end, list_at, listed, object, status};
use crate::support::{Recorder, keys};

/// An object of another namespace, or of none.
fn foreign(namespace: Option<&str>, name: &str, version: &str) -> Arc<ConfigMap> {
    let mut object = object(name, version).as_ref().clone();
    object.metadata.namespace = namespace.map(str::to_owned);
    Arc::new(object)
}

fn foreign_garbled(name: &str, version: &str) -> Undecodable {
    Undecodable {
        key: Some(format!("other/{name}").parse().unwrap()),
        ..garbled(Some(name), version)
    }
}

/// Plays a script and checks the events of a handler, the cache, and the number of refused objects.
async fn check(
    initial: InitialState,
    answers: Vec<Answer>,
    received: &[&str],
    cached: &[&str],
    refused: u64,
) {
    let informer = SharedInformer::builder_from_sources(vec![Arc::new(
        Script::new(answers).source().in_namespace("default"),
    )])
    .initial_state(initial)
    .build()
    .unwrap();
    let events = Recorder::new();
    events.add_to(&informer);
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(
        (events.take(), keys(&informer)),
        (strings(received), strings(cached))
    );
    let status = informer.status();
    assert!(status.stale.is_empty(), "{:?}", status.stale);
    assert_eq!(status.scopes[0].counts.out_of_scope, refused);
    informer.shutdown().await;
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// They were cached, and no relist deleted them: a list of the namespace does not have them, and does not
/// cover them.
#[tokio::test(start_paused = true)]
async fn i04_a_list_brings_in_no_object_of_another_namespace() {
    let answers = vec![
        Answer::List(vec![
            list_at("5"),
            listed("a", "1"),
            ListEvent::Item(foreign(Some("other"), "ghost", "2").into()),
            ListEvent::Item(foreign(None, "ghost", "3").into()),
            ListEvent::Undecodable(foreign_garbled("ghost", "4")),
        ]),
        Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        Answer::List(vec![
            list_at("9"),
            listed("a", "1"),
            ListEvent::Item(foreign(Some("other"), "a", "9").into()),
        ]),
        Answer::Watch(vec![], End::Open),
    ];
    check(InitialState::List, answers, &["initial a"], &["default/a"], 4).await;
}

#[tokio::test(start_paused = true)]
async fn i04_an_initial_stream_brings_in_no_object_of_another_namespace() {
    let answers = vec![Answer::Watch(
        vec![
            WatchEvent::Added(object("a", "1").into()),
            WatchEvent::Added(foreign(Some("other"), "a", "2").into()),
            WatchEvent::Added(foreign(None, "ghost", "3").into()),
            WatchEvent::Undecodable {
                change: ObjectChange::Upserted,
                object: foreign_garbled("ghost", "4"),
            },
            WatchEvent::Deleted(foreign(Some("other"), "a", "5").into()),
            initial_end("5"),
        ],
        End::Open,
    )];
    check(
        InitialState::WatchList,
        answers,
        &["initial a"],
        &["default/a"],
        4,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn i04_a_watch_brings_in_no_object_of_another_namespace() {
    let answers = vec![
        Answer::List(vec![list_at("5"), listed("a", "1")]),
        Answer::Watch(
            vec![
                WatchEvent::Added(foreign(Some("other"), "ghost", "6").into()),
                WatchEvent::Modified(foreign(None, "ghost", "7").into()),
                WatchEvent::Deleted(foreign(Some("other"), "a", "8").into()),
                WatchEvent::Deleted(foreign(None, "a", "9").into()),
                WatchEvent::Undecodable {
                    change: ObjectChange::Upserted,
                    object: foreign_garbled("a", "10"),
                },
                WatchEvent::Undecodable {
                    change: ObjectChange::Deleted,
                    object: foreign_garbled("a", "11"),
                },
                WatchEvent::Added(object("b", "12").into()),
            ],
            End::Open,
        ),
    ];
    let cached = &["default/a", "default/b"];
    check(InitialState::List, answers, &["initial a", "add b"], cached, 6).await;
}
