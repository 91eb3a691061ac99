//! Structural schemas of custom resources: what the API server removes from an object, and random objects.
//!
//! A test of types for a custom resource needs no server: [`prune`] gives the object as a server would return
//! it, [`Fuzzer`] makes objects of a schema, and [`differences`] compares what was read with what was
//! written. Schemas are the JSON of `openAPIV3Schema`.

mod compare;
mod fuzz;

use serde_json::{Map, Value};

pub use self::compare::differences;
pub use self::fuzz::{Fuzzer, Variation};

/// Properties of every object, which no schema has to name.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes what the API server removes before it stores an object: properties that the schema does not name,
/// unless it preserves them, and nulls where the schema does not allow null.
///
/// The rules are those of `pruning.Prune` and `defaulting.PruneNonNullableNullsWithoutDefaults` of
/// apiextensions-apiserver. A null that has a default is removed as well: the server replaces it by the
/// default, as if it were missing. Metadata are not changed.
pub fn prune(object: &mut Value, schema: &Value) {
    let mut kept = Map::new();
    if let Value::Object(fields) = object {
        kept.extend(META.iter().filter_map(|name| fields.remove_entry(*name)));
    }
    unknown(object, Some(schema));
    nulls(object, Some(schema));
    if let Value::Object(fields) = object {
        fields.extend(kept);
    }
}

/// A keyword of a schema that is a boolean.
fn is(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

fn preserves(schema: &Value) -> bool {
    is(schema, "x-kubernetes-preserve-unknown-fields")
}

fn is_embedded(schema: &Value) -> bool {
    is(schema, "x-kubernetes-embedded-resource")
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The schema of the values of a map; `None` within if they may be anything.
fn additional(schema: &Value) -> Option<Option<&Value>> {
    match schema.get("additionalProperties") {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(None),
        Some(values) => Some(Some(values)),
    }
}

fn default(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}

/// The names of the required properties.
fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn unknown(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(fields) => {
            let Some(schema) = schema else {
                fields.clear();
                return;
            };
            fields.retain(|name, value| {
                if is_embedded(schema) && META.contains(&name.as_str()) {
                    return true;
                }
                if let Some(property) = properties(schema).and_then(|all| all.get(name)) {
                    unknown(value, Some(property));
                } else if let Some(values) = additional(schema) {
                    unknown(value, values);
                } else if !preserves(schema) {
                    return false;
                }
                true
            });
        }
        Value::Array(elements) => {
            let items = schema.and_then(|schema| schema.get("items"));
            if !schema.is_some_and(preserves) {
                elements.iter_mut().for_each(|element| unknown(element, items));
            } else if let Some(items) = items {
                // What an array preserves, its elements preserve too.
                let mut items = items.clone();
                items["x-kubernetes-preserve-unknown-fields"] = true.into();
                elements
                    .iter_mut()
                    .for_each(|element| unknown(element, Some(&items)));
            }
        }
        _ => {}
    }
}

fn nulls(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let property = schema.and_then(|schema| match properties(schema).and_then(|all| all.get(name)) {
                Some(property) => Some(property),
                None => additional(schema).flatten(),
            });
            let is_lost = value.is_null() && property.is_some_and(|property| !is(property, "nullable"));
            nulls(value, property);
            !is_lost
        }),
        Value::Array(elements) => {
            let items = schema.and_then(|schema| schema.get("items"));
            elements.iter_mut().for_each(|element| nulls(element, items));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, object: Value, expected: Value) {
        let mut pruned = object;
        prune(&mut pruned, &schema);
        assert_eq!(pruned, expected);
    }

    #[test]
    fn unknown_properties_are_removed_unless_they_are_preserved() {
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "known": { "type": "object", "properties": { "a": { "type": "string" } } },
                "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": { "closed": { "type": "object" } } },
                "map": { "type": "object", "additionalProperties": { "type": "object" } },
                "list": { "type": "array", "items": { "type": "object" } },
                "inner": { "type": "object", "x-kubernetes-embedded-resource": true },
            } },
        } });
        check(
            schema,
            json!({ "apiVersion": "v1", "kind": "A", "metadata": { "x": 1 }, "extra": 1, "spec": {
                "known": { "a": "1", "b": "2" }, "open": { "any": { "thing": 1 }, "closed": { "c": 1 } },
                "map": { "k": { "c": 1 } }, "list": [{ "c": 1 }],
                "inner": { "apiVersion": "v1", "c": 1 },
            } }),
            json!({ "apiVersion": "v1", "kind": "A", "metadata": { "x": 1 }, "spec": {
                "known": { "a": "1" }, "open": { "any": { "thing": 1 }, "closed": {} },
                "map": { "k": {} }, "list": [{}],
                "inner": { "apiVersion": "v1" },
            } }),
        );
    }

    #[test]
    fn nulls_are_removed_unless_they_are_allowed_or_unknown() {
        let text = json!({ "type": "string" });
        let nullable = json!({ "type": "string", "nullable": true });
        let with_default = json!({ "type": "string", "default": "x" });
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "a": text, "b": nullable, "c": with_default,
            "map": { "type": "object", "additionalProperties": text },
        } });
        check(
            schema,
            json!({ "a": null, "b": null, "c": null, "map": { "k": null }, "unknown": null }),
            json!({ "b": null, "map": {}, "unknown": null }),
        );
    }
}
