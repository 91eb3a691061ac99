//! Schemas that stand for types which exist already: Rust's own and those of k8s-openapi.

use super::model::Basic;
use crate::crd::definition::Schema;

/// In the pattern of every quantity, and in no other known one.
const QUANTITY_MARK: &str = "[KMGTPE]i";

/// Whether a value is an integer or a string, in either of the spellings: the extension, or `anyOf` without a type.
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

/// A quantity is an int-or-string with the pattern of one.
pub(super) fn int_or_string(schema: &Schema) -> Basic {
    let pattern = schema.pattern.as_deref().unwrap_or_default();
    if pattern.contains(QUANTITY_MARK) {
        Basic::Quantity
    } else {
        Basic::IntOrString
    }
}

/// Formats other than `int32` are not enforced by the server, so they get the type that has room for all.
pub(super) fn integer(schema: &Schema) -> Basic {
    match schema.format.as_deref() {
        Some("int32") => Basic::I32,
        _ => Basic::I64,
    }
}

pub(super) fn number(schema: &Schema) -> Basic {
    match schema.format.as_deref() {
        Some("float") => Basic::F32,
        _ => Basic::F64,
    }
}

/// A string that is not one of some values.
pub(super) fn string(schema: &Schema) -> Basic {
    // Six digits after the dot are what tells the two times of Kubernetes apart.
    let pattern = schema.pattern.as_deref().unwrap_or_default();
    match schema.format.as_deref() {
        Some("date-time") if pattern.contains("{6}") => Basic::MicroTime,
        Some("date-time") => Basic::Time,
        Some("byte") => Basic::ByteString,
        _ => Basic::String,
    }
}

/// Whether an object is a condition as metav1 has it: the same properties, none more, and all but the generation required.
///
/// One more property would be lost, and one that is not required would be written where it was missing.
pub(super) fn is_condition(schema: &Schema) -> bool {
    const REQUIRED: [&str; 5] = ["lastTransitionTime", "message", "reason", "status", "type"];
    let is_required = |name: &&str| schema.required.iter().any(|required| required == name);
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
        && REQUIRED
            .iter()
            .all(|name| is_required(name) && schema.properties.contains_key(*name))
        && schema.properties.iter().all(is_as_expected)
}
