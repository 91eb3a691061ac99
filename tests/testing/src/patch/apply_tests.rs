//! Server-side apply as sequences of writes. Objects, owners and messages are those of kube-apiserver 1.37.1.

use serde_json::{Value, json};

use super::super::scenario::Scenario;
use super::{OnConflict, Part, PatchError};

fn config_map(data: Value) -> Value {
    json!({"metadata": {"name": "c"}, "data": data})
}

fn widget(spec: Value) -> Value {
    json!({"metadata": {"name": "w"}, "spec": spec})
}

fn container(image: &str) -> Value {
    json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": [{"name": "main",
        "image": image}]}}}})
}

#[test]
fn fields_go_when_the_last_owner_stops_applying_them() {
    Scenario::of("v1", "ConfigMap")
        .apply("one", config_map(json!({"a": "1", "b": "1"})))
        .owners(&["one: .data.a .data.b"])
        .apply("two", config_map(json!({"a": "1", "c": "1"})))
        .owners(&["one: .data.a .data.b", "two: .data.a .data.c"])
        .apply("one", config_map(json!({"b": "1"})))
        .has("/data", json!({"a": "1", "b": "1", "c": "1"}))
        .owners(&["one: .data.b", "two: .data.a .data.c"])
        .apply("two", config_map(json!({"c": "1"})))
        .has("/data", json!({"b": "1", "c": "1"}))
        .apply("one", config_map(json!({})))
        .has("/data", json!({"c": "1"}))
        .owners(&["two: .data.c", "one: .data"])
        .apply("two", json!({"metadata": {"name": "c"}}))
        .has("/data", Value::Null)
        .owners(&["one: .data"]);
}

#[test]
fn what_others_wrote_stays() {
    Scenario::of("v1", "ConfigMap")
        .apply("one", config_map(json!({"a": "1", "b": "1"})))
        .patch("editor", Part::Whole, json!({"data": {"a": "2", "z": "9"}}))
        .owners(&["one: .data.b", "editor*: .data.a .data.z"])
        .apply("one", config_map(json!({"b": "1"})))
        .has("/data", json!({"a": "2", "b": "1", "z": "9"}))
        .apply("one", config_map(json!({"a": "2", "b": "1"})))
        .owners(&["one: .data.a .data.b", "editor*: .data.a .data.z"])
        .apply("one", config_map(json!({"b": "1"})))
        .has("/data", json!({"a": "2", "b": "1", "z": "9"}));
}

#[test]
fn an_apply_that_changes_nothing_leaves_the_object_as_it_is() {
    let mut scenario = Scenario::of("v1", "ConfigMap");
    scenario.apply("one", config_map(json!({"a": "1"})));
    let before = scenario.object.clone();
    scenario.apply("one", config_map(json!({"a": "1"})));
    assert_eq!(scenario.object, before);
}

#[test]
fn one_conflict_names_its_manager_and_field() {
    let mut scenario = Scenario::of("apps/v1", "Deployment");
    scenario.create(
        "kubectl-client-side-apply",
        json!({"metadata": {"name": "d"}, "spec": {"replicas": 1}}),
    );
    let config = json!({"metadata": {"name": "d"}, "spec": {"replicas": 9}});
    let error = scenario.refused("one", config.clone());
    assert_eq!(
        error.to_status(),
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" \
                        using apps/v1: .spec.replicas",
            "reason": "Conflict",
            "details": {"causes": [{
                "reason": "FieldManagerConflict",
                "message": "conflict with \"kubectl-client-side-apply\" using apps/v1",
                "field": ".spec.replicas",
            }]},
            "code": 409,
        })
    );
    scenario
        .force("one", config)
        .has("/spec/replicas", json!(9))
        .owners(&["one: .spec.replicas"]);
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let mut scenario = Scenario::of("v1", "ConfigMap");
    scenario
        .apply("one", config_map(json!({"a": "1", "b": "1"})))
        .apply("two", config_map(json!({"c": "1"})));
    let config = config_map(json!({"a": "2", "b": "2", "c": "2"}));
    assert_eq!(
        scenario.refused("three", config.clone()).to_string(),
        "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.a\n- .data.b\n\
         conflicts with \"two\":\n- .data.c"
    );
    scenario
        .force("three", config)
        .owners(&["three: .data.a .data.b .data.c"]);
}

#[test]
fn items_of_built_in_lists_are_applied_by_their_keys() {
    let mut scenario = Scenario::of("apps/v1", "Deployment");
    scenario.create("creator", container("nginx:1"));
    assert_eq!(
        scenario.refused("one", container("z")).to_string(),
        "Apply failed with 1 conflict: conflict with \"creator\" using apps/v1: \
         .spec.template.spec.containers[name=\"main\"].image"
    );
    let port = |protocol: Value| {
        let port = json!({"containerPort": 80, "protocol": protocol, "name": "p"});
        json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": [
            {"name": "side", "image": "y", "ports": [port]},
        ]}}}})
    };
    let containers = "/spec/template/spec/containers";
    scenario
        .apply("one", port(json!("TCP")))
        .has(&format!("{containers}/1/name"), json!("side"))
        .apply("one", port(json!("UDP")))
        .has(
            &format!("{containers}/1/ports"),
            json!([{"containerPort": 80, "protocol": "UDP", "name": "p"}]),
        )
        .apply("one", json!({"metadata": {"name": "d"}}))
        .has(containers, json!([{"name": "main", "image": "nginx:1"}]));
}

#[test]
fn finalizers_are_a_set_and_labels_a_map() {
    let with = |labels: Value, finalizers: Value| {
        json!({"metadata": {"name": "c", "labels": labels,
        "finalizers": finalizers}})
    };
    Scenario::of("v1", "ConfigMap")
        .apply("one", with(json!({"x": "1"}), json!(["x/a"])))
        .owners(&["one: .metadata.finalizers[=\"x/a\"] .metadata.labels.x"])
        .apply("two", with(json!({"z": "1"}), json!(["x/b"])))
        .has("/metadata/finalizers", json!(["x/a", "x/b"]))
        .apply("one", json!({"metadata": {"name": "c", "labels": {"x": "2"}}}))
        .has("/metadata/finalizers", json!(["x/b"]))
        .has("/metadata/labels", json!({"x": "2", "z": "1"}));
}

#[test]
fn lists_of_custom_kinds_follow_their_schema() {
    let first = json!({
        "size": 1, "plain": ["a"], "tags": ["x", "y"], "parts": [{"id": "1", "weight": 1}, {"id": "2"}],
        "free": {"deep": {"er": [1, 2]}, "n": 1}, "whole": {"a": "1"}, "entries": {"e": {"x": "1"}},
    });
    let second = json!({
        "tags": ["z"], "parts": [{"id": "2", "weight": 5}, {"id": "3", "inner": {"a": "1"}}],
        "entries": {"f": {"x": "2"}},
    });
    let third = json!({"plain": ["a", "b"], "whole": {"b": "2"}, "free": {"deep": {"more": 1}}});
    let mut scenario = Scenario::of_widget();
    scenario
        .apply("one", widget(first))
        .owners(&[
            "one: .spec.entries.e .spec.entries.e.x .spec.free.deep .spec.free.deep.er .spec.free.n \
                   .spec.parts[id=\"1\"] .spec.parts[id=\"1\"].id .spec.parts[id=\"1\"].weight \
                   .spec.parts[id=\"2\"] .spec.parts[id=\"2\"].id .spec.plain .spec.size .spec.tags[=\"x\"] \
                   .spec.tags[=\"y\"] .spec.whole",
        ])
        .apply("two", widget(second))
        .has("/spec/tags", json!(["x", "y", "z"]))
        .has(
            "/spec/parts",
            json!([{"id": "1", "weight": 1}, {"id": "2", "weight": 5}, {"id": "3", "inner": {"a": "1"}}]),
        );
    assert_eq!(
        scenario.refused("two", widget(third.clone())).to_string(),
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.plain\n- .spec.whole"
    );
    scenario
        .force("two", widget(third))
        .has("/spec/whole", json!({"b": "2"}))
        .has("/spec/parts", json!([{"id": "1", "weight": 1}, {"id": "2"}]))
        .has("/spec/free", json!({"deep": {"er": [1, 2], "more": 1}, "n": 1}))
        .apply(
            "one",
            widget(json!({"size": 1, "parts": [{"id": "3", "inner": {"b": "1"}}, {"id": "1"}]})),
        )
        .has(
            "/spec/parts",
            json!([{"id": "3", "inner": {"b": "1"}}, {"id": "1"}]),
        )
        .apply("one", widget(json!({})))
        .has(
            "/spec",
            json!({"plain": ["a", "b"], "whole": {"b": "2"}, "free": {"deep": {"more": 1}}}),
        )
        .owners(&[
            "two: .spec.free.deep .spec.free.deep.more .spec.plain .spec.whole",
            "one: .spec",
        ]);
}

#[test]
fn an_endpoint_applies_only_its_own_part() {
    let config = json!({"metadata": {"name": "w", "labels": {"no": "1"}}, "spec": {"size": 9},
        "status": {"count": 2}});
    let mut scenario = Scenario::of_widget();
    scenario.apply("one", config.clone()).has("/status", Value::Null);
    scenario
        .try_apply("ctl", Part::Status, OnConflict::Refuse, config)
        .expect("no conflict");
    scenario
        .has("/status", json!({"count": 2}))
        .owners(&["one: .metadata.labels.no .spec.size", "ctl/status: .status.count"]);
}

#[test]
fn configurations_that_cannot_be_applied_are_refused() {
    let check = |config: Value, expected: PatchError| {
        let mut scenario = Scenario::of_widget();
        assert_eq!(scenario.refused("one", config), expected);
    };
    let prefix = "failed to create typed patch object (/w; example.com/v1, Kind=Widget)";
    check(
        widget(json!({"tags": ["x", "x"]})),
        PatchError::Internal(format!(
            "{prefix}: .spec.tags: duplicate entries for key [=\"x\"]"
        )),
    );
    check(
        widget(json!({"parts": [{"weight": 1}]})),
        PatchError::Internal(format!(
            "{prefix}: .spec.parts: element 0: associative list with keys has an element that omits all key \
             fields [\"id\"] (and doesn't have default values for any key fields)"
        )),
    );
    check(
        json!({"metadata": {"name": "w", "managedFields": []}}),
        PatchError::BadRequest("metadata.managedFields must be nil".to_owned()),
    );
}

#[test]
fn another_kind_than_that_of_the_endpoint_is_refused() {
    let check = |config: Value, expected: &str| {
        let schema = crate::schema::Schema::builtin("v1", "ConfigMap").expect("a built-in kind");
        let write = super::Write {
            manager: "one",
            api_version: "v1",
            part: Part::Whole,
            time: "2026-01-01T00:00:00Z",
        };
        let request = super::Apply {
            kind: "ConfigMap",
            write,
            on_conflict: OnConflict::Refuse,
        };
        let error = super::apply(&schema, None, &config, &request).expect_err("the kind is wrong");
        assert_eq!((error.code(), error.to_string().as_str()), (400, expected));
    };
    check(
        json!({"apiVersion": "v1", "kind": "Secret"}),
        "invalid object type: /v1, Kind=Secret",
    );
    check(
        json!({"apiVersion": "apps/v1", "kind": "ConfigMap"}),
        "invalid object type: apps/v1, Kind=ConfigMap",
    );
    check(json!({}), "invalid object type: /, Kind=");
}

#[test]
fn kubectl_takes_over_what_client_side_apply_set() {
    const ANNOTATION: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
    let last = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "1"},
    });
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last.to_string()});
    let live = json!({"metadata": {"name": "c", "annotations": annotations}, "data": {"a": "1", "b": "1"}});
    let mut scenario = Scenario::of("v1", "ConfigMap");
    scenario.create("kubectl-client-side-apply", live);
    let config = config_map(json!({"a": "2", "b": "1"}));
    assert!(matches!(
        scenario.refused("other", config.clone()),
        PatchError::Conflict { .. }
    ));
    scenario.apply("kubectl", config).has("/data/a", json!("2"));
    let annotation = scenario
        .object
        .as_ref()
        .and_then(|object| object.pointer(ANNOTATION))
        .and_then(Value::as_str);
    let annotation: Value =
        serde_json::from_str(annotation.expect("the annotation still exists")).expect("it is JSON");
    assert_eq!(annotation["data"], json!({"a": "2", "b": "1"}));
    scenario.patch("editor", Part::Whole, json!({"data": {"b": "7"}}));
    assert_eq!(
        scenario
            .refused("kubectl", config_map(json!({"b": "8"})))
            .to_string(),
        "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.b"
    );
}
