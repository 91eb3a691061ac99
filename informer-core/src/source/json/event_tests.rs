//! Tests of watch events.

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::source::{JsonDecoder, ManagedFields};

/// One line that says all of an event.
fn tell(frame: &[u8]) -> String {
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
        Ok(WatchEvent::Unknown) => "unknown".to_owned(),
        Err(error) => format!("error {error}"),
    }
}

fn check(frame: &str, expected: &str) {
    assert_eq!(tell(frame.as_bytes()), expected, "{frame}");
}

#[test]
fn the_usual_form_is_read() {
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
fn any_order_and_any_company_is_read_too() {
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
fn bookmarks_give_their_version_and_their_mark() {
    check(
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"12"}}}"#,
        "bookmark 12 Progress",
    );
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        "bookmark 12 InitialEventsEnd",
    );
    check(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"false"}}}}"#,
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
        "error the response cannot be understood: an ERROR event carries no status",
    );
}

#[test]
fn what_is_new_to_us_is_passed_over() {
    check(
        r#"{"type":"RENAMED","object":{"metadata":{"name":"a"}}}"#,
        "unknown",
    );
}

/// Found by the simulation: an initial state of tables was taken for an empty one, and every object was deleted.
#[test]
fn a_table_in_a_watch_is_an_error_and_not_passed_over() {
    check(
        r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}}"#,
        "error the response cannot be understood: a Table came where an object was asked for",
    );
}

#[test]
fn an_undecodable_object_keeps_what_can_be_read_of_it() {
    check(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns"},"data":{"password":5}}}"#,
        "Upserted object ns/a could not be decoded: invalid type at data.* (line 1, column 62)",
    );
    check(
        r#"{"type":"DELETED","object":{"kind":"Secret","metadata":{"name":"a"}}}"#,
        "Deleted object a could not be decoded: its kind or apiVersion is not the one that was asked for",
    );
    check(
        r#"{"type":"MODIFIED","object":{"metadata":{}}}"#,
        "Upserted an object whose name cannot be read could not be decoded: it has no name",
    );
    for object in ["null", "5", "[]", r#""text""#] {
        let told = tell(format!(r#"{{"type":"DELETED","object":{object}}}"#).as_bytes());
        assert!(
            told.starts_with("Deleted an object whose name cannot be read"),
            "{told}"
        );
    }
    let told = tell(br#"{"type":"DELETED"}"#);
    assert!(
        told.starts_with("Deleted an object whose name cannot be read"),
        "{told}"
    );
}

#[test]
fn an_object_that_is_not_utf8_is_undecodable_and_keeps_its_key() {
    let frame = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\"}}}";
    assert!(
        tell(frame).starts_with("Upserted object a could not be decoded: it is not UTF-8"),
        "{}",
        tell(frame)
    );
}

#[test]
fn a_frame_that_is_no_event_is_an_error() {
    for frame in [
        "garbage",
        "{",
        "5",
        r#"{"object":{}}"#,
        r#"{"type":"ADDED","object":{}"#,
        r#"{"type":5}"#,
    ] {
        let told = tell(frame.as_bytes());
        assert!(told.contains("a frame is not a watch event"), "{frame}: {told}");
    }
}
