//! Objects that the cache has are not decoded again.

use http::header::CONTENT_TYPE;

use super::*;
use crate::source::protobuf::test_bytes::{config_map, decode, envelope, event, framed, list};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A cache with `ns/a` at version 5 and the UID that all objects of these tests have.
struct Cache;

impl Lookup for Cache {
    fn contains(&self, identity: &Identity) -> bool {
        *identity
            == Identity {
                key: Some(ObjectKey::namespaced("ns", "a")),
                version: Some("5".into()),
                uid: Some("uid-1".to_owned()),
            }
    }
}

/// A decoder that fails for every object, so that every decoded object is visible.
struct Refuses;

impl Decode<ConfigMap> for Refuses {
    fn decode(&self, _: &[u8]) -> Result<ConfigMap, DecodeError> {
        Err(DecodeError::new("decoded"))
    }
}

fn answers(content_type: &'static str, bytes: Vec<u8>) -> kube::Client {
    client(move |_| {
        Response::builder()
            .header(CONTENT_TYPE, content_type)
            .body(body(chunks(&bytes, 11)))
            .unwrap()
    })
}

fn json(bytes: impl Into<Vec<u8>>) -> KubeSource<ConfigMap> {
    super::source(answers("application/json", bytes.into()), inline()).decoder(Arc::new(Refuses))
}

fn protobuf(bytes: Vec<u8>) -> KubeSource<ConfigMap> {
    super::source(answers(PROTOBUF, bytes), inline()).protobuf(&(), decode)
}

fn json_object(name: &str, version: &str, uid: &str) -> String {
    let metadata =
        format!(r#"{{"name":"{name}","namespace":"ns","uid":"{uid}","resourceVersion":"{version}"}}"#);
    format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{metadata},"data":{{"k":"v"}}}}"#)
}

#[tokio::test]
async fn known_items_of_a_json_list_are_not_decoded() {
    let items = [
        json_object("a", "5", "uid-1"),
        json_object("a", "6", "uid-1"),
        json_object("a", "5", "uid-2"),
        json_object("b", "5", "uid-1"),
    ];
    let text = format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#,
        items.join(",")
    );
    let cache = Arc::new(Cache);
    let lines = list_lines_except(&json(text.clone()), Known::of(&cache)).await;
    let decoded = r#"undecodable Some("ns/a")"#;
    let expected = ["unchanged ns/a", decoded, decoded, r#"undecodable Some("ns/b")"#];
    assert_eq!(lines[1..], expected);
    let known = Known::of(&cache);
    drop(cache);
    let lines = list_lines_except(&json(text), known).await;
    assert_eq!(lines[1], decoded, "a state that was dropped knows nothing");
}

#[tokio::test]
async fn known_items_of_a_protobuf_list_are_not_decoded() {
    let items = [config_map("a", "5", b""), config_map("a", "6", b"")];
    let cache = Arc::new(Cache);
    let lines = list_lines_except(&protobuf(list(&items)), Known::of(&cache)).await;
    assert_eq!(lines[1..], ["unchanged ns/a", "item ns/a"]);
}

/// A modification or deletion of a known state is an event of its own, and is decoded.
#[tokio::test]
async fn known_objects_of_a_watch_are_unchanged_only_if_they_were_added() {
    let cache = Arc::new(Cache);
    let frames: Vec<String> = ["ADDED", "MODIFIED", "DELETED"]
        .iter()
        .map(|change| {
            format!(
                "{{\"type\":\"{change}\",\"object\":{}}}\n",
                json_object("a", "5", "uid-1")
            )
        })
        .collect();
    let lines = watch_lines_except(&json(frames.concat()), Known::of(&cache)).await;
    let undecodable = |change| format!("undecodable {change} Some(\"ns/a\")");
    assert_eq!(
        lines,
        [
            "unchanged ns/a",
            &undecodable("Upserted"),
            &undecodable("Deleted")
        ]
    );

    let frames: Vec<u8> = ["ADDED", "MODIFIED", "DELETED"]
        .iter()
        .flat_map(|change| {
            let object = envelope("v1", "ConfigMap", &config_map("a", "5", b""));
            framed(&event(change, &object))
        })
        .collect();
    let lines = watch_lines_except(&protobuf(frames), Known::of(&cache)).await;
    assert_eq!(lines, ["unchanged ns/a", "modified ns/a", "deleted ns/a"]);
}
