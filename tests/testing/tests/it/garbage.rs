//! Garbage collection by owner references.

use http::Method;
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use crate::support::call;

fn server() -> ApiServer {
    ApiServer::builder().garbage_collection().start()
}

/// Creates a ConfigMap with these owners; `!` before an owner's name means that it blocks its deletion.
fn make(server: &ApiServer, name: &str, owners: &[&str]) -> Value {
    let maps = server.objects::<ConfigMap>();
    let reference = |owner: &&str| {
        let (owner, blocks) = (owner.trim_start_matches('!'), owner.starts_with('!'));
        let found = maps
            .iter()
            .find(|map| map.metadata.name.as_deref() == Some(owner));
        let uid = found
            .and_then(|map| map.metadata.uid.clone())
            .unwrap_or_else(|| "none".into());
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": blocks,
        })
    };
    let references: Vec<Value> = owners.iter().map(reference).collect();
    server
        .create(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default", "ownerReferences": references },
        }))
        .unwrap()
}

fn names(server: &ApiServer) -> Vec<String> {
    let maps = server.objects::<ConfigMap>();
    maps.into_iter().filter_map(|map| map.metadata.name).collect()
}

async fn delete(server: &ApiServer, name: &str, policy: &str) -> u16 {
    let uri = format!("/api/v1/namespaces/default/configmaps/{name}?propagationPolicy={policy}");
    call(server, Method::DELETE, &uri, Value::Null).await.code
}

fn hold(server: &ApiServer, name: &str, finalizers: &[&str]) {
    let maps = server.objects::<ConfigMap>();
    let map = maps
        .iter()
        .find(|map| map.metadata.name.as_deref() == Some(name))
        .unwrap();
    let mut map = serde_json::to_value(map).unwrap();
    map["metadata"]["finalizers"] = json!(finalizers);
    (map["apiVersion"], map["kind"]) = (json!("v1"), json!("ConfigMap"));
    server.update(&map).unwrap();
}

#[tokio::test(start_paused = true)]
async fn dependents_are_deleted_with_their_last_owner() {
    let server = server();
    make(&server, "a", &[]);
    make(&server, "b", &[]);
    make(&server, "of-a", &["a"]);
    make(&server, "of-both", &["a", "b"]);
    make(&server, "of-of-a", &["of-a"]);
    assert_eq!(delete(&server, "a", "Background").await, 200);
    assert_eq!(names(&server), ["b", "of-both"]);
    let maps = server.objects::<ConfigMap>();
    let left = maps[1].metadata.owner_references.as_ref().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].name, "b");
    assert_eq!(delete(&server, "b", "").await, 200);
    assert!(names(&server).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_recreated_under_its_name_is_another_owner() {
    let server = server();
    let owner = make(&server, "a", &[]);
    let dependent = make(&server, "d", &["a"]);
    server.delete(&owner).unwrap();
    make(&server, "a", &[]);
    let mut stale = dependent;
    stale["metadata"]["name"] = json!("late");
    server.create(&stale).unwrap();
    assert_eq!(
        names(&server),
        ["a"],
        "an object of a former owner is deleted as soon as it is created"
    );
}

#[tokio::test(start_paused = true)]
async fn an_owner_must_match_in_kind_and_namespace() {
    let server = server();
    let owner = make(&server, "a", &[]);
    let reference = |kind: &str| {
        json!([{ "apiVersion": "v1", "kind": kind, "name": "a",
        "uid": owner["metadata"]["uid"] }])
    };
    for (name, namespace, kind) in [
        ("x", "other", "ConfigMap"),
        ("y", "default", "Secret"),
        ("z", "default", "ConfigMap"),
    ] {
        server
            .create(&json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": name, "namespace": namespace, "ownerReferences": reference(kind) },
            }))
            .unwrap();
    }
    let secrets = server.objects::<Secret>();
    assert_eq!(secrets.len(), 1);
    assert_eq!(secrets[0].metadata.name.as_deref(), Some("z"));
}

#[tokio::test(start_paused = true)]
async fn finalizers_delay_a_dependent() {
    let server = server();
    make(&server, "a", &[]);
    make(&server, "d", &["a"]);
    hold(&server, "d", &["example.com/f"]);
    delete(&server, "a", "Background").await;
    assert_eq!(names(&server), ["d"]);
    assert!(
        server.objects::<ConfigMap>()[0]
            .metadata
            .deletion_timestamp
            .is_some()
    );
    hold(&server, "d", &[]);
    assert!(names(&server).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_waits_for_the_dependents_that_block_it() {
    let server = server();
    make(&server, "a", &[]);
    make(&server, "d", &["!a"]);
    make(&server, "dd", &["!d"]);
    hold(&server, "dd", &["example.com/f"]);
    assert_eq!(delete(&server, "a", "Foreground").await, 200);
    assert_eq!(names(&server), ["a", "d", "dd"]);
    for map in server.objects::<ConfigMap>() {
        assert!(
            map.metadata.deletion_timestamp.is_some(),
            "{:?}",
            map.metadata.name
        );
    }
    hold(&server, "dd", &[]);
    assert!(names(&server).is_empty());

    make(&server, "a", &[]);
    make(&server, "d", &["a"]);
    hold(&server, "d", &["example.com/f"]);
    delete(&server, "a", "Foreground").await;
    assert_eq!(
        names(&server),
        ["d"],
        "a dependent that does not block is not waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn orphaned_dependents_stay() {
    let server = server();
    make(&server, "a", &[]);
    make(&server, "d", &["a"]);
    assert_eq!(delete(&server, "a", "Orphan").await, 200);
    assert_eq!(names(&server), ["d"]);
    assert!(
        server.objects::<ConfigMap>()[0]
            .metadata
            .owner_references
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn without_garbage_collection_dependents_stay() {
    let server = ApiServer::start();
    make(&server, "a", &[]);
    make(&server, "d", &["a"]);
    for policy in ["Foreground", "Orphan"] {
        delete(&server, "a", policy).await;
        assert_eq!(names(&server), ["d"]);
        make(&server, "a", &[]);
    }
}
