//! The limit on the bytes of all informers of a factory together.

use std::time::Duration;

use informer_core::{InitialState, RelistReason, State};
use informer_testing::{ApiServer, Fault, Rule};
use informers::options::Storage;
use informers::{InformerStatus, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, LimitRange, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::support::{LONG, Recorder, item, quiet, settled};

const SECOND: Duration = Duration::from_secs(1);

/// Larger than anything but the payload of an object.
const LIMIT: u64 = 30_000;

fn config_map(name: &str, bytes: usize) -> ConfigMap {
    item(name, &"x".repeat(bytes))
}

fn metadata(name: &str, bytes: usize) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("default".to_owned()),
        annotations: Some([("payload".to_owned(), "x".repeat(bytes))].into()),
        ..ObjectMeta::default()
    }
}

fn account(name: &str, bytes: usize) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(name, bytes),
        ..ServiceAccount::default()
    }
}

fn limit_range(name: &str, bytes: usize) -> LimitRange {
    LimitRange {
        metadata: metadata(name, bytes),
        ..LimitRange::default()
    }
}

/// The sizes here are those of encodings, so ConfigMaps stay decoded: packed, these payloads are tiny. The
/// suite never packs the other kinds.
fn factory(server: &ApiServer, initial: InitialState) -> SharedInformerFactory {
    SharedInformerFactory::builder(server.client())
        .max_total_bytes(LIMIT)
        .kind::<ConfigMap>(|maps| maps.storage(Storage::Decoded))
        .initial_state(initial)
        .build()
        .unwrap()
}

fn is_over(informer: &InformerStatus) -> bool {
    matches!(informer.state, State::LimitReached { .. })
}

/// The resources of the informers that are over the limit.
fn over(factory: &SharedInformerFactory) -> Vec<String> {
    let informers = factory.status().informers.into_iter();
    informers
        .filter(is_over)
        .map(|informer| informer.resource)
        .collect()
}

/// Waits until every informer is live.
async fn all_live(factory: &SharedInformerFactory) {
    let mut changes = factory.status_changes();
    let live = async {
        while let Some(status) = changes.next().await {
            if status
                .informers
                .iter()
                .all(|each| matches!(each.state, State::Live))
            {
                return;
            }
        }
    };
    let live = tokio::time::timeout(LONG, live).await;
    assert!(live.is_ok(), "{}", factory.status());
}

/// Each of the two is within the limit alone.
#[tokio::test(start_paused = true)]
async fn a_change_past_the_total_stops_one_informer_and_a_release_lets_it_go_on() {
    let server = ApiServer::start();
    server.create(&config_map("a", 12_000)).unwrap();
    server.create(&account("s", 12_000)).unwrap();
    let factory = factory(&server, InitialState::WatchList);
    let maps = factory.informer_for::<ConfigMap>();
    let record = Recorder::new();
    record.add_to(&maps);
    let accounts = factory.informer_for::<ServiceAccount>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    let used = factory.status().bytes();
    assert!((24_000..LIMIT).contains(&used), "{used}");
    assert_eq!(factory.status().max_total_bytes, Some(LIMIT));

    // An object that gets smaller, or is replaced by one of its size, is no growth.
    server.update(&config_map("a", 11_000)).unwrap();
    settled(&maps, &server).await;
    server.update(&config_map("a", 12_000)).unwrap();
    settled(&maps, &server).await;
    assert_eq!(maps.status().counts().errors, 0, "what was read is counted once");
    server.create(&config_map("b", 9_000)).unwrap();
    tokio::time::sleep(SECOND * 5).await;
    assert_eq!(over(&factory), ["configmaps"]);
    let state = maps.status().state.to_string();
    assert!(
        state.contains("all caches of the factory together would hold more than 30000 bytes")
            && state.contains("raise `max_total_bytes`"),
        "{state}"
    );
    assert_eq!(maps.indexer().len(), 1, "it keeps its last state");
    let synced = factory.wait_for_sync().await;
    assert!(synced.is_ok(), "it was in sync before: {synced:?}");

    // The others go on within what is left.
    server.create(&account("t", 100)).unwrap();
    settled(&accounts, &server).await;
    assert_eq!(accounts.indexer().len(), 2);
    tokio::time::sleep(SECOND * 600).await;
    assert_eq!(over(&factory), ["configmaps"], "nothing was released");

    drop(accounts);
    factory.release::<ServiceAccount>();
    all_live(&factory).await;
    quiet(&maps).await;
    assert_eq!(maps.indexer().len(), 2, "the other one was released");
    assert_eq!(record.take(), ["initial a", "update a", "update a", "add b"]);
    factory.shutdown().await;
}

/// What is being read counts from its first object: none of them is in a store yet.
#[tokio::test(start_paused = true)]
async fn informers_that_start_together_cannot_exceed_the_total_together() {
    for initial in [InitialState::List, InitialState::WatchList] {
        let server = ApiServer::start();
        server.create(&config_map("a", 18_000)).unwrap();
        server.create(&account("s", 18_000)).unwrap();
        server.create(&limit_range("w", 18_000)).unwrap();
        server.faults().add(Rule::new(Fault::Delay(SECOND)));
        let factory = factory(&server, initial);
        let (maps, accounts, ranges) = (
            factory.informer_for::<ConfigMap>(),
            factory.informer_for::<ServiceAccount>(),
            factory.informer_for::<LimitRange>(),
        );
        factory.start();
        tokio::time::sleep(SECOND * 20).await;
        let status = factory.status();
        assert_eq!(over(&factory).len(), 2, "{initial:?}: {status}");
        assert!(status.bytes() <= LIMIT, "{initial:?}: {status}");
        let error = factory.wait_for_sync().await.unwrap_err().to_string();
        assert!(error.contains("raise `max_total_bytes`"), "{error}");

        // They recover when the server has less.
        server.update(&config_map("a", 1_000)).unwrap();
        server.update(&account("s", 1_000)).unwrap();
        server.update(&limit_range("w", 1_000)).unwrap();
        all_live(&factory).await;
        factory.wait_for_sync().await.unwrap();
        let sizes = [
            maps.indexer().len(),
            accounts.indexer().len(),
            ranges.indexer().len(),
        ];
        assert_eq!(sizes, [1, 1, 1]);
        factory.shutdown().await;
    }
}

/// A relist reads its objects again. They replace those of the cache, and count once.
#[tokio::test(start_paused = true)]
async fn a_relist_near_the_total_counts_what_it_replaces_once() {
    for initial in [InitialState::List, InitialState::WatchList] {
        let server = ApiServer::start();
        server.create(&config_map("a", 20_000)).unwrap();
        let factory = factory(&server, initial);
        let maps = factory.informer_for::<ConfigMap>();
        factory.start();
        factory.wait_for_sync().await.unwrap();
        for round in 0..5 {
            crate::support::unseen(&server, || {
                drop(server.update(&config_map("a", 20_001 + round)).unwrap());
            });
            settled(&maps, &server).await;
            assert_eq!(over(&factory), [""; 0], "{initial:?}, relist {round}");
            let counts = maps.status().counts();
            assert_eq!(
                counts.relists.get(RelistReason::Limit),
                0,
                "{initial:?}, relist {round}"
            );
        }
        // Nothing of the relists is counted any more: there is room for as much as before.
        server.create(&config_map("b", 9_000)).unwrap();
        settled(&maps, &server).await;
        assert_eq!(maps.indexer().len(), 2, "{initial:?}: {}", factory.status());
        factory.shutdown().await;
    }
}

/// Removing a namespace releases its bytes for the other informers.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_removed_is_no_longer_counted() {
    let server = ApiServer::start();
    let mut large = config_map("a", 18_000);
    large.metadata.namespace = Some("other".to_owned());
    server.create(&large).unwrap();
    server.create(&account("s", 18_000)).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .max_total_bytes(LIMIT)
        .kind::<ConfigMap>(|maps| maps.storage(Storage::Decoded).namespaces(["default", "other"]))
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    factory.informer_for::<ServiceAccount>();
    factory.start();
    tokio::time::sleep(SECOND * 5).await;
    assert_eq!(over(&factory), ["serviceaccounts"]);
    maps.remove_namespace("other").unwrap();
    all_live(&factory).await;
    factory.wait_for_sync().await.unwrap();
    factory.shutdown().await;
}
