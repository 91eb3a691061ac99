//! The generated fields as a flat list, to compare two schemas field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::definition::{Definition, Version};
use super::types::model::{self, Basic, Enum, Item, Model, Struct, Type};
use super::types::reuse::Conditions;
use super::types::{self, SchemaError};
use crate::names::{Names, schema as names};

/// The fields of a kind in one version, sorted by path.
///
/// Two shapes are equal exactly when the types generated for them read and write the same objects in the same
/// fields; descriptions and rules about values do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Every field except those of `metadata`, sorted by path.
    pub fields: Vec<ShapeField>,
}

/// One field of a [`Shape`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShapeField {
    /// Its path: `spec.template.containers[].image`, `spec.labels{}.name` below the values of a map, and
    /// `spec.*` for unknown properties that are kept.
    pub path: String,
    /// Its type as text: `string`, `int32`, `array of object`, `one of "A", "B"`.
    pub type_: String,
    /// Whether it may be missing.
    pub presence: Presence,
}

/// Whether a field may be missing. Null is part of the type: `string or null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// It is always present.
    Required,
    /// It may be missing.
    Optional,
}

/// The shape of the types that [`types`](types::types) would generate.
///
/// # Errors
///
/// The same as those of [`types`](types::types).
pub fn shape(definition: &Definition, version: &Version) -> Result<Shape, SchemaError> {
    let model = types::model(definition, version, Conditions::Common)?;
    let mut shape = Shape::default();
    add_struct(&mut shape, &model, &model.root, "");
    shape.fields.sort();
    Ok(shape)
}

fn add_struct(shape: &mut Shape, model: &Model, item: &Struct, path: &str) {
    let dot = if path.is_empty() { "" } else { "." };
    for field in &item.fields {
        let path = format!("{path}{dot}{}", field.json);
        let type_ = spoken(model, &field.type_);
        let (presence, type_) = match field.presence {
            model::Presence::Required | model::Presence::UnlessNull => (Presence::Required, type_),
            model::Presence::Optional => (Presence::Optional, type_),
            model::Presence::RequiredNullable if field.type_.holds_null() => (Presence::Required, type_),
            model::Presence::RequiredNullable => (Presence::Required, type_ + OR_NULL),
            model::Presence::OptionalNullable => (Presence::Optional, type_ + OR_NULL),
        };
        shape.fields.push(ShapeField {
            path: path.clone(),
            type_,
            presence,
        });
        add_below(shape, model, &field.type_, &path);
    }
    if item.rest.is_some() {
        shape.fields.push(ShapeField {
            path: format!("{path}{dot}*"),
            type_: "any value".to_owned(),
            presence: Presence::Optional,
        });
    }
}

fn add_below(shape: &mut Shape, model: &Model, type_: &Type, path: &str) {
    match type_ {
        Type::Array(element) => add_below(shape, model, element, &format!("{path}[]")),
        Type::Map(value) => add_below(shape, model, value, &format!("{path}{{}}")),
        Type::Nullable(value) => add_below(shape, model, value, path),
        Type::Item(place) => {
            if let Some(Item::Struct(item)) = model.items.get(*place) {
                add_struct(shape, model, item, path);
            }
        }
        Type::Basic(_) | Type::Reused(_) => {}
    }
}

/// The suffix of types that allow null.
const OR_NULL: &str = " or null";

/// The prefix of the values of an enum.
const ONE_OF: &str = "one of ";

/// The value of each variant of an enum, or of an enum in a list or map, from the text of its type.
pub(super) fn variants(type_: &str) -> BTreeMap<String, String> {
    let values = type_.split_once(ONE_OF).map_or("", |(_, values)| values);
    let mut values = values;
    while let Some(shorter) = values.strip_suffix(OR_NULL) {
        values = shorter;
    }
    let values: Vec<String> = serde_json::from_str(&format!("[{values}]")).unwrap_or_default();
    let given = names::variants(
        &mut Names::default(),
        &values.iter().map(String::as_str).collect(),
    );
    let by_name = given.into_iter().map(|(value, name)| (name, value.to_owned()));
    by_name.collect()
}

/// A type as text.
fn spoken(model: &Model, type_: &Type) -> String {
    match type_ {
        Type::Basic(basic) => spoken_basic(*basic).to_owned(),
        Type::Array(element) => format!("array of {}", spoken(model, element)),
        Type::Map(value) => format!("map of {}", spoken(model, value)),
        Type::Nullable(value) => spoken(model, value) + OR_NULL,
        Type::Reused(_) => "object".to_owned(),
        Type::Item(place) => match model.items.get(*place) {
            Some(Item::Enum(Enum { variants, .. })) => {
                // The order in the schema has no meaning.
                let values: BTreeSet<&str> = variants.iter().map(|variant| variant.value.as_str()).collect();
                // As JSON, which `variants` reads.
                let values = values.iter().map(|value| Value::from(*value).to_string());
                format!("{ONE_OF}{}", values.collect::<Vec<_>>().join(", "))
            }
            _ => "object".to_owned(),
        },
    }
}

fn spoken_basic(basic: Basic) -> &'static str {
    match basic {
        Basic::Bool => "boolean",
        Basic::I32 => "int32",
        Basic::I64 => "int64",
        Basic::Number => "number",
        Basic::String => "string",
        Basic::ByteString => "bytes",
        Basic::Time => "time",
        Basic::MicroTime => "time in microseconds",
        Basic::IntOrString => "integer or string",
        Basic::Quantity => "quantity",
        Basic::Value => "any value",
        Basic::Condition => "condition",
        Basic::ObjectMeta => "metadata",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(schema: Value) -> Definition {
        let version =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        let names = json!({ "kind": "Foo", "plural": "foos" });
        let spec =
            json!({ "group": "example.com", "names": names, "scope": "Cluster", "versions": [version] });
        serde_json::from_value(json!({ "spec": spec })).unwrap()
    }

    fn lines(schema: Value) -> Vec<String> {
        let definition = definition(schema);
        let shape = shape(&definition, &definition.versions[0]).unwrap();
        let line = |field: &ShapeField| format!("{}: {} ({:?})", field.path, field.type_, field.presence);
        shape.fields.iter().map(line).collect()
    }

    #[test]
    fn every_nested_field_has_a_line() {
        let number = json!({ "type": "integer", "format": "int32" });
        let port = json!({ "type": "object", "required": ["number"], "properties": { "number": number } });
        let schema = json!({ "type": "object", "required": ["spec"],
            "properties": { "metadata": { "type": "object" }, "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "ports": { "type": "array", "items": port },
                "byName": { "type": "object", "additionalProperties": port },
                "mode": { "type": "string", "enum": ["A", ""] },
                "maybe": { "type": "string", "nullable": true, "default": "x" },
            }
        } } });
        assert_eq!(
            lines(schema),
            [
                "spec: object (Required)",
                "spec.*: any value (Optional)",
                "spec.byName: map of object (Optional)",
                "spec.byName{}.number: int32 (Required)",
                "spec.maybe: string or null (Optional)",
                "spec.mode: one of \"\", \"A\" (Optional)",
                "spec.ports: array of object (Optional)",
                "spec.ports[].number: int32 (Required)",
            ]
        );
    }

    #[test]
    fn the_order_of_the_values_of_an_enum_does_not_count() {
        let of = |values: Value| {
            let mode = json!({ "type": "string", "enum": values });
            lines(json!({ "type": "object", "properties": { "mode": mode } }))
        };
        assert_eq!(of(json!(["B", "A", ""])), of(json!(["", "A", "B"])));
        assert_ne!(of(json!(["B", "A"])), of(json!(["A", "C"])));
    }

    #[test]
    fn the_variants_of_an_enum_follow_from_the_text_of_its_type() {
        let of = |values: Value| {
            let mode = json!({ "type": "string", "enum": values, "nullable": true });
            let list = json!({ "type": "array", "items": mode });
            let lines = lines(json!({ "type": "object", "properties": { "modes": list } }));
            let found = variants(lines[0].trim_end_matches(" (Optional)"));
            let found = found.iter().map(|(name, value)| format!("{name}={value}"));
            found.collect::<Vec<_>>()
        };
        assert_eq!(of(json!(["replace"])), ["Replace=replace"]);
        assert_eq!(
            of(json!(["replace", "Replace", "or null", "a\"b, one of"])),
            [
                "ABOneOf=a\"b, one of",
                "OrNull=or null",
                "Replace=Replace",
                "Replace2=replace"
            ]
        );
        assert_eq!(variants("string or null"), BTreeMap::new());
    }

    #[test]
    fn descriptions_and_validation_rules_do_not_count() {
        let one = json!({ "type": "object", "properties": { "size": { "type": "integer", "minimum": 1,
            "description": "a" } } });
        let other = json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": 9,
            "format": "int64" } } });
        assert_eq!(lines(one), lines(other));
    }
}
