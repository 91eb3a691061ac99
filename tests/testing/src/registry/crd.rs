//! Reads a CustomResourceDefinition: the resources it serves, and its status once it is served.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ALL_VERBS, Generation, Origin, Resource, ResourceId, ScalePaths, Scope, Subresource};
use crate::object::Object;

/// The served versions of one CustomResourceDefinition.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) id: ResourceId,
    pub(crate) versions: Vec<Resource>,
}

impl Definition {
    /// Reads a definition; `None` if it lacks a group, a kind or a plural name, in which case it serves
    /// nothing.
    pub(crate) fn read(object: &Object) -> Option<Self> {
        let spec = object.get("spec")?;
        let names = spec.get("names")?;
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        let (group, kind, plural) = (text(spec, "group")?, text(names, "kind")?, text(names, "plural")?);
        let scope = match text(spec, "scope").as_deref() {
            Some("Cluster") => Scope::Cluster,
            _ => Scope::Namespaced,
        };
        let id: ResourceId = format!("{plural}.{group}").into();
        let served = |version: &&Value| version.get("served") != Some(&Value::Bool(false));
        let versions = spec
            .get("versions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(served);
        let versions = versions.filter_map(|version| {
            let status = version
                .pointer("/subresources/status")
                .filter(|value| !value.is_null());
            Some(Resource {
                id: id.clone(),
                group: group.clone(),
                version: text(version, "name")?,
                list_kind: text(names, "listKind").unwrap_or_else(|| format!("{kind}List")),
                kind: kind.clone(),
                plural: plural.clone(),
                singular: text(names, "singular").unwrap_or_else(|| kind.to_lowercase()),
                short_names: strings(names.get("shortNames")),
                categories: strings(names.get("categories")),
                scope,
                origin: Origin::Custom,
                verbs: ALL_VERBS,
                status: if status.is_some() {
                    Subresource::Present
                } else {
                    Subresource::Absent
                },
                scale: version.pointer("/subresources/scale").and_then(scale_paths),
                generation: Generation::Everything,
                selectable: selectable(version),
                open_api: version.pointer("/schema/openAPIV3Schema").cloned().map(Arc::new),
            })
        });
        Some(Self {
            id: id.clone(),
            versions: versions.collect(),
        })
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A JSONPath of the simple dotted form, which is the only one that Kubernetes allows here.
fn dotted(path: &str) -> String {
    path.trim_start_matches('.').to_owned()
}

fn scale_paths(scale: &Value) -> Option<ScalePaths> {
    let path = |field: &str| scale.get(field).and_then(Value::as_str).map(dotted);
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

fn selectable(version: &Value) -> Vec<String> {
    let fields = version
        .get("selectableFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    fields
        .filter_map(|field| field.get("jsonPath")?.as_str())
        .map(dotted)
        .collect()
}

/// Returns the status of a served definition.
pub(crate) fn established(object: &Object, now: &str) -> Value {
    let spec = object.get("spec").cloned().unwrap_or_default();
    let mut names = spec.get("names").cloned().unwrap_or_default();
    if let (Some(names), Some(kind)) = (names.as_object_mut(), spec["names"]["kind"].as_str()) {
        names
            .entry("listKind")
            .or_insert_with(|| format!("{kind}List").into());
        names
            .entry("singular")
            .or_insert_with(|| kind.to_lowercase().into());
    }
    let versions = spec
        .get("versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let stored: Vec<&Value> = versions
        .filter(|v| v["storage"] == Value::Bool(true))
        .filter_map(|v| v.get("name"))
        .collect();
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now,
        })
    };
    json!({
        "acceptedNames": names,
        "storedVersions": stored,
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_serves_each_of_its_served_versions() {
        let crd = json!({ "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": { "kind": "Widget", "plural": "widgets", "shortNames": ["wd"] },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "subresources": { "status": {} } },
                { "name": "v1beta1", "served": true, "storage": false },
                { "name": "v1alpha1", "served": false, "storage": false },
            ],
        }});
        let definition = Definition::read(crd.as_object().unwrap()).unwrap();
        let served: Vec<_> = definition
            .versions
            .iter()
            .map(|r| (r.version.as_str(), r.status))
            .collect();
        assert_eq!(
            served,
            [("v1", Subresource::Present), ("v1beta1", Subresource::Absent)]
        );
        assert_eq!(definition.versions[0].list_kind, "WidgetList");
        assert_eq!(
            established(crd.as_object().unwrap(), "t")["storedVersions"],
            json!(["v1"])
        );
    }

    #[test]
    fn a_definition_without_names_serves_nothing() {
        assert!(Definition::read(json!({ "spec": {} }).as_object().unwrap()).is_none());
    }
}
