//! Tests of watch events.

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::source::{JsonDecoder, ManagedFields};

/// Describes the decoded event in one line.
fn describe(frame: &[u8]) -> String {
    let decoder = JsonDecoder::of::<ConfigMap>(&(), ManagedFields::Drop);
    let name = |object: &ConfigMap| object.metadata.name.clone().unwrap_or_default();
    match decode_event::<ConfigMap>(&decoder, frame) {
        Ok(WatchEvent::Added(object)) => format!("added {}", name(&object)),
        Ok(WatchEvent::Modified(object)) => format!("modified {}", name(&object)),
        Ok(WatchEvent::Deleted(object)) => format!("deleted {}", name(&object)),
        Ok(WatchEvent::Bookmark { version, mark }) => {
            format!(
                "bookmark {} {mark:?}",
                version.map(|version| version.to_string()).unwrap_or_default()
            )
        }
        Ok(WatchEvent::Undecodable { change, object }) => format!("{change:?} {object}"),
        Ok(WatchEvent::Unchanged(key)) => format!("unchanged {key}"),
        Ok(WatchEvent::Unknown) => "unknown".to_owned(),
        Err(error) => format!("error {error}"),
    }
}

fn check(frame: &str, expected: &str) {
    assert_eq!(describe(frame.as_bytes()), expected, "{frame}");
}

#[test]
fn frames_of_a_kube_apiserver_are_decoded() {
    check(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
        "added a",
    );
    check(
        r#" { "type" : "MODIFIED" , "object" : {"metadata":{"name":"a"}} } "#,
        "modified a",
    );
    check(
        "{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}}\r",
        "deleted a",
    );
}

#[test]
fn fields_may_come_in_any_order_and_with_others() {
    check(
        r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#,
        "added a",
    );
    check(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":[1]}"#,
        "added a",
    );
    check(
        r#"{"more":{},"type":"\u0041DDED","object":{"metadata":{"name":"a"}}}"#,
        "added a",
    );
}

#[test]
fn bookmarks_have_a_version_and_a_mark() {
    check(
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"12"}}}"#,
        "bookmark 12 Progress",
    );
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12",
            "annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        "bookmark 12 InitialEventsEnd",
    );
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12",
            "annotations":{"k8s.io/initial-events-end":"false"}}}}"#,
        "bookmark 12 Progress",
    );
    check(r#"{"type":"BOOKMARK","object":null}"#, "bookmark  Progress");
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"0"}}}"#,
        "bookmark  Progress",
    );
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":5}}}"#,
        "bookmark  Progress",
    );
}

#[test]
fn errors_carry_their_status() {
    check(
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#,
        "error the server answered 410 Expired: too old",
    );
    check(
        r#"{"type":"ERROR","object":{}}"#,
        "error invalid response: an ERROR event has no status",
    );
}

#[test]
fn events_of_unknown_types_are_ignored() {
    check(
        r#"{"type":"RENAMED","object":{"metadata":{"name":"a"}}}"#,
        "unknown",
    );
}

/// Found by the simulation: an initial state of tables was treated as empty, and every object was deleted.
#[test]
fn a_table_in_a_watch_is_an_error() {
    check(
        r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}}"#,
        "error invalid response: received a Table instead of an object",
    );
}

#[test]
fn an_undecodable_object_keeps_its_readable_metadata() {
    check(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns"},"data":{"password":5}}}"#,
        "Upserted object ns/a could not be decoded: invalid type at data.* (line 1, column 62)",
    );
    check(
        r#"{"type":"DELETED","object":{"kind":"Secret","metadata":{"name":"a"}}}"#,
        "Deleted object a could not be decoded: its kind or apiVersion is not the expected one",
    );
    check(
        r#"{"type":"MODIFIED","object":{"metadata":{}}}"#,
        "Upserted an object whose name cannot be read could not be decoded: it has no name",
    );
    for object in ["null", "5", "[]", r#""text""#] {
        let text = describe(format!(r#"{{"type":"DELETED","object":{object}}}"#).as_bytes());
        assert!(
            text.starts_with("Deleted an object whose name cannot be read"),
            "{text}"
        );
    }
    let text = describe(br#"{"type":"DELETED"}"#);
    assert!(
        text.starts_with("Deleted an object whose name cannot be read"),
        "{text}"
    );
}

#[test]
fn an_object_that_is_not_utf8_is_undecodable_and_keeps_its_key() {
    let frame = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\"}}}";
    assert!(
        describe(frame).starts_with("Upserted object a could not be decoded: it is not UTF-8"),
        "{}",
        describe(frame)
    );
}

#[test]
fn a_frame_that_is_not_an_event_is_an_error() {
    for frame in [
        "garbage",
        "{",
        "5",
        r#"{"object":{}}"#,
        r#"{"type":"ADDED","object":{}"#,
        r#"{"type":5}"#,
    ] {
        let text = describe(frame.as_bytes());
        assert!(text.contains("a frame is not a watch event"), "{frame}: {text}");
    }
}
