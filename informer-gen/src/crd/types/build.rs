//! Builds the types of a schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::docs;
use super::error::SchemaProblem;
use super::known;
use super::model::{Basic, Enum, Field, Item, Model, Place, Presence, Step, Struct, Target, Type, Variant};
use super::reuse::Conditions;
use crate::crd::definition::{Definition, Schema, StatusSubresource, Subschema, Version};
use crate::names::{Names, schema as names};

/// The most levels of a schema. Real ones have up to about 20: a pod template inside a list inside a spec.
pub(super) const MAX_DEPTH: usize = 64;
/// The most fields, elements and values of a schema. A whole pod template has about 1,500.
pub(super) const MAX_NODES: usize = 50_000;

/// Properties of every object, which the API server defines.
const OBJECT_PROPERTIES: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Builds the types of a version.
pub(super) fn build(
    definition: &Definition,
    version: &Version,
    conditions: Conditions,
) -> Result<Model, SchemaProblem> {
    let schema = version.schema.as_ref().ok_or(SchemaProblem::NoSchema)?;
    let kind_name = || SchemaProblem::KindName {
        kind: definition.kind.clone(),
    };
    let name = names::kind(&definition.kind).ok_or_else(kind_name)?;
    if let Some(found) = schema.type_.as_deref().filter(|found| *found != "object") {
        return Err(SchemaProblem::NotAnObject {
            found: found.to_owned(),
        });
    }
    let mut builder = Builder {
        items: Vec::new(),
        nodes: 0,
        conditions,
    };
    let mut root = builder.structure(schema, &mut Path::default(), Members::Root)?;
    if version.status == StatusSubresource::Present {
        // An object is created without a status, even if the schema requires one.
        let status = root.fields.iter_mut().filter(|field| field.json == "status");
        status.for_each(|field| field.presence = Presence::Optional);
    }
    let items = builder.items.into_iter().flatten().collect();
    Ok(Model { name, root, items })
}

/// The current path: `spec.containers[].image`.
#[derive(Default)]
struct Path {
    text: String,
    steps: Vec<Step>,
    depth: usize,
}

impl Path {
    /// Runs a function one level deeper.
    fn below<T>(
        &mut self,
        step: &str,
        visit: impl FnOnce(&mut Self) -> Result<T, SchemaProblem>,
    ) -> Result<T, SchemaProblem> {
        let length = self.text.len();
        self.text.push_str(step);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SchemaProblem::TooDeep {
                path: self.text.clone(),
                limit: MAX_DEPTH,
            });
        }
        let result = visit(self);
        self.depth -= 1;
        self.text.truncate(length);
        result
    }

    fn property<T>(
        &mut self,
        name: &str,
        visit: impl FnOnce(&mut Self) -> Result<T, SchemaProblem>,
    ) -> Result<T, SchemaProblem> {
        let dot = if self.text.is_empty() { "" } else { "." };
        self.steps.push(Step {
            property: name.to_owned(),
            target: Target::Value,
        });
        let result = self.below(&format!("{dot}{name}"), visit);
        self.steps.pop();
        result
    }

    /// Runs a function for the elements of an array (`[]`) or the values of a map (`{}`).
    fn element<T>(
        &mut self,
        step: &str,
        visit: impl FnOnce(&mut Self) -> Result<T, SchemaProblem>,
    ) -> Result<T, SchemaProblem> {
        let before = self
            .steps
            .last_mut()
            .map(|last| std::mem::replace(&mut last.target, Target::Element));
        let result = self.below(step, visit);
        if let (Some(last), Some(before)) = (self.steps.last_mut(), before) {
            last.target = before;
        }
        result
    }

    fn place(&self) -> Place {
        Place {
            path: self.text.clone(),
            steps: self.steps.clone(),
        }
    }
}

/// Which properties of an object the server adds or defines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    /// None.
    Own,
    /// An embedded object: three more properties.
    Embedded,
    /// The object itself: the same three, which generated code treats separately.
    Root,
}

struct Builder {
    /// Reserves a position before the types below are known, so that types are in the order of the walk.
    items: Vec<Option<Item>>,
    nodes: usize,
    conditions: Conditions,
}

impl Builder {
    /// The type of a value.
    fn value(&mut self, schema: &Schema, path: &mut Path) -> Result<Type, SchemaProblem> {
        self.nodes += 1 + schema.values.len();
        if self.nodes > MAX_NODES {
            return Err(SchemaProblem::TooLarge {
                path: path.text.clone(),
                limit: MAX_NODES,
            });
        }
        if let Some(reference) = &schema.reference {
            return Err(SchemaProblem::Reference {
                path: path.text.clone(),
                reference: reference.clone(),
            });
        }
        if known::is_int_or_string(schema) {
            return Ok(Type::Basic(known::int_or_string(schema)));
        }
        match schema.type_.as_deref() {
            Some("object") => self.object(schema, path),
            Some("array") => self.array(schema, path),
            Some("string") => Ok(self.string(schema, path)),
            Some("integer") => Ok(Type::Basic(known::integer(schema))),
            Some("number") => Ok(Type::Basic(Basic::Number)),
            Some("boolean") => Ok(Type::Basic(Basic::Bool)),
            Some(found) => Err(SchemaProblem::UnknownType {
                path: path.text.clone(),
                found: found.to_owned(),
            }),
            None if schema.preserve_unknown_fields || schema.embedded_resource => self.object(schema, path),
            None => Err(SchemaProblem::NoType {
                path: path.text.clone(),
            }),
        }
    }

    /// The type of an element of an array or a value of a map, where null is a separate value.
    fn element(&mut self, schema: &Schema, path: &mut Path) -> Result<Type, SchemaProblem> {
        let type_ = self.value(schema, path)?;
        if schema.nullable && !type_.holds_null() {
            Ok(Type::Nullable(Box::new(type_)))
        } else {
            Ok(type_)
        }
    }

    fn array(&mut self, schema: &Schema, path: &mut Path) -> Result<Type, SchemaProblem> {
        let items = match &schema.items {
            Some(Subschema::Schema(items)) => items,
            None if schema.preserve_unknown_fields => {
                return Ok(Type::Array(Box::new(Type::Basic(Basic::Value))));
            }
            _ => {
                return Err(SchemaProblem::NoItems {
                    path: path.text.clone(),
                });
            }
        };
        if self.conditions == Conditions::Common && known::is_condition(items) {
            return Ok(Type::Array(Box::new(Type::Basic(Basic::Condition))));
        }
        let element = path.element("[]", |path| self.element(items, path))?;
        Ok(Type::Array(Box::new(element)))
    }

    fn string(&mut self, schema: &Schema, path: &Path) -> Type {
        let values: Vec<&str> = schema.values.iter().filter_map(Value::as_str).collect();
        let is_other = |value: &Value| !value.is_string() && !value.is_null();
        if values.is_empty() || schema.values.iter().any(is_other) {
            return Type::Basic(known::string(schema));
        }
        let position = self.take_position();
        self.put(position, Item::Enum(enumeration(&values, path.place())))
    }

    fn object(&mut self, schema: &Schema, path: &mut Path) -> Result<Type, SchemaProblem> {
        let anything = Type::Basic(Basic::Value);
        let has_own =
            |name: &&String| !(schema.embedded_resource && OBJECT_PROPERTIES.contains(&name.as_str()));
        if schema.properties.keys().any(|name| has_own(&name)) {
            if matches!(
                schema.additional_properties,
                Some(Subschema::Schema(_) | Subschema::Any(true))
            ) {
                return Err(SchemaProblem::PropertiesOfAMap {
                    path: path.text.clone(),
                });
            }
            let position = self.take_position();
            let members = if schema.embedded_resource {
                Members::Embedded
            } else {
                Members::Own
            };
            let structure = self.structure(schema, path, members)?;
            return Ok(self.put(position, Item::Struct(structure)));
        }
        match &schema.additional_properties {
            Some(Subschema::Schema(values)) => {
                let values = path.element("{}", |path| self.element(values, path))?;
                Ok(Type::Map(Box::new(values)))
            }
            _ if schema.preserve_unknown_fields || schema.embedded_resource => Ok(anything),
            // Without a schema of its contents, the server keeps nothing or everything. A map fits both.
            _ => Ok(Type::Map(Box::new(anything))),
        }
    }

    fn structure(
        &mut self,
        schema: &Schema,
        path: &mut Path,
        members: Members,
    ) -> Result<Struct, SchemaProblem> {
        let mut properties: Vec<(&str, Option<&Schema>)> = Vec::new();
        if members == Members::Embedded {
            properties.extend(OBJECT_PROPERTIES.map(|name| (name, None)));
        }
        let own = schema
            .properties
            .iter()
            .filter(|(name, _)| members == Members::Own || !OBJECT_PROPERTIES.contains(&name.as_str()));
        properties.extend(own.map(|(name, schema)| (name.as_str(), Some(schema))));

        let mut names = Names::default();
        if members == Members::Root {
            names.reserve("metadata");
        }
        let mut rust_names = field_names(&mut names, properties.iter().map(|(json, _)| *json));
        let required: BTreeSet<&str> = schema.required.iter().map(String::as_str).collect();
        let mut fields = Vec::with_capacity(properties.len());
        for (json, property) in properties {
            let rust_name = rust_names.remove(json).unwrap_or_default();
            let Some(property) = property else {
                fields.push(embedded_field(json, rust_name));
                continue;
            };
            let type_ = path.property(json, |path| self.value(property, path))?;
            let is_required = required.contains(json);
            fields.push(Field {
                json: json.to_owned(),
                name: rust_name,
                description: property.description.clone(),
                default: short_default(property),
                presence: presence(property, &type_, is_required),
                type_,
            });
        }
        let rest = schema.preserve_unknown_fields.then(|| names.give("rest", "_"));
        Ok(Struct {
            place: path.place(),
            fields,
            rest,
        })
    }

    fn take_position(&mut self) -> usize {
        self.items.push(None);
        self.items.len() - 1
    }

    fn put(&mut self, position: usize, item: Item) -> Type {
        if let Some(free) = self.items.get_mut(position) {
            *free = Some(item);
        }
        Type::Item(position)
    }
}

/// The Rust names of properties. Names that serde's rule maps back without an attribute are assigned first.
fn field_names<'a>(
    names: &mut Names,
    properties: impl Iterator<Item = &'a str> + Clone,
) -> BTreeMap<&'a str, String> {
    let is_plain = |json: &&str| names::is_serde_name(&names::field(json), json);
    let plain = properties.clone().filter(|json| is_plain(json));
    let others = properties.filter(|json| !is_plain(json));
    let all = plain.chain(others);
    all.map(|json| (json, names.give(&names::field(json), "_")))
        .collect()
}

/// The properties that the server allows in every embedded object.
fn embedded_field(json: &str, name: String) -> Field {
    let (type_, text) = match json {
        "apiVersion" => (Basic::String, "The group and version of the object inside."),
        "kind" => (Basic::String, "The kind of the object inside."),
        _ => (Basic::ObjectMeta, "The metadata of the object inside."),
    };
    Field {
        json: json.to_owned(),
        name,
        description: Some(text.to_owned()),
        default: None,
        type_: Type::Basic(type_),
        presence: Presence::Optional,
    }
}

/// A field is optional if it is not required or has a default, because both may be missing in a written
/// object.
fn presence(schema: &Schema, type_: &Type, is_required: bool) -> Presence {
    let has_default = schema.default.as_ref().is_some_and(|default| !default.is_null());
    match (is_required && !has_default, schema.nullable) {
        (true, false) if *type_ == Type::Basic(Basic::Value) => Presence::UnlessNull,
        (true, false) if !type_.has_default() => Presence::Optional,
        (true, false) => Presence::Required,
        (true, true) => Presence::RequiredNullable,
        (false, true) if has_default || type_.holds_null() => Presence::OptionalNullable,
        (false, _) => Presence::Optional,
    }
}

/// The default of a property, if it is short enough for a line of documentation.
fn short_default(schema: &Schema) -> Option<String> {
    let default = schema.default.as_ref().filter(|default| !default.is_null())?;
    Some(default.to_string()).filter(|text| docs::is_short_code(text))
}

fn enumeration(values: &[&str], place: Place) -> Enum {
    let mut names = Names::default();
    let mut given = names::variants(&mut names, &values.iter().copied().collect());
    let variants = values.iter().filter_map(|value| {
        Some(Variant {
            value: (*value).to_owned(),
            // A value that is listed twice has one variant.
            name: given.remove(value)?,
        })
    });
    let variants = variants.collect();
    Enum {
        place,
        variants,
        other: names.give("Unrecognized", ""),
    }
}
