//! Contents of the cache: I3 no lost delete, I4 no ghost, I5 atomic replace, I6 index coherence, I10
//! identity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_core::{InitialState, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Recorder, informer_of, item, settled, start, unseen, value, version_of};

use super::names;
use crate::scripted::{Answer, End, Script, list_at, listed, status};

#[tokio::test(start_paused = true)]
async fn i03_objects_missing_from_a_relist_are_deleted_and_delivered() {
    let server = ApiServer::start();
    for name in ["a", "b", "c"] {
        server.create(&item(name, "0")).unwrap();
    }
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(received.take(), ["initial a", "initial b", "initial c"]);

    unseen(&server, || {
        server.delete(&item("b", "0")).unwrap();
        server.create(&item("d", "0")).unwrap();
    });
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["missed b", "add d"]);
    assert_eq!(names(&informer), ["a", "c", "d"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i03_every_handler_that_received_the_add_receives_the_delete() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let early = Recorder::new();
    early.add_to(&informer);
    start(&informer).await;
    let late = Recorder::new();
    informer
        .add_handler(late.handler())
        .unwrap()
        .synced()
        .await
        .unwrap();

    unseen(&server, || server.delete(&item("a", "0")).unwrap());
    settled(&informer, &server).await;
    assert_eq!(early.take(), ["initial a", "missed a"]);
    assert_eq!(late.take(), ["initial a", "missed a"]);
    informer.shutdown().await;
}

/// Every list holds twenty objects of one version: a snapshot with two versions, or with fewer objects, is a
/// torn read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i05_a_reader_never_sees_a_mix_of_two_lists() {
    let rounds = 1..40_u32;
    let script = Script::new(rounds.clone().flat_map(|round| {
        let version = round.to_string();
        let items = (0..20).map(|index| listed(&format!("object-{index}"), &version));
        [
            Answer::List(std::iter::once(list_at(&version)).chain(items).collect()),
            Answer::Watch(vec![], End::Failed(status(410, "Expired"))),
        ]
    }));
    let informer = SharedInformer::builder_from_sources(vec![Arc::new(script.source())])
        .reflector(|_| quick())
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (indexer, stop) = (informer.indexer(), stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = indexer.snapshot();
                let versions: BTreeSet<String> = snapshot
                    .list()
                    .iter()
                    .map(|object| version_of(object.as_ref()).to_string())
                    .collect();
                assert_eq!(
                    (snapshot.len(), versions.len()),
                    (20, 1),
                    "a torn read: {versions:?}"
                );
            }
        })
    };
    let last = (rounds.end - 1).to_string().as_str().into();
    informer
        .wait_until_within(&last, Duration::from_secs(60))
        .await
        .unwrap();
    stop.store(true, Ordering::Relaxed);
    reader.join().expect("no reader saw a mix");
    informer.shutdown().await;
}

/// Waits short enough for a test that cannot pause its clock.
fn quick() -> informer_core::ReflectorConfig {
    let mut config = informer_core::ReflectorConfig::default();
    config.initial = InitialState::List;
    config.backoff.initial = Duration::from_millis(1);
    config.backoff.cap = Duration::from_millis(2);
    config
}

#[tokio::test(start_paused = true)]
async fn i06_an_index_equals_the_one_computed_from_the_same_snapshot() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    let by_value = informer
        .add_index("value", |object: &ConfigMap| vec![value(object).to_owned()])
        .unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();

    let mut random = 7_u64;
    for step in 0..200 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let name = format!("object-{}", (random >> 33) % 12);
        let object = item(&name, &((random >> 40) % 4).to_string());
        let exists = server
            .objects::<ConfigMap>()
            .iter()
            .any(|known| known.metadata.name.as_deref() == Some(&name));
        match (exists, (random >> 50) % 3) {
            (false, _) => drop(server.create(&object).unwrap()),
            (true, 0) => server.delete(&object).unwrap(),
            (true, _) => drop(server.update(&object).unwrap()),
        }
        if step % 17 == 0 {
            unseen(&server, || ());
        }
        settled(&informer, &server).await;

        let snapshot = informer.indexer().snapshot();
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for object in snapshot.list() {
            expected
                .entry(value(&object).to_owned())
                .or_default()
                .push(object.metadata.name.clone().unwrap());
        }
        let view = snapshot.index(&by_value);
        assert_eq!(
            view.values(),
            expected.keys().cloned().collect::<Vec<_>>(),
            "step {step}"
        );
        for (value, names) in expected {
            let indexed: Vec<String> = view
                .get(value.as_str())
                .iter()
                .map(|object| object.metadata.name.clone().unwrap())
                .collect();
            assert_eq!(indexed, names, "step {step}, value {value}");
        }
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn i10_an_object_recreated_under_its_name_is_a_delete_and_an_add() {
    let server = ApiServer::start();
    server.create(&item("a", "0")).unwrap();
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    received.take();

    unseen(&server, || {
        server.delete(&item("a", "0")).unwrap();
        server.create(&item("a", "0")).unwrap();
    });
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["missed a", "add a"]);
    informer.shutdown().await;
}
