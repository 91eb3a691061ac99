//! What goes over the wire: watch lists, lists, pages, compression.

use futures::StreamExt as _;
use informer_core::{InitialState, ResourceVersion, SharedInformer, State, WatchListVerdict};
use informer_it::recorder::Recorder;
use informer_live::{Cluster, WatchList};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;

use crate::support::{BOUND, Room, agree, item, options, shared, start, until, watch_list};
use crate::tap::{Seen, Tap};

/// More than ten pages of the default size.
const MANY: usize = 5_000;

/// How many requests write at a time.
const WRITERS: usize = 32;

/// Large enough for the server to compress an answer with a few of them (it does so from 128 KiB).
const BULK: usize = 16 * 1024;

fn informer(room: &Room, tap: &Tap, initial: InitialState) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(tap.on(room.client()))
        .namespace(&room.name)
        .initial_state(initial)
        .build()
        .unwrap()
}

fn is_list(seen: &Seen) -> bool {
    !seen.uri.contains("watch=")
}

fn is_watch_list(seen: &Seen) -> bool {
    seen.uri.contains("sendInitialEvents=true")
}

/// An informer receives existing objects and changes in every mode.
async fn check_mode(room: &Room, informer: &SharedInformer<ConfigMap>) {
    let (recorder, _) = Recorder::of(informer).unwrap();
    start(informer).await;
    let changed = room.update("a", "2").await;
    let version = ResourceVersion::of(&changed.metadata).unwrap();
    informer.wait_until_within(&version, BOUND).await.unwrap();
    room.create("c", "1").await;
    room.delete("b").await;
    agree(informer, &recorder, &room.items()).await;
    let words = recorder.summary();
    assert_eq!(words[2..], ["update a", "add c", "delete b"], "{words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_initial_state_is_streamed_where_the_server_does_so() {
    let cluster = shared().await;
    let room = Room::new(cluster, "stream").await;
    room.create("a", "1").await;
    room.create("b", "1").await;
    let tap = Tap::default();
    let informer = informer(&room, &tap, InitialState::WatchList);
    check_mode(&room, &informer).await;

    let verdict = informer.status().scopes[0].watch_list.clone();
    let lists = tap.seen().iter().filter(|seen| is_list(seen)).count();
    match watch_list() {
        WatchList::On => {
            assert_eq!(verdict, WatchListVerdict::Works);
            assert_eq!(lists, 0, "{:?}", tap.seen());
        }
        WatchList::Off => {
            assert!(matches!(verdict, WatchListVerdict::Refused(_)), "{verdict:?}");
            assert_eq!(lists, 1, "{:?}", tap.seen());
            assert!(is_watch_list(&tap.seen()[0]), "it was tried first");
        }
    }
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_initial_state_is_listed_where_that_is_asked_for() {
    let cluster = shared().await;
    let room = Room::new(cluster, "list").await;
    room.create("a", "1").await;
    room.create("b", "1").await;
    let tap = Tap::default();
    let informer = informer(&room, &tap, InitialState::List);
    check_mode(&room, &informer).await;
    assert_eq!(informer.status().scopes[0].watch_list, WatchListVerdict::Off);
    assert!(!tap.seen().iter().any(is_watch_list), "{:?}", tap.seen());
    // Protobuf is not spoken (yet): everything is JSON.
    assert!(
        tap.seen().iter().all(|seen| seen.content == "application/json"),
        "{:?}",
        tap.seen()
    );
    informer.shutdown().await;
}

async fn fill(room: &Room, count: usize) {
    let items = room.items();
    futures::stream::iter(0..count)
        .for_each_concurrent(WRITERS, |number| {
            let items = items.clone();
            async move {
                let item = item(&format!("item-{number:05}"), "1");
                items.create(&PostParams::default(), &item).await.unwrap();
            }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_objects_come_by_stream_or_in_one_list() {
    let cluster = shared().await;
    let room = Room::new(cluster, "many").await;
    fill(&room, MANY).await;
    for initial in [InitialState::WatchList, InitialState::List] {
        let tap = Tap::default();
        let informer = informer(&room, &tap, initial);
        let (recorder, _) = Recorder::of(&informer).unwrap();
        start(&informer).await;
        agree(&informer, &recorder, &room.items()).await;
        assert_eq!(informer.indexer().len(), MANY);
        // From its watch cache the server answers the first list whole, whatever the limit.
        let lists = tap.seen().iter().filter(|seen| is_list(seen)).count();
        assert!(lists <= 1, "{:?}", tap.seen());
        until(&informer, "live", |status| matches!(status.state, State::Live)).await;
        informer.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_objects_come_in_pages_where_the_server_has_no_cache() {
    let mut options = options();
    options.flags = vec!["--watch-cache=false".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let room = Room::new(&cluster, "pages").await;
    fill(&room, MANY).await;

    for initial in [InitialState::WatchList, InitialState::List] {
        let tap = Tap::default();
        let informer = informer(&room, &tap, initial);
        let (recorder, _) = Recorder::of(&informer).unwrap();
        start(&informer).await;
        agree(&informer, &recorder, &room.items()).await;
        let pages = tap
            .seen()
            .iter()
            .filter(|seen| seen.uri.contains("limit=500"))
            .count();
        // The server streams its state from etcd as well.
        let is_streamed = initial == InitialState::WatchList && watch_list() == WatchList::On;
        assert_eq!(
            pages,
            if is_streamed { 0 } else { MANY / 500 },
            "{:?}",
            tap.seen()
        );
        // And a watch comes from etcd itself.
        room.update("item-00007", &format!("{initial:?}")).await;
        agree(&informer, &recorder, &room.items()).await;
        assert_eq!(informer.indexer().len(), MANY);
        informer.shutdown().await;
    }
    cluster.stop();
}

async fn check_compressed(room: &Room, initial: InitialState, is_it: fn(&Seen) -> bool) {
    let tap = Tap::default();
    let informer = informer(room, &tap, initial);
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    agree(&informer, &recorder, &room.items()).await;
    let seen = tap.seen();
    let answer = seen.iter().find(|seen| is_it(seen)).unwrap();
    assert_eq!(answer.encoding, "gzip", "{seen:?}");
    // A change arrives on the same stream, as a separate gzip member.
    room.update("bulk-0", "changed").await;
    agree(&informer, &recorder, &room.items()).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_come_compressed() {
    let cluster = shared().await;
    let room = Room::new(cluster, "gzip").await;
    for number in 0..20 {
        room.create(&format!("bulk-{number}"), &"x".repeat(BULK)).await;
    }
    check_compressed(&room, InitialState::List, is_list).await;
    if watch_list() == WatchList::On {
        check_compressed(&room, InitialState::WatchList, is_watch_list).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_want_compression_gets_none() {
    let cluster = shared().await;
    let room = Room::new(cluster, "plain").await;
    for number in 0..20 {
        room.create(&format!("bulk-{number}"), &"x".repeat(BULK)).await;
    }
    let mut config = cluster.config_as(informer_live::ADMIN).unwrap();
    config.disable_compression = true;
    let tap = Tap::default();
    let client = tap.on(informer_core::client::from_config(config).unwrap());
    let builder = SharedInformer::<ConfigMap>::builder(client).namespace(&room.name);
    let informer = builder.initial_state(InitialState::List).build().unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    agree(&informer, &recorder, &room.items()).await;
    assert!(
        tap.seen().iter().all(|seen| seen.encoding.is_empty()),
        "{:?}",
        tap.seen()
    );
    informer.shutdown().await;
}
