//! Tests of watch events and of statuses.

use k8s_openapi::api::core::v1::ConfigMap;

use super::super::test_bytes::{config_map, decode, envelope, event, field, integer};
use super::*;
use crate::key::ObjectKey;
use crate::source::ManagedFields;

fn decoder() -> ProtobufDecoder<ConfigMap> {
    ProtobufDecoder::of(&(), decode, ManagedFields::Drop)
}

fn read(frame: &[u8]) -> String {
    match decode_event(&decoder(), frame) {
        Ok(event) => format!("{event:?}"),
        Err(error) => format!("error: {error}"),
    }
}

fn check(change: &str, object: &[u8], expected: &str) {
    assert_eq!(read(&event(change, object)), expected, "{change}");
}

#[test]
fn changes_carry_their_object() {
    let object = envelope("v1", "ConfigMap", &config_map("a", "5", b""));
    check("ADDED", &object, "Added(ns/a@5)");
    check("MODIFIED", &object, "Modified(ns/a@5)");
    check("DELETED", &object, "Deleted(ns/a@5)");
    check("SOMETHING", &object, "Unknown");
    assert_eq!(read(b""), "Unknown");
}

#[test]
fn an_object_that_cannot_be_decoded_is_reported_with_its_identity() {
    let check = |api_version: &str, kind: &str, raw: &[u8], expected: &str| {
        let frame = event("DELETED", &envelope(api_version, kind, raw));
        let Ok(WatchEvent::Undecodable { change, object }) = decode_event(&decoder(), &frame) else {
            panic!("{api_version} {kind} was decoded");
        };
        assert_eq!(change, ObjectChange::Deleted);
        assert_eq!(object.key, Some(ObjectKey::namespaced("ns", "a")));
        assert_eq!(object.version, Some(ResourceVersion::new("5")));
        assert_eq!(
            (object.uid.as_deref(), object.reason.as_str()),
            (Some("uid-1"), expected)
        );
    };
    let good = config_map("a", "5", b"");
    let bad = [good.as_slice(), &[0x12, 50]].concat();
    let other = "its kind or apiVersion is not the expected one";
    check("v1", "ConfigMap", &bad, "it ends too early");
    check("v1", "Secret", &good, other);
    check("v2", "ConfigMap", &good, other);
}

#[test]
fn bookmarks_have_a_version_and_may_end_the_initial_events() {
    let annotation = |key: &str, value: &str| field(12, [field(1, key), field(2, value)].concat());
    let bookmark = |version, more: &[u8]| envelope("v1", "ConfigMap", &config_map("", version, more));
    let progress = "Bookmark { version: Some(ResourceVersion(Number(7))), mark: Progress }";
    check("BOOKMARK", &bookmark("7", b""), progress);
    check(
        "BOOKMARK",
        &bookmark("7", &annotation("k8s.io/initial-events-end", "false")),
        progress,
    );
    check(
        "BOOKMARK",
        &bookmark(
            "7",
            &[
                annotation("a", "b"),
                annotation("k8s.io/initial-events-end", "true"),
            ]
            .concat(),
        ),
        "Bookmark { version: Some(ResourceVersion(Number(7))), mark: InitialEventsEnd }",
    );
    check(
        "BOOKMARK",
        &bookmark("0", b""),
        "Bookmark { version: None, mark: Progress }",
    );
}

#[test]
fn an_error_event_has_the_status_of_the_server() {
    let cause = [field(1, "ResourceVersionTooLarge"), field(2, "later")].concat();
    let details = [field(4, cause), integer(5, 3)].concat();
    let raw = [
        field(1, ""),
        field(2, "Failure"),
        field(3, "too old\nresource version"),
        field(4, "Expired"),
        field(5, details),
        integer(6, 410),
    ]
    .concat();
    let frame = event("ERROR", &envelope("v1", "Status", &raw));
    let error = decode_event(&decoder(), &frame).unwrap_err();
    assert!(error.is_expired(), "{error}");
    let status = error.status().unwrap();
    assert_eq!(status.to_string(), "410 Expired: too old\\nresource version");
    assert_eq!(status.retry_after, Some(std::time::Duration::from_secs(3)));
    assert_eq!(
        status.causes,
        [("ResourceVersionTooLarge".to_owned(), "later".to_owned())]
    );
    check(
        "ERROR",
        b"",
        "error: invalid response: an ERROR event has no status",
    );
}

#[test]
fn a_frame_without_an_envelope_is_a_fault_of_the_connection() {
    check(
        "ADDED",
        b"{}",
        "error: invalid response: the object of a watch event has no envelope",
    );
    check(
        "ADDED",
        b"k8s\0\x0a\x50",
        "error: invalid response: the object of a watch event has an invalid envelope: it ends too early",
    );
    assert_eq!(
        read(b"\x0a\x50"),
        "error: invalid response: a frame is not a watch event: it ends too early"
    );
    let table = envelope("meta.k8s.io/v1", "Table", b"");
    check(
        "ADDED",
        &table,
        "error: invalid response: received a Table instead of an object",
    );
}
