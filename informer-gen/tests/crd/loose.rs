//! `Loose` of `example.com/v1alpha1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::serde_json::Value;

/// An object of the kind `Loose`.
///
/// `loose` in `example.com/v1alpha1`, for the whole cluster.
///
/// This version is deprecated: use example.com/v1 \<Widget\> instead
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Loose {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// `spec`, which the schema does not describe.
    pub spec: Option<LooseSpec>,
    /// Every property that the schema does not name, as it came.
    #[serde(flatten, deserialize_with = "untyped")]
    pub rest: BTreeMap<String, Value>,
}

impl Loose {
    /// An object of this name with this spec, and nothing else in it.
    pub fn new(name: &str, spec: LooseSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
            ..Self::default()
        }
    }
}

impl kube::Resource for Loose {
    type DynamicType = ();
    type Scope = k8s_openapi::ClusterResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Loose")
    }

    fn group(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com")
    }

    fn version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("v1alpha1")
    }

    fn api_version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com/v1alpha1")
    }

    fn plural(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("loose")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Loose {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1alpha1")?;
        object.serialize_entry("kind", "Loose")?;
        object.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            object.serialize_entry("spec", value)?;
        }
        for (name, value) in &self.rest {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

/// The object at `spec` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpec {
    /// `anyMap`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_map: Option<BTreeMap<String, Value>>,
    /// `anyObject`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_object: Option<Value>,
    /// `anything`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anything: Option<Value>,
    /// `list`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<Value>>,
    /// `mapOfAnything`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_of_anything: Option<BTreeMap<String, Value>>,
    /// `nothingSaid`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_said: Option<BTreeMap<String, Value>>,
    /// `partly`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partly: Option<LooseSpecPartly>,
    /// `requiredObject`, which the schema does not describe.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub required_object: Value,
    /// `resource`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Value>,
    /// `resourceWithSpec`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_with_spec: Option<LooseSpecResourceWithSpec>,
    /// `schema`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<LooseSpecSchema>,
}

/// The object at `spec.partly` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpecPartly {
    /// `known`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub known: String,
    /// `rest`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// Every property that the schema does not name, as it came.
    #[serde(flatten)]
    pub rest_2: BTreeMap<String, Value>,
}

/// The object at `spec.resourceWithSpec` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpecResourceWithSpec {
    /// The group and version of the object inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The kind of the object inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The metadata of the object inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ObjectMeta>,
    /// `spec`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<LooseSpecResourceWithSpecSpec>,
}

/// The object at `spec.resourceWithSpec.spec` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpecResourceWithSpecSpec {
    /// `size`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Every property that the schema does not name, as it came.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// The object at `spec.schema` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpecSchema {
    /// `$ref`, which the schema does not describe.
    #[serde(rename = "$ref", skip_serializing_if = "Option::is_none")]
    pub ref_: Option<String>,
    /// `items`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Value>,
    /// `properties`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<BTreeMap<String, LooseSpecSchemaProperties>>,
    /// `type`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// The object at `spec.schema.properties{}` of `Loose`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseSpecSchemaProperties {
    /// `type`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Every property that the schema does not name, as it came.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
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

/// Reads unknown properties, of which `apiVersion` and `kind` are none.
fn untyped<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: serde::Deserializer<'de>,
    V: serde::Deserialize<'de>,
{
    let mut rest = serde::Deserialize::deserialize(deserializer)?;
    BTreeMap::remove(&mut rest, "apiVersion");
    BTreeMap::remove(&mut rest, "kind");
    Ok(rest)
}
