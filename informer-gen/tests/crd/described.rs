//! `Described` of `example.com/v1`: its types, from its schema.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// See \[Foo\] and \<name\>, or <https://example.com/a_b?c=d#e>. \*/ /\* \ `Vec<u8>` and a lone
/// \` too.
///
/// `describeds` in `example.com/v1`, for the whole cluster.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    /// Name, labels, owners and whatever else every object has.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// \# Not a heading
    ///
    /// ```text
    /// let not_a_doctest = compile_error!();
    /// ```
    ///
    /// ```text
    /// compile_error!("nor this");
    /// ```
    ///
    /// - a list
    ///   that goes on
    ///   - and further in
    /// 1. numbers too
    ///
    /// \---
    /// [link](https://example.com/x) and \[not\](a link) \&lt; \*.example.com \_\_x\_\_
    pub spec: Option<DescribedSpec>,
}

impl Described {
    /// An object of this name with this spec, and nothing else in it.
    pub fn new(name: &str, spec: DescribedSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
        }
    }
}

impl kube::Resource for Described {
    type DynamicType = ();
    type Scope = k8s_openapi::ClusterResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        Cow::Borrowed("Described")
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
        Cow::Borrowed("describeds")
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Described {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeMap as _;

        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", "example.com/v1")?;
        object.serialize_entry("kind", "Described")?;
        object.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            object.serialize_entry("spec", value)?;
        }
        object.end()
    }
}

/// The object at `spec` of `Described`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedSpec {
    /// `empty`, which the schema does not describe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// \<script\>alert(1)\</script\> \<br\> \<a href='x'\> a\<b\>c Option\<String\>
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// A line that is much longer than a hundred columns is wrapped between words - but never so
    /// that a list, a heading or a block of code begins where there was none before: 1. like this #
    /// or `this code that stays in one piece`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<String>,
    /// \`\`\` \<quantity\> ::= \<signedNumber\>\<suffix\> (Note that \<suffix\> may be empty, from
    /// the "" case in \<decimalSI\>.) \`\`\`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// \`\`\`
    /// never closed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unclosed: Option<String>,
    /// one
    /// two
    /// threefour
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<String>,
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
