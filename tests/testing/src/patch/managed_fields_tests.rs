//! Field owners after ordinary writes, as kube-apiserver 1.37.1 records them.

use serde_json::{Value, json};

use super::super::scenario::Scenario;
use super::{Part, manager_of};

fn config_map(data: Value) -> Value {
    json!({"metadata": {"name": "c"}, "data": data})
}

#[test]
fn the_creator_owns_what_it_wrote() {
    Scenario::of("v1", "ConfigMap")
        .create("u", config_map(json!({"a": "1"})))
        .owners(&["u*: .data .data.a"]);
    // Structs that are not pointers in Go have no owner: here `.spec`, `.spec.template` and
    // `.spec.template.metadata`.
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "m",
        "image": "i"}]}});
    Scenario::of("apps/v1", "Deployment")
        .create(
            "u",
            json!({"metadata": {"name": "d"}, "spec": {"replicas": 2, "template": template}}),
        )
        .owners(&[
            "u*: .spec.replicas .spec.template.metadata.labels .spec.template.metadata.labels.app \
                   .spec.template.spec.containers[name=\"m\"] \
                   .spec.template.spec.containers[name=\"m\"].image \
                   .spec.template.spec.containers[name=\"m\"].name",
        ]);
}

#[test]
fn identity_and_managed_fields_have_no_owner() {
    let metadata = json!({
        "name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"},
    });
    Scenario::of("v1", "ConfigMap")
        .create("u", json!({ "metadata": metadata }))
        .owners(&["u*: .metadata.labels .metadata.labels.a"]);
}

#[test]
fn a_change_moves_its_field_to_the_writer() {
    Scenario::of("apps/v1", "Deployment")
        .create(
            "tester",
            json!({"metadata": {"name": "d"}, "spec": {"replicas": 2, "paused": true}}),
        )
        .patch("a", Part::AllButStatus, json!({"spec": {"replicas": 4}}))
        .owners(&["tester*: .spec.paused", "a*: .spec.replicas"])
        .patch("b", Part::AllButStatus, json!({"spec": {"replicas": 5}}))
        .owners(&["tester*: .spec.paused", "b*: .spec.replicas"])
        .patch("nobody", Part::AllButStatus, json!({"spec": {"replicas": 5}}))
        .owners(&["tester*: .spec.paused", "b*: .spec.replicas"])
        .patch("c", Part::AllButStatus, json!({"spec": {"replicas": null}}))
        .owners(&["tester*: .spec.paused"]);
}

#[test]
fn a_subresource_has_its_own_entry() {
    let condition = json!({"type": "Available", "status": "True"});
    Scenario::of("apps/v1", "Deployment")
        .create("u", json!({"metadata": {"name": "d"}, "spec": {"replicas": 2}}))
        .patch(
            "u",
            Part::Status,
            json!({"status": {"replicas": 5, "conditions": [condition]}}),
        )
        .owners(&[
            "u*: .spec.replicas",
            "u*/status: .status.conditions .status.conditions[type=\"Available\"] \
             .status.conditions[type=\"Available\"].status .status.conditions[type=\"Available\"].type \
             .status.replicas",
        ])
        .patch("u", Part::Scale, json!({"spec": {"replicas": 3}}))
        .has("/metadata/managedFields/0/subresource", json!("status"))
        .has("/metadata/managedFields/1/subresource", json!("scale"));
}

#[test]
fn an_empty_list_resets_the_record_until_the_next_apply() {
    Scenario::of("v1", "ConfigMap")
        .apply("one", config_map(json!({"a": "1"})))
        .patch("m", Part::Whole, json!({"metadata": {"managedFields": []}}))
        .owners(&[])
        .patch("m", Part::Whole, json!({"data": {"q": "1"}}))
        .owners(&[])
        .force("one", config_map(json!({"a": "2"})))
        .owners(&["one: .data.a", "before-first-apply*: .data .data.q"])
        .patch("m", Part::Whole, json!({"metadata": {"managedFields": [{}]}}))
        .owners(&[]);
}

#[test]
fn malformed_entries_are_replaced_by_those_of_the_live_object() {
    Scenario::of("v1", "ConfigMap")
        .create("u", config_map(json!({"a": "1"})))
        .patch(
            "m",
            Part::Whole,
            json!({"metadata": {"managedFields": [{"manager": "x"}]}}),
        )
        .owners(&["u*: .data .data.a"]);
}

#[test]
fn old_updaters_are_folded_into_one() {
    let mut scenario = Scenario::of("v1", "ConfigMap");
    scenario.create("u0", config_map(json!({"k0": "0"})));
    for number in 1..=11 {
        let patch = json!({"data": {format!("k{number}"): "x"}});
        scenario.patch(&format!("u{number}"), Part::Whole, patch);
    }
    scenario.owners(&[
        "ancient-changes*: .data .data.k0 .data.k1 .data.k2",
        "u3*: .data.k3",
        "u4*: .data.k4",
        "u5*: .data.k5",
        "u6*: .data.k6",
        "u7*: .data.k7",
        "u8*: .data.k8",
        "u9*: .data.k9",
        "u10*: .data.k10",
        "u11*: .data.k11",
    ]);
}

#[test]
fn folding_loses_no_field_whatever_the_order_of_names() {
    let mut scenario = Scenario::of("v1", "ConfigMap");
    scenario.create("a0", config_map(json!({"k0": "0"})));
    for number in 1..=20 {
        // All names sort before `ancient-changes`, and all times are equal.
        scenario.at_the_same_time().patch(
            &format!("a{number}"),
            Part::Whole,
            json!({"data": {format!("k{number}"): "x"}}),
        );
    }
    let entries = scenario
        .object
        .as_ref()
        .and_then(|object| object.pointer("/metadata/managedFields"));
    let entries = entries.and_then(Value::as_array).expect("the object has entries");
    let owned: usize = entries
        .iter()
        .map(|entry| {
            entry["fieldsV1"]["f:data"]
                .as_object()
                .map_or(0, |data| data.len())
        })
        .sum();
    // Every key, and the map itself.
    assert_eq!((entries.len(), owned), (10, 22));
}

#[test]
fn the_user_agent_names_the_manager_up_to_its_slash() {
    assert_eq!(
        manager_of("kubectl/v1.37.1 (linux/amd64) kubernetes/abc"),
        "kubectl"
    );
    assert_eq!(manager_of(""), "");
    assert_eq!(manager_of(&"x".repeat(300)).len(), 128);
}
