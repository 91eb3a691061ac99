//! `Clash` of `example.com/v1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use informers::crd::Required;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::serde_json::Value;

/// An object of the kind `Clash`.
///
/// `clashes` in `example.com/v1`, namespaced. Its status is written with separate requests
/// (`/status`).
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clash {
    /// Standard metadata: name, labels, owners and so on.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// `any`, which the schema does not describe.
    #[serde(default)]
    pub any: Value,
    /// `spec`, which the schema does not describe.
    #[serde(default)]
    pub spec: Required<ClashSpec>,
    /// `status`, which the schema does not describe.
    pub status: Option<ClashStatus>,
    /// All properties that the schema does not name, unchanged.
    #[serde(flatten, deserialize_with = "untyped")]
    pub rest: BTreeMap<String, Value>,
}

impl Clash {
    /// Returns an object with this name and spec. Set `metadata.namespace` before you create it.
    pub fn new(name: &str, spec: ClashSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Required::new(spec),
            ..Self::default()
        }
    }
}

impl kube::Resource for Clash {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Clash")
    }

    fn group(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com")
    }

    fn version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("v1")
    }

    fn api_version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("example.com/v1")
    }

    fn plural(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("clashes")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Clash {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1")?;
        object.serialize_entry("kind", "Clash")?;
        object.serialize_entry("metadata", &self.metadata)?;
        if !self.any.is_null() {
            object.serialize_entry("any", &self.any)?;
        }
        if !self.spec.is_absent() {
            object.serialize_entry("spec", &self.spec)?;
        }
        if let Some(value) = &self.status {
            object.serialize_entry("status", value)?;
        }
        for (name, value) in &self.rest {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

impl kube::core::object::HasSpec for Clash {
    type Spec = ClashSpec;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

impl kube::core::object::HasStatus for Clash {
    type Status = ClashStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<Self::Status> {
        &mut self.status
    }
}

/// The object at `spec` of `Clash`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClashSpec {
    /// `any`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<Value>,
    /// `labels`, which the schema does not describe.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub labels: Required<BTreeMap<String, String>>,
    /// `maybe`, which the schema does not describe.
    ///
    /// Left out, the server makes it `"x"`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub maybe: Option<Option<String>>,
    /// `mode`, which the schema does not describe.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub mode: Required<ClashSpecMode>,
    /// `names`, which the schema does not describe.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub names: Required<Vec<String>>,
    /// `time`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// All properties that the schema does not name, unchanged.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// A value of `spec.mode` of `Clash`.
///
/// A value that is not in the schema, for example of a newer server, is `Unrecognized`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ClashSpecMode {
    /// `"On"`.
    On,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized(String),
}

impl Default for ClashSpecMode {
    fn default() -> Self {
        Self::Unrecognized(String::new())
    }
}

/// The object at `status` of `Clash`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClashStatus {
    /// `ready`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

/// Reads null as the default, so that null does not make an object undecodable.
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

/// Reads unknown properties, except `apiVersion` and `kind`.
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
