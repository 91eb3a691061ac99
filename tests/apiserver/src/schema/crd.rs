//! The schema of a custom kind, read from the structural schema in its definition.

use std::sync::Arc;

use serde_json::Value;

use super::{FREE, Granularity, ListKey, ListRule, Origin, Others, PLAIN, Schema, Type, TypeId, table};

pub(super) fn convert(open_api: Option<&Value>) -> Schema {
    // Built-in types come first, for the metadata every object has.
    let mut types = table::types();
    let mut root = match open_api {
        Some(schema) => object_or_list(schema, &mut types),
        None => types[FREE].clone(),
    };
    // Whatever the definition says about metadata, it is the metadata of every object.
    root.fields.insert("metadata".to_owned(), table::object_meta());
    for field in ["apiVersion", "kind"] {
        root.fields.insert(field.to_owned(), PLAIN);
    }
    let root_id = types.len();
    types.push(root);
    Schema {
        types: Arc::new(types),
        root: root_id,
        origin: Origin::Custom,
    }
}

fn add(schema: &Value, types: &mut Vec<Type>) -> TypeId {
    let kind = object_or_list(schema, types);
    types.push(kind);
    types.len() - 1
}

/// Recursion is as deep as the schema; its text was parsed with serde_json's limit of 128 levels.
fn object_or_list(schema: &Value, types: &mut Vec<Type>) -> Type {
    let mut kind = Type::plain();
    let is = |name: &str| schema[name].as_bool() == Some(true);
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            let id = add(property, types);
            kind.fields.insert(name.clone(), id);
        }
    }
    if is("x-kubernetes-preserve-unknown-fields") {
        kind.others = Others::Entries(FREE);
    } else if schema["additionalProperties"].is_object() {
        kind.others = Others::Entries(add(&schema["additionalProperties"], types));
    }
    if is("x-kubernetes-embedded-resource") {
        kind.fields.insert("metadata".to_owned(), table::object_meta());
    }
    if schema["x-kubernetes-map-type"] == "atomic" {
        kind.object = Granularity::Atomic;
    }
    if schema["items"].is_object() {
        kind.item = add(&schema["items"], types);
    }
    kind.list = match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => ListRule::Set,
        Some("map") => ListRule::Keyed(list_keys(schema)),
        _ => ListRule::Atomic,
    };
    kind
}

fn list_keys(schema: &Value) -> Vec<ListKey> {
    let names = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let default = |name: &str| {
        schema["items"]["properties"][name]["default"]
            .as_str()
            .map(str::to_owned)
    };
    names
        .map(|name| ListKey {
            name: name.to_owned(),
            default: default(name),
        })
        .collect()
}
