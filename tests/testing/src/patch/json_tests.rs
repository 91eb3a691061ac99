//! JSON patch and merge patch, case by case, with the answers of kube-apiserver 1.37.1.

use serde_json::{Value, json};

use super::{MAX_JSON_PATCH_OPERATIONS, json_patch, merge_patch};
use crate::patch::PatchError;

fn object() -> Value {
    json!({"metadata": {"finalizers": ["x/a", "x/b"]}, "data": {"a": "1", "b": "1"}})
}

fn check_data(patch: Value, expected: Value) {
    assert_eq!(
        json_patch(&object(), &patch).expect("the patch applies")["data"],
        expected,
        "patch {patch}"
    );
}

fn check_rejected(patch: Value) {
    let text = "the server rejected our request due to an error in our request".to_owned();
    assert_eq!(
        json_patch(&object(), &patch),
        Err(PatchError::Unprocessable(text)),
        "patch {patch}"
    );
}

#[test]
fn operations_apply_in_order() {
    check_data(
        json!([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a",
            "value": "2"}]),
        json!({"a": "2", "b": "1"}),
    );
    check_data(
        json!([{"op": "move", "from": "/data/a", "path": "/data/y"}]),
        json!({"y": "1", "b": "1"}),
    );
    check_data(
        json!([{"op": "copy", "from": "/data/a", "path": "/data/y"}]),
        json!({"a": "1", "b": "1", "y": "1"}),
    );
    let appended = json_patch(
        &object(),
        &json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "x/z"}]),
    );
    assert_eq!(
        appended.expect("the patch applies")["metadata"]["finalizers"],
        json!(["x/a", "x/b", "x/z"])
    );
}

#[test]
fn the_server_is_more_lenient_than_the_rfc() {
    check_data(
        json!([{"op": "test", "path": "/data/zz", "value": null}]),
        json!({"a": "1", "b": "1"}),
    );
    check_data(
        json!([{"op": "replace", "path": "/data/zz", "value": "1"}]),
        json!({"a": "1", "b": "1", "zz": "1"}),
    );
}

#[test]
fn one_failing_operation_refuses_the_whole_patch() {
    check_rejected(json!([
        {"op": "replace", "path": "/data/b", "value": "2"},
        {"op": "test", "path": "/data/a", "value": "x"},
    ]));
    check_rejected(json!([{"op": "test", "path": "/data/zz", "value": "1"}]));
    check_rejected(json!([{"op": "remove", "path": "/data/zz"}]));
    check_rejected(json!([{"op": "replace", "path": "/zz/zz", "value": "1"}]));
    check_rejected(json!([{"op": "add", "path": "/zz/zz", "value": "1"}]));
    check_rejected(json!([{"op": "move", "from": "/data/zz", "path": "/data/y"}]));
    check_rejected(json!([{"op": "add", "path": "/metadata/finalizers/7", "value": "x/z"}]));
    check_rejected(json!([{"op": "frob", "path": "/data"}]));
}

#[test]
fn what_is_no_patch_is_a_bad_request() {
    assert_eq!(
        json_patch(&object(), &json!({"op": "add"}))
            .expect_err("no list")
            .code(),
        400
    );
    assert_eq!(
        merge_patch(&object(), &json!([1])).expect_err("no object").code(),
        400
    );
    let test = json!({"op": "test", "path": "/data/a", "value": "1"});
    let many = Value::Array(vec![test; MAX_JSON_PATCH_OPERATIONS + 1]);
    assert_eq!(json_patch(&object(), &many).expect_err("too many").code(), 413);
}

#[test]
fn a_merge_patch_merges_objects_and_replaces_the_rest() {
    let merged = merge_patch(
        &object(),
        &json!({"data": {"a": null, "n": "1"}, "metadata": {"finalizers": ["x/z"]}}),
    );
    assert_eq!(
        merged,
        Ok(json!({"metadata": {"finalizers": ["x/z"]}, "data": {"b": "1", "n": "1"}}))
    );
}
