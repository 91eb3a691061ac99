//! `odd-ity` of `odd-names.example.com/v1`: its types, from its schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// An object of the kind `odd-ity`.
///
/// `oddities` in `odd-names.example.com/v1`, in namespaces.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddIty {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// `Metadata`, which the schema does not describe.
    #[serde(rename = "Metadata")]
    pub metadata_2: Option<String>,
    /// Its type would be called like the informer of the kind.
    pub informer: Option<OddItyInformer2>,
    /// `spec`, which the schema does not describe.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: OddItySpec,
}

impl OddIty {
    /// An object of this name with this spec, and nothing else in it. Set `metadata.namespace`
    /// before it is created.
    pub fn new(name: &str, spec: OddItySpec) -> Self {
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

impl kube::Resource for OddIty {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("odd-ity")
    }

    fn group(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("odd-names.example.com")
    }

    fn version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("v1")
    }

    fn api_version(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("odd-names.example.com/v1")
    }

    fn plural(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("oddities")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for OddIty {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "odd-names.example.com/v1")?;
        object.serialize_entry("kind", "odd-ity")?;
        object.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.metadata_2 {
            object.serialize_entry("Metadata", value)?;
        }
        if let Some(value) = &self.informer {
            object.serialize_entry("informer", value)?;
        }
        object.serialize_entry("spec", &self.spec)?;
        object.end()
    }
}

impl kube::core::object::HasSpec for OddIty {
    type Spec = OddItySpec;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

/// The object at `informer` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItyInformer2 {
    /// `name`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The object at `spec` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpec {
    /// `""`, which the schema does not describe.
    #[serde(rename = "", skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// `$`, which the schema does not describe.
    #[serde(rename = "$", skip_serializing_if = "Option::is_none")]
    pub dollar: Option<String>,
    /// `$ref`, which the schema does not describe.
    #[serde(rename = "$ref", skip_serializing_if = "Option::is_none")]
    pub ref_2: Option<String>,
    /// `3d`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub _3d: Option<String>,
    /// `Caseless`, which the schema does not describe.
    #[serde(rename = "Caseless", skip_serializing_if = "Option::is_none")]
    pub caseless_2: Option<OddItySpecCaseless>,
    /// `Self`, which the schema does not describe.
    #[serde(rename = "Self", skip_serializing_if = "Option::is_none")]
    pub self_2: Option<String>,
    /// `Time`, which the schema does not describe.
    #[serde(rename = "Time", skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// `URL`, which the schema does not describe.
    #[serde(rename = "URL", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `async`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub async_: Option<String>,
    /// `caseless`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caseless: Option<OddItySpecCaseless2>,
    /// `crate`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crate_: Option<String>,
    /// `deep`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<OddItySpecDeep>,
    /// `deepEr`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep_er: Option<OddItySpecDeepEr2>,
    /// `foo-bar`, which the schema does not describe.
    #[serde(rename = "foo-bar", skip_serializing_if = "Option::is_none")]
    pub foo_bar_2: Option<String>,
    /// `foo.bar/baz`, which the schema does not describe.
    #[serde(rename = "foo.bar/baz", skip_serializing_if = "Option::is_none")]
    pub foo_bar_baz: Option<String>,
    /// `fooBar`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo_bar: Option<String>,
    /// `foo_bar`, which the schema does not describe.
    #[serde(rename = "foo_bar", skip_serializing_if = "Option::is_none")]
    pub foo_bar_3: Option<String>,
    /// `gen`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gen_: Option<String>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_during_scheduling_ignored_during_execution:
        Option<Vec<OddItySpecPreferredDuringSchedulingIgnoredDuringExecution>>,
    /// `present`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// `quo"te`, which the schema does not describe.
    #[serde(rename = "quo\"te", skip_serializing_if = "Option::is_none")]
    pub quo_te: Option<String>,
    /// `ref`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_: Option<String>,
    /// `self`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_: Option<String>,
    /// `super`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub super_: Option<String>,
    /// `ticks`, which the schema does not describe.
    #[serde(rename = "tick`s", skip_serializing_if = "Option::is_none")]
    pub tick_s: Option<String>,
    /// `try`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub try_: Option<String>,
    /// `type`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// `x-kubernetes-preserve-unknown-fields-but-only-as-the-name-of-a-property-that-is-long`,
    /// which the schema does not describe.
    #[serde(
        rename = "x-kubernetes-preserve-unknown-fields-but-only-as-the-name-of-a-property-that-is-long",
        skip_serializing_if = "Option::is_none"
    )]
    pub x_kubernetes_preserve_unknown_fields_but_only_as_the_name_of_a_property_that_is_long:
        Option<String>,
    /// `ünï`, which the schema does not describe.
    #[serde(rename = "ünï", skip_serializing_if = "Option::is_none")]
    pub ünï: Option<String>,
    /// `名前`, which the schema does not describe.
    #[serde(rename = "名前", skip_serializing_if = "Option::is_none")]
    pub field_2: Option<String>,
}

/// The object at `spec.Caseless` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecCaseless {
    /// `b`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// The object at `spec.caseless` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecCaseless2 {
    /// `a`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

/// The object at `spec.deep` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecDeep {
    /// `er`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub er: Option<OddItySpecDeepEr>,
}

/// The object at `spec.deep.er` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecDeepEr {
    /// `a`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

/// The object at `spec.deepEr` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecDeepEr2 {
    /// `b`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// The object at `spec.preferredDuringSchedulingIgnoredDuringExecution[]` of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecPreferredDuringSchedulingIgnoredDuringExecution {
    /// `requiredDuringSchedulingIgnoredDuringExecution`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_during_scheduling_ignored_during_execution: Option<
        BTreeMap<
            String,
            OddItySpecPreferredDuringSchedulingIgnoredDuringExecutionRequiredDuringSchedulingIgnoredDuringExecution,
        >,
    >,
}

/// The object at
/// `spec.preferredDuringSchedulingIgnoredDuringExecution[].requiredDuringSchedulingIgnoredDuringExecution{}`
/// of `OddIty`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OddItySpecPreferredDuringSchedulingIgnoredDuringExecutionRequiredDuringSchedulingIgnoredDuringExecution
{
    /// `mode`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<
        OddItySpecPreferredDuringSchedulingIgnoredDuringExecutionRequiredDuringSchedulingIgnoredDuringExecutionMode,
    >,
    /// `name`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A value of
/// `spec.preferredDuringSchedulingIgnoredDuringExecution[].requiredDuringSchedulingIgnoredDuringExecution{}.mode`
/// of `OddIty`.
///
/// A value that is not in the schema, from a newer server perhaps, is `Unrecognized2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum OddItySpecPreferredDuringSchedulingIgnoredDuringExecutionRequiredDuringSchedulingIgnoredDuringExecutionMode
{
    /// `"a"`.
    #[serde(rename = "a")]
    A,
    /// `"A"`.
    #[serde(rename = "A")]
    A2,
    /// `""`.
    #[serde(rename = "")]
    #[default]
    Empty,
    /// `"empty"`.
    #[serde(rename = "empty")]
    Empty2,
    /// `"Unrecognized"`.
    Unrecognized,
    /// `"Self"`.
    #[serde(rename = "Self")]
    Self_,
    /// `"rather-long-value-of-an-enum-that-goes-on-and-on-for-more-than-seventy-columns"`.
    #[serde(
        rename = "rather-long-value-of-an-enum-that-goes-on-and-on-for-more-than-seventy-columns"
    )]
    RatherLongValueOfAnEnumThatGoesOnAndOnForMoreThanSeventyColumns,
    /// Any other value.
    #[serde(untagged)]
    Unrecognized2(String),
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
