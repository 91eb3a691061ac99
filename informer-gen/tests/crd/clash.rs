//! `Clash` of `example.com/v1`: its types, from its schema.

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
    #[serde(default, deserialize_with = "informers::crd::or_default")]
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
    #[serde(flatten, deserialize_with = "informers::crd::untyped")]
    pub rest: BTreeMap<String, Value>,
}

informers::crd::object! {
    impl Resource<()> for Clash: "Clash", "clashes", "example.com", "v1", NamespaceResourceScope;
    impl Serialize { "any": any, "spec": spec, "status": status, ..rest }
    impl HasSpec: ClashSpec;
    impl HasStatus: ClashStatus;
    /// Returns an object with this name and spec. Set `metadata.namespace` before you create it.
    fn new(spec: ClashSpec => spec.into());
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
        deserialize_with = "informers::crd::present",
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
