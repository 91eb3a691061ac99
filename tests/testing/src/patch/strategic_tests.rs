//! Strategic merge, case by case. The results are those of kube-apiserver 1.37.1, without its defaults.

use serde_json::{Value, json};

use crate::patch::{PatchError, strategic_merge};
use crate::schema::Schema;

fn deployment(pod: Value) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}, "finalizers": ["x/a", "x/b", "x/c"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": pod},
        },
    })
}

fn pod() -> Value {
    json!({
        "containers": [
            {
                "name": "main",
                "image": "nginx:1",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            },
            {"name": "side", "image": "busybox"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "x", "configMap": {"name": "c"}}],
    })
}

fn merge(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let schema = Schema::builtin("apps/v1", "Deployment").expect("a built-in kind");
    strategic_merge(&schema, object, patch)
}

/// Merges a patch of the pod's spec and compares the value at `pointer` below that spec.
fn check_pod(patch: Value, pointer: &str, expected: Value) {
    let patch = json!({"spec": {"template": {"spec": patch}}});
    let merged = merge(&deployment(pod()), &patch).expect("the patch applies");
    let found = merged
        .pointer(&format!("/spec/template/spec{pointer}"))
        .unwrap_or(&Value::Null);
    assert_eq!(found, &expected, "patch {patch}");
}

/// Merges a patch and compares the value at `pointer` in the object.
fn check(patch: Value, pointer: &str, expected: Value) {
    let merged = merge(&deployment(pod()), &patch).expect("the patch applies");
    assert_eq!(
        merged.pointer(pointer).unwrap_or(&Value::Null),
        &expected,
        "patch {patch}"
    );
}

fn check_refused(patch: Value, code: u16, message: &str) {
    let error = merge(&deployment(pod()), &patch).expect_err("the patch does not fit");
    assert_eq!((error.code(), error.to_string().as_str()), (code, message));
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["name"].as_str())
        .collect()
}

/// Merges a patch of the pod's spec and compares the names of the containers.
fn check_containers(patch: Value, expected: &[&str]) {
    let patch = json!({"spec": {"template": {"spec": patch}}});
    let merged = merge(&deployment(pod()), &patch).expect("the patch applies");
    assert_eq!(
        names(&merged["spec"]["template"]["spec"]["containers"]),
        expected,
        "patch {patch}"
    );
}

#[test]
fn items_are_found_by_their_merge_key() {
    check_pod(
        json!({"containers": [{"name": "side", "image": "busybox:2"}]}),
        "/containers/1/image",
        json!("busybox:2"),
    );
    check_pod(
        json!({"containers": [{"name": "side", "image": "busybox:2"}]}),
        "/containers/0/image",
        json!("nginx:1"),
    );
    let env = json!([{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]);
    check_pod(
        json!({"containers": [{"name": "main", "env": env}]}),
        "/containers/0/env",
        json!([{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}]),
    );
    check_pod(
        json!({"containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "http"}]}]}),
        "/containers/0/ports",
        json!([{"containerPort": 80, "protocol": "TCP", "name": "http"}]),
    );
}

#[test]
fn new_items_come_first_as_the_server_puts_them() {
    check_containers(
        json!({"containers": [{"name": "third", "image": "x"}]}),
        &["third", "main", "side"],
    );
}

#[test]
fn directives_delete_and_replace_items() {
    check_containers(
        json!({"containers": [{"name": "side", "$patch": "delete"}]}),
        &["main"],
    );
    check_containers(
        json!({"containers": [{"$patch": "replace"}, {"name": "only", "image": "y"}]}),
        &["only"],
    );
    check_pod(
        json!({"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}),
        "/containers/0/env",
        json!([{"name": "B", "value": "2"}]),
    );
    check_pod(
        json!({"containers": [{"name": "main", "env": null}]}),
        "/containers/0/env",
        Value::Null,
    );
}

#[test]
fn the_order_directive_orders() {
    let order = json!([{"name": "side"}, {"name": "main"}]);
    let main = json!([{"name": "main", "image": "nginx:2"}]);
    check_containers(
        json!({"$setElementOrder/containers": order, "containers": main}),
        &["side", "main"],
    );
    check_containers(json!({"$setElementOrder/containers": order}), &["side", "main"]);
    let order = json!([{"name": "new"}, {"name": "main"}]);
    let new = json!([{"name": "new", "image": "n"}]);
    check_containers(
        json!({"$setElementOrder/containers": order, "containers": new}),
        &["new", "main", "side"],
    );
}

#[test]
fn retain_keys_clears_the_others() {
    check(
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        "/spec/strategy",
        json!({"type": "Recreate"}),
    );
    let volume = json!({"name": "v", "$retainKeys": ["name", "hostPath"], "emptyDir": null,
        "hostPath": {"path": "/x"}});
    check_pod(
        json!({"volumes": [volume]}),
        "/volumes/0",
        json!({"name": "v", "hostPath": {"path": "/x"}}),
    );
    check_refused(
        json!({"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}}),
        400,
        "invalid patch format of retainKeys",
    );
}

#[test]
fn lists_of_scalars_are_joined() {
    let finalizers = "/metadata/finalizers";
    check(
        json!({"metadata": {"finalizers": ["x/d", "x/a"]}}),
        finalizers,
        json!(["x/d", "x/a", "x/b", "x/c"]),
    );
    check(
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/b"]}}),
        finalizers,
        json!(["x/a", "x/c"]),
    );
    let both = json!({
        "$setElementOrder/finalizers": ["x/c", "x/a"],
        "$deleteFromPrimitiveList/finalizers": ["x/b"],
    });
    check(json!({ "metadata": both }), finalizers, json!(["x/c", "x/a"]));
    check(
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": "x/b"}}),
        finalizers,
        json!(["x/a", "x/b", "x/c"]),
    );
}

#[test]
fn maps_merge_unless_the_schema_says_otherwise() {
    let labels = "/metadata/labels";
    check(
        json!({"metadata": {"labels": {"app": null, "new": "x"}}}),
        labels,
        json!({"new": "x"}),
    );
    check(
        json!({"metadata": {"labels": {"$patch": "replace", "only": "me"}}}),
        labels,
        json!({"only": "me"}),
    );
    check(
        json!({"metadata": {"labels": {"$patch": "delete"}}}),
        labels,
        json!({}),
    );
    check(
        json!({"metadata": {"annotations": {"a": "b", "c": null}}}),
        "/metadata/annotations",
        json!({"a": "b"}),
    );
}

#[test]
fn other_lists_are_replaced() {
    let tolerations = json!([{"key": "a", "operator": "Exists"}]);
    check_pod(json!({"tolerations": tolerations}), "/tolerations", tolerations);
    let object = json!({"spec": {"selector": {"matchLabels": {"a": "1", "b": "2"}}}});
    let patch = json!({"spec": {"selector": {"matchLabels": {"c": "3"}}}});
    let budget = Schema::builtin("policy/v1", "PodDisruptionBudget").expect("a built-in kind");
    assert_eq!(strategic_merge(&budget, &object, &patch), Ok(patch));
}

#[test]
fn invalid_patches_are_refused_with_the_servers_message() {
    let pod = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    check_refused(
        pod(json!({"containers": [{"$patch": "merge"}, {"name": "only"}]})),
        500,
        "merging lists cannot yet be specified in the patch",
    );
    check_refused(
        pod(json!({"containers": [{"$patch": "frob", "name": "only"}]})),
        500,
        "unknown patch type: frob in map: map[$patch:frob name:only]",
    );
    check_refused(
        pod(json!({"containers": [{"image": "y"}]})),
        500,
        "map: map[image:y] does not contain declared merge key: name",
    );
    check_refused(
        json!({"metadata": {"labels": {"$patch": "merge", "a": "b"}}}),
        500,
        "unknown patch type: merge in map: map[$patch:merge a:b]",
    );
    check_refused(
        pod(json!({
            "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
            "containers": [{"name": "other", "image": "n"}],
        })),
        500,
        "The order in patch list:\n[map[image:n name:other]]\n doesn't match $setElementOrder list:\n\
         [map[name:side] map[name:main]]\n",
    );
    check_refused(
        pod(json!({"$setElementOrder/containers": "x"})),
        500,
        "expected a []interface {}, but received a string",
    );
}

#[test]
fn custom_kinds_have_no_strategic_merge() {
    let error = strategic_merge(&Schema::custom(None), &json!({}), &json!({})).expect_err("there is none");
    assert_eq!(
        (error.code(), error.reason()),
        (415, Some("UnsupportedMediaType"))
    );
}
