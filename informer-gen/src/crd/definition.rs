//! What the generator reads of a CustomResourceDefinition.
//!
//! Only what decides about code is here; everything else in a manifest is passed over. A [`Definition`] decodes from a whole
//! manifest in `apiextensions.k8s.io/v1`, whoever parsed the text: YAML, JSON, or the answer of a server.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A CustomResourceDefinition: one kind in some versions.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(from = "Manifest")]
pub struct Definition {
    /// The group: `example.com`.
    pub group: String,
    /// The kind: `Foo`.
    pub kind: String,
    /// The kind of a list of them, `FooList` unless the definition says otherwise.
    pub list_kind: String,
    /// The name in the path of a URL: `foos`.
    pub plural: String,
    /// The name of one of them for people, `foo` unless the definition says otherwise.
    pub singular: String,
    /// Other names `kubectl` knows it by.
    pub short_names: Vec<String>,
    /// Whether objects are in namespaces.
    pub scope: Scope,
    /// Every version, in the order of the definition.
    pub versions: Vec<Version>,
}

/// Whether objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// There is one set of names for the whole cluster.
    Cluster,
}

/// One version of a kind.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(from = "VersionManifest")]
pub struct Version {
    /// Its name: `v1`.
    pub name: String,
    /// Whether the server answers requests for it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether it is on its way out.
    pub deprecation: Deprecation,
    /// What an object looks like, if the definition says so.
    pub schema: Option<Schema>,
    /// Whether the status is written by requests of its own.
    pub status: StatusSubresource,
    /// Where an autoscaler finds its numbers, if there is a scale subresource.
    pub scale: Option<Scale>,
}

/// Whether a version is on its way out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// It is not.
    #[default]
    No,
    /// It is, and the server warns with its own words.
    Deprecated,
    /// It is, and the server warns with these words.
    Warning(String),
}

/// Whether a version has a status subresource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusSubresource {
    /// The status, if there is one, is written like any other field.
    #[default]
    Absent,
    /// The status is written at `/status` only.
    Present,
}

/// The paths of a scale subresource, such as `.spec.replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scale {
    /// Where the wanted number of replicas is.
    #[serde(default)]
    pub spec_replicas_path: String,
    /// Where the current number of replicas is.
    #[serde(default)]
    pub status_replicas_path: String,
    /// Where the label selector is, as text.
    pub label_selector_path: Option<String>,
}

/// A structural schema, as far as it decides about types. Rules about values (`minimum`, `maxLength`, CEL) are left out.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    /// Words for people.
    pub description: Option<String>,
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`, or nothing where an extension says what it is.
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// What is in a string or number: `date-time`, `byte`, `int32`, ...
    pub format: Option<String>,
    /// A regular expression for strings.
    pub pattern: Option<String>,
    /// What the server fills in where the field is left out. An explicit null counts as nothing.
    pub default: Option<Value>,
    /// The only values there may be. Empty: any.
    #[serde(default, rename = "enum", deserialize_with = "null_is_default")]
    pub values: Vec<Value>,
    /// Whether null is a value.
    #[serde(default, deserialize_with = "null_is_default")]
    pub nullable: bool,
    /// The properties that must be there.
    #[serde(default, deserialize_with = "null_is_default")]
    pub required: Vec<String>,
    /// The properties of an object, sorted by name, so that the same schema always gives the same text.
    #[serde(default, deserialize_with = "null_is_default")]
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub additional_properties: Option<Subschema>,
    /// The elements of an array.
    pub items: Option<Subschema>,
    /// Alternatives, which never decide about types but for one spelling of int-or-string.
    #[serde(default, deserialize_with = "null_is_default")]
    pub any_of: Vec<Schema>,
    /// Not allowed in a structural schema; kept to say so.
    #[serde(rename = "$ref")]
    pub reference: Option<String>,
    /// `x-kubernetes-int-or-string`.
    #[serde(
        default,
        rename = "x-kubernetes-int-or-string",
        deserialize_with = "null_is_default"
    )]
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    #[serde(
        default,
        rename = "x-kubernetes-preserve-unknown-fields",
        deserialize_with = "null_is_default"
    )]
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    #[serde(
        default,
        rename = "x-kubernetes-embedded-resource",
        deserialize_with = "null_is_default"
    )]
    pub embedded_resource: bool,
}

/// What may stand where a schema for elements is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Subschema {
    /// One schema for all of them.
    Schema(Box<Schema>),
    /// `true` or `false`: anything, or nothing.
    Any(bool),
    /// One schema for each position, which the API server refuses.
    List,
}

impl<'de> Deserialize<'de> for Subschema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubschemaVisitor)
    }
}

/// Written by hand because an untagged enum would answer every mistake below it with "did not match any variant".
struct SubschemaVisitor;

impl<'de> Visitor<'de> for SubschemaVisitor {
    type Value = Subschema;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a schema, or true or false")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Subschema, E> {
        Ok(Subschema::Any(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Subschema, A::Error> {
        let schema = Schema::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Subschema::Schema(Box::new(schema)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Subschema, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Subschema::List)
    }
}

/// Null means the same as nothing: a key without a value is common in YAML written by hand.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The nesting of the API.
#[derive(serde::Deserialize)]
struct Manifest {
    spec: ManifestSpec,
}

#[derive(serde::Deserialize)]
struct ManifestSpec {
    group: String,
    names: Names,
    scope: Scope,
    #[serde(default, deserialize_with = "null_is_default")]
    versions: Vec<Version>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    kind: String,
    list_kind: Option<String>,
    plural: String,
    singular: Option<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    short_names: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionManifest {
    name: String,
    served: bool,
    storage: bool,
    #[serde(default, deserialize_with = "null_is_default")]
    deprecated: bool,
    deprecation_warning: Option<String>,
    schema: Option<Validation>,
    subresources: Option<Subresources>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    #[serde(rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Schema>,
}

#[derive(serde::Deserialize)]
struct Subresources {
    status: Option<IgnoredAny>,
    scale: Option<Scale>,
}

impl From<Manifest> for Definition {
    fn from(manifest: Manifest) -> Self {
        let ManifestSpec {
            group,
            names,
            scope,
            versions,
        } = manifest.spec;
        let given = |name: Option<String>| name.filter(|name| !name.is_empty());
        Self {
            group,
            list_kind: given(names.list_kind).unwrap_or_else(|| format!("{}List", names.kind)),
            singular: given(names.singular).unwrap_or_else(|| names.kind.to_lowercase()),
            kind: names.kind,
            plural: names.plural,
            short_names: names.short_names,
            scope,
            versions,
        }
    }
}

impl From<VersionManifest> for Version {
    fn from(manifest: VersionManifest) -> Self {
        let (status, scale) = match manifest.subresources {
            Some(Subresources { status, scale }) => (status.is_some(), scale),
            None => (false, None),
        };
        Self {
            name: manifest.name,
            served: manifest.served,
            storage: manifest.storage,
            deprecation: match (manifest.deprecated, manifest.deprecation_warning) {
                (false, _) => Deprecation::No,
                (true, None) => Deprecation::Deprecated,
                (true, Some(warning)) => Deprecation::Warning(warning),
            },
            schema: manifest.schema.and_then(|schema| schema.open_api_v3_schema),
            status: if status {
                StatusSubresource::Present
            } else {
                StatusSubresource::Absent
            },
            scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(version: Value) -> serde_json::Result<Definition> {
        let spec = json!({ "group": "example.com", "names": { "kind": "Foo", "plural": "foos" }, "scope": "Cluster", "versions": [version] });
        serde_json::from_value(
            json!({ "apiVersion": "apiextensions.k8s.io/v1", "spec": spec, "status": null }),
        )
    }

    fn version(more: Value) -> Version {
        let mut version = json!({ "name": "v1", "served": true, "storage": false });
        version
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        definition(version).unwrap().versions.remove(0)
    }

    #[test]
    fn names_that_are_left_out_are_those_the_server_gives() {
        let definition = definition(json!({ "name": "v1", "served": true, "storage": true })).unwrap();
        assert_eq!(
            (definition.list_kind.as_str(), definition.singular.as_str()),
            ("FooList", "foo")
        );
        assert_eq!(definition.scope, Scope::Cluster);
    }

    #[test]
    fn an_empty_status_subresource_is_one() {
        let present = version(json!({ "subresources": { "status": {} } }));
        let absent = version(json!({ "subresources": { "scale": { "specReplicasPath": ".spec.n" } } }));
        assert_eq!(
            (present.status, absent.status),
            (StatusSubresource::Present, StatusSubresource::Absent)
        );
        assert_eq!(absent.scale.unwrap().spec_replicas_path, ".spec.n");
    }

    #[test]
    fn a_version_is_deprecated_with_or_without_words() {
        let check = |more: Value, expected: Deprecation| assert_eq!(version(more).deprecation, expected);
        check(json!({}), Deprecation::No);
        check(json!({ "deprecated": true }), Deprecation::Deprecated);
        check(
            json!({ "deprecated": true, "deprecationWarning": "x" }),
            Deprecation::Warning("x".to_owned()),
        );
    }

    #[test]
    fn a_key_without_a_value_is_as_good_as_none() {
        let schema =
            json!({ "type": "object", "properties": null, "required": null, "enum": null, "nullable": null });
        let version = version(json!({ "schema": { "openAPIV3Schema": schema }, "subresources": null }));
        let expected = Schema {
            type_: Some("object".to_owned()),
            ..Schema::default()
        };
        assert_eq!(version.schema, Some(expected));
    }

    #[test]
    fn a_mistake_deep_inside_is_told_as_it_is() {
        let items = json!({ "type": "object", "additionalProperties": { "type": 7 } });
        let schema = json!({ "type": "array", "items": items });
        let version =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        let error = definition(version).unwrap_err().to_string();
        assert!(
            error.contains("invalid type: integer `7`, expected a string"),
            "{error}"
        );
    }
}
