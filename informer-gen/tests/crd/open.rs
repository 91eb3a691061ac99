//! `Open` of `example.com/v1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::serde_json::Value;

/// An object of the kind `Open`.
///
/// `opens` in `example.com/v1`, in namespaces.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Every property that the schema does not name, as it came.
    #[serde(flatten, deserialize_with = "untyped")]
    pub rest: BTreeMap<String, Value>,
}

impl Open {
    /// An object of this name, and nothing else in it. Set `metadata.namespace` before it is
    /// created.
    pub fn new(name: &str) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..Self::default()
        }
    }
}

impl kube::Resource for Open {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Open")
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
        Cow::Borrowed("opens")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Open {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1")?;
        object.serialize_entry("kind", "Open")?;
        object.serialize_entry("metadata", &self.metadata)?;
        for (name, value) in &self.rest {
            object.serialize_entry(name, value)?;
        }
        object.end()
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
