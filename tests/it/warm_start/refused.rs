//! Saved caches that must not be used: the informer says why, and starts cold.

use std::path::Path;
use std::time::Duration;

use informer_core::{SharedInformerBuilder, Storage, WarmStart};
use informer_testing::{ApiServer, Fault, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{builder, files, first_run, kinds};
use crate::informer_logs::Log;
use crate::support::{Recorder, builder_of, item, keys, server_with, start};

/// Runs an informer that must refuse the file, and checks the reason in the log.
async fn check(server: &ApiServer, builder: SharedInformerBuilder<ConfigMap>, reason: &str) {
    let (log, _guard) = Log::begin();
    server.clear_requests();
    let informer = builder.build().unwrap();
    let (events, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    assert_eq!(kinds(server)[0], "watch-list", "it starts cold");
    assert!(!events.take().contains(&"initial gone".to_owned()));
    assert!(!keys(&informer).contains(&"default/gone".to_owned()));
    let lines = log.lines();
    let refused = |line: &&String| line.contains("refused a saved cache; starting cold");
    let lines: Vec<&String> = lines.iter().filter(refused).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(reason), "{} should say {reason:?}", lines[0]);
    informer.shutdown().await;
}

/// A server whose object `gone` was saved and then deleted.
async fn saved(folder: &Path) -> ApiServer {
    let server = server_with(&["a", "gone"]);
    first_run(&server, folder, Storage::Decoded).await;
    server.delete(&item("gone", "1")).unwrap();
    server
}

/// A saved cache over `max_objects` or `max_bytes` is not loaded, also if the server has shrunk meanwhile.
#[tokio::test(start_paused = true)]
async fn caches_over_a_limit() {
    for storage in [Storage::Decoded, Storage::packed()] {
        let folder = tempfile::tempdir().unwrap();
        let server = server_with(&["a", "gone"]);
        first_run(&server, folder.path(), storage).await;
        server.delete(&item("gone", "1")).unwrap();
        let limited = builder(&server, folder.path(), storage).max_objects(1);
        check(&server, limited, "`max_objects`").await;
    }

    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a"]);
    server.create(&item("gone", &"x".repeat(10_000))).unwrap();
    first_run(&server, folder.path(), Storage::Decoded).await;
    server.delete(&item("gone", "1")).unwrap();
    let build = || builder(&server, folder.path(), Storage::Decoded);
    check(&server, build().max_bytes(5_000), "`max_bytes`").await;
}

/// The size of saved objects counts like that of received ones.
#[tokio::test(start_paused = true)]
async fn a_cache_within_the_limits_is_loaded_with_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&["a"]);
    server.create(&item("b", &"x".repeat(10_000))).unwrap();
    first_run(&server, folder.path(), Storage::Decoded).await;
    server.clear_requests();
    let informer = builder(&server, folder.path(), Storage::Decoded)
        .max_objects(2)
        .max_bytes(20_000)
        .build()
        .unwrap();
    start(&informer).await;
    assert_eq!(kinds(&server)[0], "watch", "it starts warm");
    let bytes = informer.status().approximate_bytes;
    assert!((10_000..20_000).contains(&bytes), "{bytes}");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn damaged_files() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(Damage, &str); 5] = [
        (|bytes| bytes.truncate(bytes.len() / 2), "it is not complete"),
        (Vec::clear, "it is too short"),
        (|bytes| bytes[100] ^= 1, "its checksum is wrong"),
        (|bytes| *bytes.last_mut().unwrap() ^= 1, "it is not complete"),
        (|bytes| bytes[0] = b'X', "its checksum is wrong"),
    ];
    for (damage, reason) in damages {
        let folder = tempfile::tempdir().unwrap();
        let server = saved(folder.path()).await;
        let file = files(folder.path()).remove(0);
        let mut bytes = std::fs::read(&file).unwrap();
        damage(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        check(&server, builder(&server, folder.path(), Storage::Decoded), reason).await;
    }
}

#[tokio::test(start_paused = true)]
async fn files_of_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let _here = saved(folder.path()).await;
    let elsewhere = ApiServer::builder().seed(9).start();
    elsewhere.create(&item("b", "1")).unwrap();
    let builder = builder(&elsewhere, folder.path(), Storage::Decoded);
    check(&elsewhere, builder, "another cluster").await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_be_identified() {
    let folder = tempfile::tempdir().unwrap();
    let server = saved(folder.path()).await;
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).on(Verb::Get).resource("namespaces"));
    let builder = builder(&server, folder.path(), Storage::Decoded);
    check(&server, builder, "the cluster cannot be identified").await;
}

#[tokio::test(start_paused = true)]
async fn files_of_another_selection_or_program_and_old_and_large_ones() {
    let warm = |folder: &Path| WarmStart::directory(folder);
    type Change = fn(SharedInformerBuilder<ConfigMap>, WarmStart) -> SharedInformerBuilder<ConfigMap>;
    let changes: [(Change, &str); 6] = [
        (
            |builder, warm| builder.warm_start(warm).labels("!x"),
            "another selection",
        ),
        (
            |builder, warm| builder.warm_start(warm).fields("metadata.name!=x"),
            "another selection",
        ),
        (
            |builder, warm| builder.warm_start(warm.revision("2")),
            "another revision of the program",
        ),
        (
            |builder, warm| builder.warm_start(warm.cluster("there")),
            "another cluster",
        ),
        (
            |builder, warm| builder.warm_start(warm.max_age(Duration::ZERO)),
            "old, and the limit is",
        ),
        (
            |builder, warm| builder.warm_start(warm.max_bytes(10)),
            "raise `max_bytes`",
        ),
    ];
    for (change, reason) in changes {
        let folder = tempfile::tempdir().unwrap();
        let server = saved(folder.path()).await;
        let builder = change(builder_of(server.client()), warm(folder.path()));
        check(&server, builder, reason).await;
    }
}
