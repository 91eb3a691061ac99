//! Reading your writes: waits for a written or deleted object, over namespaces and selectors.

use std::time::Duration;

use informer_core::{DynInformer, NeverShown, ObjectKey, SharedInformer, WaitError, WaitForError};
use informer_testing::{ApiServer, Fault, Rule};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio::time::Instant;

use crate::support::{LONG, builder_of, item, item_in, pod, server_with, start, version_of};

fn labelled(name: &str, tier: &str) -> ConfigMap {
    let mut object = item(name, "1");
    object.metadata.labels = Some([("tier".to_owned(), tier.to_owned())].into());
    object
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn uid(object: &ConfigMap) -> &str {
    object
        .metadata
        .uid
        .as_deref()
        .expect("the server gives every object a UID")
}

/// An informer over the ConfigMaps of some namespaces, started.
async fn over(server: &ApiServer, namespaces: &[&str]) -> SharedInformer<ConfigMap> {
    let informer = builder_of(server.client())
        .namespaces(namespaces.iter().copied())
        .build()
        .unwrap();
    start(&informer).await;
    informer
}

#[tokio::test(start_paused = true)]
async fn a_write_is_shown_without_waiting_for_the_other_namespaces() {
    let server = server_with(&["a"]);
    let informer = over(&server, &["default", "db", "web"]).await;
    let before = Instant::now();
    let created = server.create(&item_in("web", "new", "1")).unwrap();
    informer.wait_for_within(&created, LONG).await.unwrap();
    assert!(informer.indexer().contains(&key("web/new")));
    let updated = server.update(&item("a", "2")).unwrap();
    let erased = DynInformer::new(informer.clone());
    erased.wait_for_within(&updated, LONG).await.unwrap();
    let read = informer.indexer().get(&key("default/a")).unwrap();
    assert_eq!(version_of(read.as_ref()), version_of(&updated));
    server.delete(&created).unwrap();
    informer
        .wait_for_deletion_within(&key("web/new"), uid(&created), LONG)
        .await
        .unwrap();
    assert!(!informer.indexer().contains(&key("web/new")));
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "no bookmark was needed: {:?}",
        before.elapsed()
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_plain_wait_over_several_namespaces_needs_a_bookmark_and_says_so() {
    let server = server_with(&["a"]);
    let informer = over(&server, &["default", "db"]).await;
    let written = server.update(&item("a", "2")).unwrap();
    let time = Duration::from_secs(5);
    let error = informer
        .wait_until_within(&version_of(&written), time)
        .await
        .unwrap_err();
    let WaitError::Timeout { why, .. } = &error else {
        panic!("{error}");
    };
    assert!(why.starts_with("namespace db is at version"), "{why}");
    assert!(why.contains("no request failed"), "{why}");
    assert!(!error.to_string().contains("namespace default"), "{error}");
    informer
        .wait_until_within(&version_of(&written), LONG)
        .await
        .unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_the_failure_that_causes_it() {
    let server = server_with(&["a"]);
    let informer = over(&server, &["default"]).await;
    server.faults().add(Rule::new(Fault::Refuse));
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let written = server.update(&item("a", "2")).unwrap();
    let time = Duration::from_secs(5);
    let version = informer.wait_until_within(&version_of(&written), time).await;
    let write = informer.wait_for_within(&written, time).await;
    let deletion = informer
        .wait_for_deletion_within(&key("default/a"), uid(&written), time)
        .await;
    for text in [
        version.unwrap_err().to_string(),
        write.unwrap_err().to_string(),
        deletion.unwrap_err().to_string(),
    ] {
        assert!(text.contains("cannot connect"), "{text}");
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_the_informer_can_never_show_is_refused_at_once() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .namespace("default")
        .labels("tier=front")
        .build()
        .unwrap();
    start(&informer).await;
    let before = Instant::now();
    let elsewhere = server.create(&item_in("db", "x", "1")).unwrap();
    let never = |key: &str, reason| WaitForError::NeverShown {
        key: key.parse().unwrap(),
        reason,
    };
    assert_eq!(
        informer.wait_for(&elsewhere).await,
        Err(never("db/x", NeverShown::Namespace))
    );
    assert_eq!(
        informer.wait_for_deletion(&key("db/x"), uid(&elsewhere)).await,
        Err(never("db/x", NeverShown::Namespace))
    );
    for other in [labelled("back", "back"), item("none", "1")] {
        let written = server.create(&other).unwrap();
        let outcome = informer.wait_for(&written).await;
        let Err(WaitForError::NeverShown { reason, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(reason, NeverShown::LabelSelector("tier=front".to_owned()));
    }
    let unwritten = informer.wait_for(&item("a", "1")).await;
    assert_eq!(unwritten, Err(WaitForError::NotWritten));
    assert_eq!(Instant::now(), before);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_leaves_the_selector_is_waited_for_until_it_has_left_the_cache() {
    let server = ApiServer::start();
    server.create(&labelled("a", "front")).unwrap();
    let informer = builder_of::<ConfigMap>(server.client())
        .labels("tier=front")
        .build()
        .unwrap();
    start(&informer).await;
    let left = server.update(&labelled("a", "back")).unwrap();
    informer.wait_for_within(&left, LONG).await.unwrap();
    assert!(informer.indexer().is_empty());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_or_replaced_after_the_write_counts_as_newer() {
    let server = server_with(&["a", "b"]);
    let informer = over(&server, &["default", "db"]).await;
    let first = server.update(&item("a", "2")).unwrap();
    server.delete(&item("a", "")).unwrap();
    informer.wait_for_within(&first, LONG).await.unwrap();
    let replaced = server.update(&item("b", "2")).unwrap();
    server.delete(&item("b", "")).unwrap();
    server.create(&item("b", "3")).unwrap();
    informer.wait_for_within(&replaced, LONG).await.unwrap();
    informer
        .wait_for_deletion_within(&key("default/b"), uid(&replaced), LONG)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = Instant::now();
    // The cache shows the new objects already: nothing to wait for.
    informer.wait_for(&first).await.unwrap();
    informer.wait_for(&replaced).await.unwrap();
    assert_eq!(Instant::now(), before);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_older_object_of_the_same_name_does_not_count_as_the_write() {
    let server = server_with(&["a"]);
    let informer = over(&server, &["default"]).await;
    server.faults().add(Rule::new(Fault::Refuse));
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.delete(&item("a", "")).unwrap();
    let again = server.create(&item("a", "2")).unwrap();
    let outcome = informer.wait_for_within(&again, Duration::from_secs(5)).await;
    assert!(
        matches!(outcome, Err(WaitForError::Timeout { .. })),
        "{outcome:?}"
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_field_selectors_exclude_is_waited_for_until_its_namespace_moves_on() {
    let server = ApiServer::start();
    let informer = builder_of::<Pod>(server.client())
        .fields("spec.nodeName=node-1")
        .build()
        .unwrap();
    start(&informer).await;
    let written = server.create(&pod("elsewhere", "node-2")).unwrap();
    let outcome = informer.wait_for_within(&written, Duration::from_secs(5)).await;
    assert!(
        matches!(outcome, Err(WaitForError::Timeout { .. })),
        "{outcome:?}"
    );
    let here = server.create(&pod("here", "node-1")).unwrap();
    informer.wait_for_within(&here, LONG).await.unwrap();
    informer.wait_for(&written).await.unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_not_taken_from_a_cache_that_was_never_filled() {
    let server = server_with(&["a"]);
    let deleted = server.update(&item("a", "2")).unwrap();
    let refusal = server.faults().add(Rule::new(Fault::Forbidden));
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    informer.start().unwrap();
    let time = Duration::from_secs(60);
    let outcome = informer
        .wait_for_deletion_within(&key("default/a"), uid(&deleted), time)
        .await;
    assert!(
        matches!(outcome, Err(WaitForError::Timeout { .. })),
        "{outcome:?}"
    );
    server.delete(&item("a", "")).unwrap();
    server.faults().remove(refusal);
    informer
        .wait_for_deletion_within(&key("default/a"), uid(&deleted), LONG)
        .await
        .unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn waits_for_writes_end_with_the_informer() {
    let server = server_with(&["a"]);
    let informer = over(&server, &["default"]).await;
    server.close_watches();
    informer.stop();
    let written = server.update(&item("a", "2")).unwrap();
    let stopped = Err(WaitForError::Stopped {
        key: key("default/a"),
    });
    assert_eq!(informer.wait_for_within(&written, LONG).await, stopped);
    let a = key("default/a");
    let deletion = informer.wait_for_deletion_within(&a, uid(&written), LONG);
    assert_eq!(deletion.await, stopped);
}
