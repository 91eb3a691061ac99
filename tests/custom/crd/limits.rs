//! The values that generated types lose or refuse, as documented in `docs/crd.md`.

use informer_custom::example_com::v1::widget::Widget;
use informer_custom::example_com::v1beta1::nullable::Nullable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Decodes and encodes an object with this field only, and returns the field; `None` if it cannot be decoded.
fn written<K: DeserializeOwned + Serialize>(field: &str, value: &Value) -> Option<Value> {
    let object: K = serde_json::from_value(json!({ "spec": { field: value } })).ok()?;
    let mut written = serde_json::to_value(object).expect("the decoded object can be encoded");
    Some(written["spec"][field].take())
}

fn check_refused(field: &str, good: Value, bad: Value) {
    assert_eq!(written::<Widget>(field, &good), Some(good), "{field}");
    assert_eq!(written::<Widget>(field, &bad), None, "{field} with {bad}");
}

#[test]
fn values_out_of_range_of_a_type_are_refused() {
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
fn null_is_omitted_where_it_is_optional_without_a_default() {
    let object: Nullable = serde_json::from_value(json!({ "spec": { "optionalNullable": null } }))
        .expect("the object can be decoded");
    let written = serde_json::to_value(object).expect("the object can be encoded");
    assert_eq!(written["spec"].get("optionalNullable"), None);
}
