//! The defaults that clients need; everything else is stored as sent.

use serde_json::{Value, json};

use crate::object::{Object, metadata_mut};
use crate::registry::{Origin, Resource};

/// Sets the defaults that are recorded as set by the creator.
pub(super) fn owned(resource: &Resource, name: &str, object: &mut Object) {
    if resource.origin == Origin::Custom {
        return;
    }
    match &*resource.id {
        "namespaces" => {
            let labels = metadata_mut(object).entry("labels").or_insert_with(|| json!({}));
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".into(), name.into());
            }
        }
        // kubectl describe requires the number of replicas.
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "replicationcontrollers" => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.entry("replicas").or_insert_with(|| 1.into());
            }
        }
        "customresourcedefinitions.apiextensions.k8s.io" => definition(object),
        _ => {}
    }
}

fn definition(object: &mut Object) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion")
        .or_insert_with(|| json!({ "strategy": "None" }));
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) else {
        return;
    };
    names
        .entry("listKind")
        .or_insert_with(|| format!("{kind}List").into());
    names
        .entry("singular")
        .or_insert_with(|| kind.to_lowercase().into());
}

/// Sets the defaults for which no owner is recorded.
pub(super) fn unowned(resource: &Resource, object: &mut Object) {
    match &*resource.id {
        "namespaces" => {
            object.insert("spec".into(), json!({ "finalizers": ["kubernetes"] }));
            object.insert("status".into(), json!({ "phase": "Active" }));
        }
        "pods" => {
            let status = object.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.entry("phase").or_insert_with(|| "Pending".into());
            }
        }
        _ => {}
    }
}
