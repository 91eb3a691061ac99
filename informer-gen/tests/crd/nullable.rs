//! `Nullable` of `example.com/v1beta1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::serde_json::Value;

/// An object of the kind `Nullable`.
///
/// `nullables` in `example.com/v1beta1`, in namespaces.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nullable {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// `spec`, which the schema does not describe.
    pub spec: Option<NullableSpec>,
}

impl Nullable {
    /// An object of this name with this spec, and nothing else in it. Set `metadata.namespace`
    /// before it is created.
    pub fn new(name: &str, spec: NullableSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
        }
    }
}

impl kube::Resource for Nullable {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Nullable")
    }

    fn group(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com")
    }

    fn version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("v1beta1")
    }

    fn api_version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com/v1beta1")
    }

    fn plural(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("nullables")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Nullable {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1beta1")?;
        object.serialize_entry("kind", "Nullable")?;
        object.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            object.serialize_entry("spec", value)?;
        }
        object.end()
    }
}

/// The object at `spec` of `Nullable`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NullableSpec {
    /// `always`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub always: String,
    /// `alwaysList`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub always_list: Vec<String>,
    /// `alwaysMap`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub always_map: BTreeMap<String, String>,
    /// `alwaysObject`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub always_object: NullableSpecAlwaysObject,
    /// `alwaysTime`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_time: Option<Time>,
    /// `defaulted`, which the schema does not describe.
    ///
    /// Left out, the server makes it `3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaulted: Option<i64>,
    /// `defaultedNullable`, which the schema does not describe.
    ///
    /// Left out, the server makes it `"auto"`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub defaulted_nullable: Option<Option<String>>,
    /// `defaultedObject`, which the schema does not describe.
    ///
    /// Left out, the server makes it `{}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaulted_object: Option<NullableSpecDefaultedObject>,
    /// `defaultedToNull`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaulted_to_null: Option<String>,
    /// `nullable`, which the schema does not describe.
    #[serde(default)]
    pub nullable: Option<String>,
    /// `nullableAny`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub nullable_any: Value,
    /// `nullableItems`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nullable_items: Option<Vec<Option<String>>>,
    /// `nullableMode`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nullable_mode: Option<NullableSpecNullableMode>,
    /// `nullableValues`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nullable_values: Option<BTreeMap<String, Option<i64>>>,
    /// `optional`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<String>,
    /// `optionalList`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_list: Option<Vec<String>>,
    /// `optionalMap`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_map: Option<BTreeMap<String, String>>,
    /// `optionalNullable`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_nullable: Option<String>,
    /// `optionalNullableAny`, which the schema does not describe.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub optional_nullable_any: Option<Value>,
}

/// The object at `spec.alwaysObject` of `Nullable`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NullableSpecAlwaysObject {
    /// `mode`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub mode: NullableSpecAlwaysObjectMode,
    /// `name`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// A value of `spec.alwaysObject.mode` of `Nullable`.
///
/// A value that is not in the schema, from a newer server perhaps, is `Unrecognized`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum NullableSpecAlwaysObjectMode {
    /// `"On"`.
    On,
    /// `"Off"`.
    Off,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized(String),
}

impl Default for NullableSpecAlwaysObjectMode {
    fn default() -> Self {
        Self::Unrecognized(String::new())
    }
}

/// The object at `spec.defaultedObject` of `Nullable`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NullableSpecDefaultedObject {
    /// `size`, which the schema does not describe.
    ///
    /// Left out, the server makes it `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// A value of `spec.nullableMode` of `Nullable`.
///
/// A value that is not in the schema, from a newer server perhaps, is `Unrecognized`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum NullableSpecNullableMode {
    /// `"A"`.
    A,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized(String),
}

impl Default for NullableSpecNullableMode {
    fn default() -> Self {
        Self::Unrecognized(String::new())
    }
}

/// Reads null as the default, so that no object is lost because of it.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    let value: Option<T> = serde::Deserialize::deserialize(deserializer)?;
    Ok(value.unwrap_or_default())
}

/// Reads null as a value, which is not the same as nothing.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
