//! `Widget` of `example.com/v1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::serde_json::Number;

/// A widget turns, and tells how fast.
///
/// `widgets` in `example.com/v1`, in namespaces. Its status is written with requests of its own
/// (`/status`). It can be scaled (`/scale`): `.spec.replicas` is what is wanted,
/// `.status.replicas` what there is.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Widget {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: WidgetSpec,
    /// `status`, which the schema does not describe.
    pub status: Option<WidgetStatus>,
}

impl Widget {
    /// An object of this name with this spec, and nothing else in it. Set `metadata.namespace`
    /// before it is created.
    pub fn new(name: &str, spec: WidgetSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec,
            ..Self::default()
        }
    }
}

impl kube::Resource for Widget {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Widget")
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
        Cow::Borrowed("widgets")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Widget {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1")?;
        object.serialize_entry("kind", "Widget")?;
        object.serialize_entry("metadata", &self.metadata)?;
        object.serialize_entry("spec", &self.spec)?;
        if let Some(value) = &self.status {
            object.serialize_entry("status", value)?;
        }
        object.end()
    }
}

impl kube::core::object::HasSpec for Widget {
    type Spec = WidgetSpec;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

impl kube::core::object::HasStatus for Widget {
    type Status = WidgetStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<Self::Status> {
        &mut self.status
    }
}

/// The object at `spec` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpec {
    /// `byName`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_name: Option<BTreeMap<String, Vec<WidgetSpecByName>>>,
    /// `class`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub class: String,
    /// `clusterIPs`, which the schema does not describe.
    #[serde(rename = "clusterIPs", skip_serializing_if = "Option::is_none")]
    pub cluster_ips: Option<Vec<String>>,
    /// `count`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// `data`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ByteString>,
    /// `enabled`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// `generation`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// `level`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<i64>,
    /// `limits`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub limits: BTreeMap<String, Quantity>,
    /// `matrix`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<Number>>>,
    /// `memory`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// `mixed`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<IntOrString>,
    /// `mode`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub mode: WidgetSpecMode,
    /// `nodeSelector`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// `otherPort`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_port: Option<IntOrString>,
    /// What it is put together from.
    #[serde(default, deserialize_with = "or_default")]
    pub parts: Vec<WidgetSpecParts>,
    /// `podIP`, which the schema does not describe.
    #[serde(rename = "podIP", skip_serializing_if = "Option::is_none")]
    pub pod_ip: Option<String>,
    /// `port`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub port: IntOrString,
    /// `precisely`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precisely: Option<MicroTime>,
    /// `ratio`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Number>,
    /// `replicas`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub replicas: i32,
    /// `ruled`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruled: Option<WidgetSpecRuled>,
    /// `since`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// What each of them is like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WidgetSpecTemplate>,
    /// `unsigned`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<i64>,
    /// `until`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// `uuid`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// `weight`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Number>,
}

/// The object at `spec.byName{}[]` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecByName {
    /// `size`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// A value of `spec.mode` of `Widget`.
///
/// A value that is not in the schema, from a newer server perhaps, is `Unrecognized`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum WidgetSpecMode {
    /// `""`.
    #[serde(rename = "")]
    #[default]
    Empty,
    /// `"Rolling"`.
    Rolling,
    /// `"rolling"`.
    #[serde(rename = "rolling")]
    Rolling2,
    /// `"OnDelete"`.
    OnDelete,
    /// `"TCP"`.
    #[serde(rename = "TCP")]
    Tcp,
    /// `"!="`.
    #[serde(rename = "!=")]
    NotEqual,
    /// `"1.2"`.
    #[serde(rename = "1.2")]
    V1_2,
    /// `"self"`.
    #[serde(rename = "self")]
    Self_,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized(String),
}

/// The object at `spec.parts[]` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecParts {
    /// `colour`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<WidgetSpecPartsColour>,
    /// `name`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// A value of `spec.parts[].colour` of `Widget`.
///
/// A value that is not in the schema, from a newer server perhaps, is `Unrecognized`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum WidgetSpecPartsColour {
    /// `"red"`.
    #[serde(rename = "red")]
    Red,
    /// `"green"`.
    #[serde(rename = "green")]
    Green,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized(String),
}

impl Default for WidgetSpecPartsColour {
    fn default() -> Self {
        Self::Unrecognized(String::new())
    }
}

/// The object at `spec.ruled` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecRuled {
    /// `a`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// `b`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// The object at `spec.template` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecTemplate {
    /// Not that of an object of its own, so only what is named here is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<WidgetSpecTemplateMetadata>,
    /// `spec`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<WidgetSpecTemplateSpec>,
}

/// The object at `spec.template.metadata` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecTemplateMetadata {
    /// `labels`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// The object at `spec.template.spec` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpecTemplateSpec {
    /// `image`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// The object at `status` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    /// `conditions`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// `ownConditions`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_conditions: Option<Vec<WidgetStatusOwnConditions>>,
    /// `replicas`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// `selector`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// The object at `status.ownConditions[]` of `Widget`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatusOwnConditions {
    /// `lastTransitionTime`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// `message`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// `reason`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub reason: String,
    /// `severity`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// `status`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    /// `type`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub type_: String,
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
