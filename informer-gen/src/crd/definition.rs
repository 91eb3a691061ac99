//! The parts of a CustomResourceDefinition that the generator reads.
//!
//! Only fields that affect the code are read; all others are ignored. A [`Definition`] decodes from a whole
//! manifest in `apiextensions.k8s.io/v1`: from YAML, JSON, or the response of a server.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A CustomResourceDefinition: one kind with its versions.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(from = "Manifest")]
pub struct Definition {
    /// The group: `example.com`.
    pub group: String,
    /// The kind: `Foo`.
    pub kind: String,
    /// The kind of a list, `FooList` by default.
    pub list_kind: String,
    /// The name in the path of a URL: `foos`.
    pub plural: String,
    /// The singular name, `foo` by default.
    pub singular: String,
    /// Other names that `kubectl` accepts.
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
    /// Objects are not in namespaces.
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
    /// Whether it is deprecated.
    pub deprecation: Deprecation,
    /// The schema of an object, if the definition has one.
    pub schema: Option<Schema>,
    /// Whether the status is a subresource.
    pub status: StatusSubresource,
    /// The paths of the scale subresource, if it exists.
    pub scale: Option<Scale>,
}

/// Whether a version is deprecated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deprecation {
    /// Not deprecated.
    #[default]
    No,
    /// Deprecated, with the server's default warning.
    Deprecated,
    /// Deprecated, with this warning.
    Warning(String),
}

/// Whether a version has a status subresource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusSubresource {
    /// The status, if any, is written like any other field.
    #[default]
    Absent,
    /// The status is written at `/status` only.
    Present,
}

/// The paths of a scale subresource, such as `.spec.replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scale {
    /// The path of the wanted number of replicas.
    #[serde(default)]
    pub spec_replicas_path: String,
    /// The path of the current number of replicas.
    #[serde(default)]
    pub status_replicas_path: String,
    /// The path of the label selector, a string.
    pub label_selector_path: Option<String>,
}

/// The parts of a structural schema that affect types. Validation rules (`minimum`, `maxLength`, CEL) are
/// left out.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    /// The documentation.
    pub description: Option<String>,
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`, or `None` where an extension defines the
    /// type.
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// The format of a string or number: `date-time`, `byte`, `int32`, ...
    pub format: Option<String>,
    /// A regular expression for strings.
    pub pattern: Option<String>,
    /// The value that the server sets if the field is missing. An explicit null counts as no default.
    pub default: Option<Value>,
    /// The allowed values; empty allows any.
    #[serde(default, rename = "enum", deserialize_with = "null_is_default")]
    pub values: Vec<Value>,
    /// Whether null is allowed.
    #[serde(default, deserialize_with = "null_is_default")]
    pub nullable: bool,
    /// The required properties.
    #[serde(default, deserialize_with = "null_is_default")]
    pub required: Vec<String>,
    /// The properties of an object, sorted by name, so that the same schema always generates the same text.
    #[serde(default, deserialize_with = "null_is_default")]
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub additional_properties: Option<Subschema>,
    /// The elements of an array.
    pub items: Option<Subschema>,
    /// Alternatives. They affect types only in one spelling of int-or-string.
    #[serde(default, deserialize_with = "null_is_default")]
    pub any_of: Vec<Schema>,
    /// Not allowed in a structural schema; read to report it.
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

/// A schema of elements, or what may take its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Subschema {
    /// One schema for all elements.
    Schema(Box<Schema>),
    /// `true` allows anything, `false` nothing.
    Any(bool),
    /// One schema for each position, which the API server rejects.
    List,
}

impl<'de> Deserialize<'de> for Subschema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubschemaVisitor)
    }
}

/// Written by hand, because an untagged enum would report every error below it as "did not match any
/// variant".
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

/// Treats null as missing: a key without a value is common in hand-written YAML.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A definition as it is nested in the API.
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
        let spec = json!({
            "group": "example.com",
            "names": { "kind": "Foo", "plural": "foos" },
            "scope": "Cluster",
            "versions": [version],
        });
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
    fn missing_names_have_the_defaults_of_the_server() {
        let definition = definition(json!({ "name": "v1", "served": true, "storage": true })).unwrap();
        assert_eq!(
            (definition.list_kind.as_str(), definition.singular.as_str()),
            ("FooList", "foo")
        );
        assert_eq!(definition.scope, Scope::Cluster);
    }

    #[test]
    fn an_empty_status_subresource_is_present() {
        let present = version(json!({ "subresources": { "status": {} } }));
        let absent = version(json!({ "subresources": { "scale": { "specReplicasPath": ".spec.n" } } }));
        assert_eq!(
            (present.status, absent.status),
            (StatusSubresource::Present, StatusSubresource::Absent)
        );
        assert_eq!(absent.scale.unwrap().spec_replicas_path, ".spec.n");
    }

    #[test]
    fn a_version_is_deprecated_with_or_without_a_warning() {
        let check = |more: Value, expected: Deprecation| assert_eq!(version(more).deprecation, expected);
        check(json!({}), Deprecation::No);
        check(json!({ "deprecated": true }), Deprecation::Deprecated);
        check(
            json!({ "deprecated": true, "deprecationWarning": "x" }),
            Deprecation::Warning("x".to_owned()),
        );
    }

    #[test]
    fn a_key_without_a_value_is_treated_as_missing() {
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
    fn a_nested_error_keeps_its_message() {
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
