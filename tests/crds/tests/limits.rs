//! What `docs/crd.md` says may be lost or refused: no less is, and no more.

use informer_crd_tests::nullable::Nullable;
use informer_crd_tests::widget::Widget;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The spec of an object with this field only, as it is written back; `None` if it cannot be read.
fn written<K: DeserializeOwned + Serialize>(field: &str, value: &Value) -> Option<Value> {
    let object: K = serde_json::from_value(json!({ "spec": { field: value } })).ok()?;
    let mut written = serde_json::to_value(object).expect("what was read can be written");
    Some(written["spec"][field].take())
}

fn check_refused(field: &str, good: Value, bad: Value) {
    assert_eq!(written::<Widget>(field, &good), Some(good), "{field}");
    assert_eq!(written::<Widget>(field, &bad), None, "{field} with {bad}");
}

#[test]
fn what_a_type_has_no_room_for_is_refused() {
    check_refused(
        "until",
        json!("9999-12-30T22:00:00Z"),
        json!("9999-12-31T23:59:59Z"),
    );
    check_refused("otherPort", json!(i32::MAX), json!(i64::from(i32::MAX) + 1));
    check_refused("generation", json!(i64::MAX), json!(u64::MAX));
    check_refused("unsigned", json!(i64::MAX), json!(u64::MAX));
    check_refused("replicas", json!(i32::MAX), json!(i64::from(i32::MAX) + 1));
}

#[test]
fn fractions_of_a_second_are_dropped() {
    let time = json!("2026-01-02T03:04:05.999Z");
    assert_eq!(
        written::<Widget>("until", &time),
        Some(json!("2026-01-02T03:04:05Z"))
    );
}

#[test]
fn null_is_left_out_where_it_is_optional_and_has_no_default() {
    let object: Nullable =
        serde_json::from_value(json!({ "spec": { "optionalNullable": null } })).expect("it can be read");
    let written = serde_json::to_value(object).expect("it can be written");
    assert_eq!(written["spec"].get("optionalNullable"), None);
}
