//! Recognizes schemas of existing types: those of Rust and of k8s-openapi.

use super::model::Basic;
use crate::crd::definition::Schema;

/// A part of the pattern of every quantity, and of no other known pattern.
const QUANTITY_MARK: &str = "[KMGTPE]i";

/// Whether a value is an integer or a string, in either of the spellings: the extension, or `anyOf` without a
/// type.
pub(super) fn is_int_or_string(schema: &Schema) -> bool {
    let types: Vec<Option<&str>> = schema
        .any_of
        .iter()
        .map(|schema| schema.type_.as_deref())
        .collect();
    let is_either = matches!(
        types.as_slice(),
        [Some("integer"), Some("string")] | [Some("string"), Some("integer")]
    );
    schema.int_or_string || (schema.type_.is_none() && is_either)
}

/// Whether an int-or-string has the pattern of a quantity.
pub(super) fn int_or_string(schema: &Schema) -> Basic {
    let pattern = schema.pattern.as_deref().unwrap_or_default();
    if pattern.contains(QUANTITY_MARK) {
        Basic::Quantity
    } else {
        Basic::IntOrString
    }
}

/// The server enforces no format other than `int32`, so all others get the larger type.
pub(super) fn integer(schema: &Schema) -> Basic {
    match schema.format.as_deref() {
        Some("int32") => Basic::I32,
        _ => Basic::I64,
    }
}

/// The type of a string without an enum.
pub(super) fn string(schema: &Schema) -> Basic {
    // Six digits after the dot distinguish the two time types of Kubernetes.
    let pattern = schema.pattern.as_deref().unwrap_or_default();
    match schema.format.as_deref() {
        Some("date-time") if pattern.contains("{6}") => Basic::MicroTime,
        Some("date-time") => Basic::Time,
        Some("byte") => Basic::ByteString,
        _ => Basic::String,
    }
}

/// Whether an object is a condition: it has no properties but those of metav1, at least `status` and `type`,
/// and no null.
///
/// An additional property would be lost. One that is not required is no problem: the type writes no field
/// that was missing.
pub(super) fn is_condition(schema: &Schema) -> bool {
    let is_as_expected = |(name, property): (&String, &Schema)| {
        let expected = match name.as_str() {
            "lastTransitionTime" => ("string", Basic::Time),
            "message" | "reason" | "status" | "type" => ("string", Basic::String),
            "observedGeneration" => ("integer", Basic::I64),
            _ => return false,
        };
        let found = match expected.0 {
            "integer" => integer(property),
            _ => string(property),
        };
        property.type_.as_deref() == Some(expected.0) && found == expected.1 && !property.nullable
    };
    schema.type_.as_deref() == Some("object")
        && !(schema.nullable || schema.preserve_unknown_fields || schema.embedded_resource)
        && ["status", "type"]
            .iter()
            .all(|name| schema.properties.contains_key(*name))
        && schema.properties.iter().all(is_as_expected)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schema(json: Value) -> Schema {
        serde_json::from_value(json).unwrap()
    }

    /// Whether a schema is a condition after `change`.
    fn check_condition(change: impl FnOnce(&mut Schema), expected: bool) {
        let text = json!({ "type": "string" });
        let mut condition = schema(json!({
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "message": text, "reason": text, "status": text, "type": text,
                "observedGeneration": { "type": "integer", "format": "int64" },
            },
        }));
        change(&mut condition);
        assert_eq!(is_condition(&condition), expected);
    }

    #[test]
    fn an_object_is_a_condition_only_if_nothing_is_lost() {
        check_condition(|_| {}, true);
        check_condition(
            |schema| drop(schema.properties.remove("observedGeneration")),
            true,
        );
        check_condition(|schema| drop(schema.properties.remove("reason")), true);
        check_condition(|schema| drop(schema.required.pop()), true);
        check_condition(|schema| drop(schema.properties.remove("type")), false);
        let null = || schema(json!({ "type": "string", "nullable": true }));
        check_condition(
            |schema| drop(schema.properties.insert("reason".to_owned(), null())),
            false,
        );
        check_condition(|schema| schema.nullable = true, false);
        check_condition(|schema| schema.preserve_unknown_fields = true, false);
        let more = || ("severity".to_owned(), schema(json!({ "type": "string" })));
        check_condition(|schema| schema.properties.extend([more()]), false);
        let number = || ("message".to_owned(), schema(json!({ "type": "integer" })));
        check_condition(|schema| schema.properties.extend([number()]), false);
    }

    #[test]
    fn an_integer_or_a_string_has_two_spellings() {
        let check = |json: Value, expected: bool| assert_eq!(is_int_or_string(&schema(json)), expected);
        let either = json!([{ "type": "integer" }, { "type": "string" }]);
        let turned = json!([{ "type": "string" }, { "type": "integer" }]);
        check(json!({ "x-kubernetes-int-or-string": true }), true);
        check(json!({ "anyOf": either }), true);
        check(json!({ "anyOf": turned }), true);
        check(json!({ "type": "string", "anyOf": either }), false);
        check(json!({ "anyOf": [{ "type": "string" }] }), false);
    }
}
