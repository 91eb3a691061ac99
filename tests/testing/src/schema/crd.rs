//! The schema of a custom kind, read from the structural schema in its definition.

use std::sync::Arc;

use serde_json::Value;

use super::{FREE, Granularity, ListKey, ListRule, Origin, Others, PLAIN, Schema, Type, TypeId, table};

pub(super) fn convert(open_api: Option<&Value>) -> Schema {
    let (types, object_meta) = table::object_meta();
    let mut conversion = Conversion { types, object_meta };
    let mut root = match open_api {
        Some(schema) => conversion.convert(schema),
        None => conversion.types[FREE].clone(),
    };
    // Metadata has the same schema for every kind; the definition cannot change it.
    root.fields.insert("metadata".to_owned(), object_meta);
    for field in ["apiVersion", "kind"] {
        root.fields.insert(field.to_owned(), PLAIN);
    }
    let root = conversion.add(root);
    Schema {
        types: Arc::new(conversion.types),
        root,
        origin: Origin::Custom,
    }
}

struct Conversion {
    types: Vec<Type>,
    object_meta: TypeId,
}

impl Conversion {
    fn add(&mut self, kind: Type) -> TypeId {
        self.types.push(kind);
        self.types.len() - 1
    }

    fn convert_and_add(&mut self, schema: &Value) -> TypeId {
        let kind = self.convert(schema);
        self.add(kind)
    }

    /// The recursion is bounded: serde_json parsed the schema with its limit of 128 levels.
    fn convert(&mut self, schema: &Value) -> Type {
        let mut kind = Type::plain();
        let is = |name: &str| schema[name].as_bool() == Some(true);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            kind.fields.insert(name.clone(), self.convert_and_add(property));
        }
        if is("x-kubernetes-preserve-unknown-fields") {
            kind.others = Others::Entries(FREE);
        } else if schema["additionalProperties"].is_object() {
            kind.others = Others::Entries(self.convert_and_add(&schema["additionalProperties"]));
        }
        if is("x-kubernetes-embedded-resource") {
            kind.fields.insert("metadata".to_owned(), self.object_meta);
        }
        if schema["x-kubernetes-map-type"] == "atomic" {
            kind.object = Granularity::Atomic;
        }
        if schema["items"].is_object() {
            kind.item = self.convert_and_add(&schema["items"]);
        }
        kind.list = match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => ListRule::Set,
            Some("map") => ListRule::Keyed(list_keys(schema)),
            _ => ListRule::Atomic,
        };
        kind
    }
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
