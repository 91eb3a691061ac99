//! Warm start: what readers, handlers and the server see of a run that begins with a saved cache.

mod refused;

use std::path::{Path, PathBuf};
use std::time::Duration;

use informer_core::store::Freshness;
use informer_core::{SharedInformer, SharedInformerBuilder, Storage, WarmStart};
use informer_testing::{ApiServer, Requests};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::support::{
    Door, LONG, Recorder, builder_of, item, item_in, items, keys, quiet, server_with, settled, start,
};

/// The builder of an informer over ConfigMaps that saves into a folder.
fn builder(server: &ApiServer, folder: &Path, storage: Storage) -> SharedInformerBuilder<ConfigMap> {
    builder_of(server.client())
        .storage(storage)
        .warm_start(WarmStart::directory(folder))
}

/// The first run: syncs, and saves while it stops.
async fn first_run(server: &ApiServer, folder: &Path, storage: Storage) {
    let informer = builder(server, folder, storage).build().unwrap();
    start(&informer).await;
    informer.shutdown().await;
    assert_eq!(files(folder).len(), 1, "{:?}", files(folder));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

fn requests(server: &ApiServer) -> Requests {
    server.requests().of("configmaps")
}

/// How each request for ConfigMaps reads: `watch`, `watch-list` or `list`.
fn kinds(server: &ApiServer) -> Vec<&'static str> {
    let kind = |request: &informer_testing::Request| match () {
        () if request.is_watch_list() => "watch-list",
        () if request.is_watch() => "watch",
        () => "list",
    };
    requests(server).iter().map(kind).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_request_is_a_watch_from_the_saved_version() {
    for storage in [Storage::Decoded, Storage::packed()] {
        let folder = tempfile::tempdir().unwrap();
        let server = server_with(&["a", "b", "c"]);
        first_run(&server, folder.path(), storage).await;
        let saved = server.resource_version();
        server.delete(&item("b", "1")).unwrap();
        server.update(&item("c", "2")).unwrap();
        server.create(&item("d", "1")).unwrap();
        server.clear_requests();

        let informer = builder(&server, folder.path(), storage).build().unwrap();
        let (events, registration) = Recorder::of(&informer).unwrap();
        start(&informer).await;
        registration.synced().await.unwrap();
        settled(&informer, &server).await;
        assert_eq!(kinds(&server), ["watch"]);
        assert_eq!(requests(&server)[0].resource_version(), saved);
        assert_eq!(items(&informer), ["a=1", "c=2", "d=1"]);
        assert_eq!(
            events.take(),
            [
                "initial a",
                "initial b",
                "initial c",
                "delete b",
                "update c",
                "add d"
            ]
        );
        assert_eq!(informer.status().freshness, Freshness::Kept);
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_leads_to_a_full_read_and_missed_deletions() {
    for storage in [Storage::Decoded, Storage::packed()] {
        let folder = tempfile::tempdir().unwrap();
        let server = server_with(&["a", "b"]);
        first_run(&server, folder.path(), storage).await;
        server.delete(&item("b", "1")).unwrap();
        server.create(&item("c", "1")).unwrap();
        server.compact(server.revision());
        server.clear_requests();

        let informer = builder(&server, folder.path(), storage).build().unwrap();
        let (events, _) = Recorder::of(&informer).unwrap();
        start(&informer).await;
        assert_eq!(kinds(&server)[..2], ["watch", "watch-list"]);
        assert_eq!(keys(&informer), ["default/a", "default/c"]);
        assert_eq!(events.take(), ["initial a", "initial b", "missed b", "initial c"]);
        // The saved version was no error of the server.
        assert_eq!(informer.status().scopes[0].counts.errors, 0);
        informer.shutdown().await;
    }
}

/// I9: saved objects can be read at once, and count as synced only when the server has answered.
#[tokio::test(start_paused = true)]
async fn saved_objects_are_readable_while_the_server_is_down_and_not_synced() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a", "b"]);
    let door = Door::default();
    let build = || {
        let options = WarmStart::directory(folder.path()).cluster("here");
        builder_of::<ConfigMap>(door.client(&server))
            .warm_start(options)
            .build()
            .unwrap()
    };
    let informer = build();
    start(&informer).await;
    informer.shutdown().await;
    server.delete(&item("b", "1")).unwrap();
    door.shut(503, "ServiceUnavailable");

    let informer = build();
    let (events, registration) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    assert!(informer.synced_within(Duration::from_secs(30)).await.is_err());
    quiet(&informer).await;
    assert_eq!(keys(&informer), ["default/a", "default/b"]);
    assert_eq!(informer.status().freshness, Freshness::Warm);
    assert!(!informer.has_synced() && !registration.has_synced());
    assert_eq!(events.take(), ["initial a", "initial b"]);
    // A late handler receives the saved objects, and is not synced either.
    let (late, registered) = Recorder::of(&informer).unwrap();
    quiet(&informer).await;
    assert_eq!(late.take(), ["initial a", "initial b"]);
    assert!(!registered.has_synced());

    door.open();
    informer.synced_within(LONG).await.unwrap();
    settled(&informer, &server).await;
    registered.synced().await.unwrap();
    assert_eq!(keys(&informer), ["default/a"]);
    // By the watch, or by a full read if too many watches failed before.
    for events in [events, late] {
        let events = events.take();
        assert!(events == ["delete b"] || events == ["missed b"], "{events:?}");
    }
    informer.shutdown().await;
}

/// A kind that does not change: its first bookmark would come after a minute.
#[tokio::test(start_paused = true)]
async fn a_watch_that_stays_silent_is_replaced_by_a_full_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a"]);
    first_run(&server, folder.path(), Storage::Decoded).await;
    server.clear_requests();
    let informer = builder(&server, folder.path(), Storage::Decoded).build().unwrap();
    let (events, _) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    assert!(informer.synced_within(Duration::from_secs(1)).await.is_err());
    assert_eq!(informer.status().freshness, Freshness::Warm);
    assert_eq!(keys(&informer), ["default/a"]);
    informer.synced_within(Duration::from_secs(5)).await.unwrap();
    quiet(&informer).await;
    assert_eq!(kinds(&server)[..2], ["watch", "watch-list"]);
    assert_eq!(events.take(), ["initial a"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn every_namespace_has_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::start();
    for namespace in ["default", "kube-public"] {
        server.create(&item_in(namespace, "a", "1")).unwrap();
    }
    let build = || {
        builder(&server, folder.path(), Storage::Decoded)
            .namespaces(["default", "kube-public"])
            .build()
            .unwrap()
    };
    let informer = build();
    start(&informer).await;
    informer.shutdown().await;
    assert_eq!(files(folder.path()).len(), 2);
    for namespace in ["default", "kube-public"] {
        server.update(&item_in(namespace, "a", "2")).unwrap();
    }
    server.clear_requests();
    let informer = build();
    let (events, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    settled(&informer, &server).await;
    assert_eq!(kinds(&server), ["watch", "watch"]);
    let mut events = events.take();
    events.sort();
    assert_eq!(events, ["initial a", "initial a", "update a", "update a"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn saved_objects_are_not_transformed_again() {
    for storage in [Storage::Decoded, Storage::packed()] {
        let folder = tempfile::tempdir().unwrap();
        let server = server_with(&["a"]);
        let build = || {
            builder(&server, folder.path(), storage)
                .transform(|object: &mut ConfigMap| {
                    let values = object.data.get_or_insert_default();
                    values.entry("value".into()).or_default().push('!');
                })
                .build()
                .unwrap()
        };
        let informer = build();
        start(&informer).await;
        informer.shutdown().await;
        server.create(&item("b", "2")).unwrap();
        let informer = build();
        start(&informer).await;
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=1!", "b=2!"]);
        informer.shutdown().await;
    }
}

/// The newest state of such an object is not in the file, and a watch would not send it again.
#[tokio::test(start_paused = true)]
async fn a_cache_with_an_unusable_object_is_read_again_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a", "bad"]);
    let build = || {
        builder(&server, folder.path(), Storage::Decoded)
            .try_transform(|object: &mut ConfigMap| match object.metadata.name.as_deref() {
                Some("bad") => Err("it is bad".to_owned()),
                _ => Ok(()),
            })
            .build()
            .unwrap()
    };
    let informer = build();
    start(&informer).await;
    informer.shutdown().await;
    server.clear_requests();
    let informer = build();
    start(&informer).await;
    assert_eq!(kinds(&server)[0], "watch-list");
    assert_eq!(informer.status().stale.len(), 1);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_saved_at_intervals_and_only_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a"]);
    let options = WarmStart::directory(folder.path()).every(Duration::from_secs(60));
    let informer = builder_of::<ConfigMap>(server.client())
        .warm_start(options)
        .build()
        .unwrap();
    start(&informer).await;
    assert!(files(folder.path()).is_empty());
    tokio::time::sleep(Duration::from_secs(61)).await;
    quiet(&informer).await;
    let file = files(folder.path()).remove(0);
    let before = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // The version stays, so nothing is written: neither at the next interval nor at the end.
    server.create(&item("b", "1")).unwrap();
    settled(&informer, &server).await;
    informer.shutdown().await;
    let after = std::fs::read(&file).unwrap();
    assert_ne!(before, after, "the change was saved at the end");
}

#[tokio::test(start_paused = true)]
async fn secrets_are_saved_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = ApiServer::start();
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "a", "namespace": "default"}, "stringData": {"password": "x"},
    });
    server.create(&secret).unwrap();
    let options = WarmStart::directory(folder.path());
    for (options, expected) in [(options.clone(), 0), (options.include_secrets(), 1)] {
        let informer: SharedInformer<Secret> =
            builder_of(server.client()).warm_start(options).build().unwrap();
        start(&informer).await;
        informer.shutdown().await;
        assert_eq!(files(folder.path()).len(), expected);
    }
}
