//! Changes the schemas of definitions before types are generated: fields as raw values, or fewer fields.

use super::TreeError;
use super::options::{FieldPath, Style};
use crate::crd::definition::{Schema, Subschema};
use crate::crd::read::Found;

/// The definitions with the schemas that `style` asks for.
///
/// # Errors
/// If a path names no field.
pub(super) fn trim(found: &[Found], style: &Style) -> Result<Vec<Found>, TreeError> {
    for (option, paths) in [("--skip", &style.skip), ("--only", &style.only)] {
        for path in paths {
            check(found, path, option)?;
        }
    }
    let mut trimmed = found.to_vec();
    for found in &mut trimmed {
        let name = found.definition.name();
        let versions = found.definition.versions.iter_mut();
        for schema in versions.filter_map(|version| version.schema.as_mut()) {
            for path in style.skip.iter().filter(|path| path.is_of(&name)) {
                if let Some(field) = at_mut(schema, &path.steps) {
                    make_raw(field);
                }
            }
            if !style.only.is_empty() {
                let paths = style.only.iter().filter(|path| path.is_of(&name));
                keep(
                    schema,
                    &paths.map(|path| path.steps.as_slice()).collect::<Vec<_>>(),
                );
            }
        }
    }
    for index in &style.indexes {
        check(&trimmed, &index.field, "--index")?;
    }
    Ok(trimmed)
}

impl FieldPath {
    /// Whether it is of this definition.
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.definition
            .as_deref()
            .is_none_or(|definition| definition == name)
    }
}

/// Whether a path names a field of any version.
fn check(found: &[Found], path: &FieldPath, option: &'static str) -> Result<(), TreeError> {
    let mut versions = found
        .iter()
        .filter(|found| path.is_of(&found.definition.name()))
        .flat_map(|found| found.definition.versions.iter().filter(|version| version.served))
        .filter_map(|version| version.schema.as_ref());
    match versions.any(|schema| at(schema, &path.steps).is_some()) {
        true => Ok(()),
        false => Err(TreeError::UnknownField {
            option,
            path: path.to_string(),
        }),
    }
}

/// The values of an array or a map, through several levels.
fn inner(schema: &Schema) -> &Schema {
    match (&schema.items, &schema.additional_properties) {
        (Some(Subschema::Schema(inner)), _) | (_, Some(Subschema::Schema(inner))) => self::inner(inner),
        _ => schema,
    }
}

fn inner_mut(schema: &mut Schema) -> &mut Schema {
    let is_array = matches!(schema.items, Some(Subschema::Schema(_)));
    let is_map = matches!(schema.additional_properties, Some(Subschema::Schema(_)));
    match (is_array, is_map) {
        (true, _) => match &mut schema.items {
            Some(Subschema::Schema(inner)) => inner_mut(inner),
            _ => unreachable!("it is an array"),
        },
        (false, true) => match &mut schema.additional_properties {
            Some(Subschema::Schema(inner)) => inner_mut(inner),
            _ => unreachable!("it is a map"),
        },
        (false, false) => schema,
    }
}

/// The schema of a field.
pub(super) fn at<'a>(schema: &'a Schema, steps: &[String]) -> Option<&'a Schema> {
    let Some((first, others)) = steps.split_first() else {
        return Some(schema);
    };
    at(inner(schema).properties.get(first)?, others)
}

fn at_mut<'a>(schema: &'a mut Schema, steps: &[String]) -> Option<&'a mut Schema> {
    let Some((first, others)) = steps.split_first() else {
        return Some(schema);
    };
    at_mut(inner_mut(schema).properties.get_mut(first)?, others)
}

/// Any JSON: what was read is written back.
fn make_raw(schema: &mut Schema) {
    *schema = Schema {
        description: schema.description.take(),
        default: schema.default.take(),
        nullable: schema.nullable,
        preserve_unknown_fields: true,
        ..Schema::default()
    };
}

/// Removes all fields that are on none of the paths.
fn keep(schema: &mut Schema, paths: &[&[String]]) {
    if paths.iter().any(|path| path.is_empty()) {
        return;
    }
    let schema = inner_mut(schema);
    schema.preserve_unknown_fields = false;
    schema.properties.retain(|name, property| {
        let below: Vec<&[String]> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| *first == name)
            .map(|(_, others)| others)
            .collect();
        keep(property, &below);
        !below.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schema(value: Value) -> Schema {
        serde_json::from_value(value).expect("the schema is valid")
    }

    #[test]
    fn a_kept_path_keeps_what_is_below_it_and_nothing_beside_it() {
        let text = json!({ "type": "string" });
        let part = json!({ "type": "object", "properties": { "name": text, "size": text } });
        let mut root = schema(json!({ "type": "object", "properties": {
            "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "parts": { "type": "array", "items": part }, "other": part, "whole": part } },
            "status": part,
        } }));
        let path = |text: &str| text.parse::<FieldPath>().expect("it is a path").steps;
        let paths = [path("spec.parts[].name"), path("spec.whole")];
        keep(&mut root, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let kept = |path: &str| at(&root, &path.parse::<FieldPath>().expect("a path").steps).is_some();
        assert!(kept("spec.parts.name") && kept("spec.whole.size"));
        assert!(!kept("spec.parts.size") && !kept("spec.other") && !kept("status"));
        assert!(!root.properties["spec"].preserve_unknown_fields);
    }
}
