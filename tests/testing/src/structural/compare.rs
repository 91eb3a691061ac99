//! Compares an object that was read with the one that was written.

use serde_json::Value;

use super::{additional, default, is, properties, required};

/// The paths at which an object was changed by reading and writing it: `spec.a[0].b was lost`.
///
/// One change is not reported, because schemas that allow null everywhere are common and a server treats both
/// alike: a null that is missing afterwards, if the property is optional and nullable and has no default, or
/// is the status.
pub fn differences(before: &Value, after: &Value, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(before, after, Some(schema), "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, schema: Option<&Value>, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let path = join(path, name);
                match other.get(name) {
                    Some(after) => compare(value, after, below(schema, name), &path, found),
                    None if value.is_null() && may_lose_null(schema, name, &path) => {}
                    None => found.push(format!("{path} was lost")),
                }
            }
            let added = other.keys().filter(|name| !one.contains_key(*name));
            found.extend(added.map(|name| format!("{} was added", join(path, name))));
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let items = schema.and_then(|schema| schema.get("items"));
            for (place, (before, after)) in one.iter().zip(other).enumerate() {
                compare(before, after, items, &format!("{path}[{place}]"), found);
            }
        }
        _ if before == after => {}
        _ => found.push(format!("{path} was changed")),
    }
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn below<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let schema = schema?;
    match properties(schema).and_then(|all| all.get(name)) {
        Some(property) => Some(property),
        None => additional(schema).flatten(),
    }
}

fn may_lose_null(schema: Option<&Value>, name: &str, path: &str) -> bool {
    let is_optional = schema.is_some_and(|schema| !required(schema).any(|required| required == name));
    let allows = |property: &Value| is(property, "nullable") && default(property).is_none();
    path == "status" || (is_optional && below(schema, name).is_some_and(allows))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lost_added_and_changed_values_are_found() {
        let nullable = json!({ "type": "string", "nullable": true });
        let properties = json!({ "maybe": nullable, "must": nullable });
        let schema = json!({ "type": "object", "required": ["must"], "properties": properties });
        let check = |before: Value, after: Value, expected: &[&str]| {
            assert_eq!(differences(&before, &after, &schema), expected);
        };
        check(json!({ "maybe": null }), json!({}), &[]);
        check(json!({ "must": null }), json!({}), &["must was lost"]);
        check(json!({}), json!({ "maybe": "x" }), &["maybe was added"]);
        check(
            json!({ "a": [{ "b": 3 }] }),
            json!({ "a": [{ "b": 3.0 }] }),
            &["a[0].b was changed"],
        );
        check(json!({ "a": [] }), json!({ "a": [1] }), &["a was changed"]);
    }
}
