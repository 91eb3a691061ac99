//! Structs of Kubernetes that most definitions contain, and that k8s-openapi's types do not write back as
//! they were read.
//!
//! k8s-openapi writes a missing `key`, `operator` or `name` as `""`. These remember that it was missing.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde::{Deserialize, Serialize};

use super::Required;

/// A label selector, in which every field may be missing.
///
/// It converts from and to that of k8s-openapi, which has `""` for missing strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Requirements, all of which must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
    /// Labels with their values, all of which an object must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
}

/// A requirement of a selector of labels or fields: a key, an operator and values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelectorRequirement {
    /// The key of the label, or the name of the field.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub key: Required<String>,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; for nodes also `Gt` and `Lt`.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub operator: Required<String>,
    /// The values, for operators that need some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// The name of an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalObjectReference {
    /// The name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A key of a Secret or ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeySelector {
    /// The key.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub key: Required<String>,
    /// The name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the object or the key may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

impl From<meta::LabelSelector> for LabelSelector {
    fn from(selector: meta::LabelSelector) -> Self {
        let requirements = |all: Vec<_>| all.into_iter().map(Into::into).collect();
        Self {
            match_expressions: selector.match_expressions.map(requirements),
            match_labels: selector.match_labels,
        }
    }
}

impl From<LabelSelector> for meta::LabelSelector {
    fn from(selector: LabelSelector) -> Self {
        let requirements = |all: Vec<_>| all.into_iter().map(Into::into).collect();
        Self {
            match_expressions: selector.match_expressions.map(requirements),
            match_labels: selector.match_labels,
        }
    }
}

impl From<meta::LabelSelectorRequirement> for LabelSelectorRequirement {
    fn from(requirement: meta::LabelSelectorRequirement) -> Self {
        Self {
            key: requirement.key.into(),
            operator: requirement.operator.into(),
            values: requirement.values,
        }
    }
}

impl From<LabelSelectorRequirement> for meta::LabelSelectorRequirement {
    fn from(requirement: LabelSelectorRequirement) -> Self {
        Self {
            key: requirement.key.into_inner(),
            operator: requirement.operator.into_inner(),
            values: requirement.values,
        }
    }
}

impl From<core::LocalObjectReference> for LocalObjectReference {
    fn from(reference: core::LocalObjectReference) -> Self {
        Self {
            name: Some(reference.name),
        }
    }
}

impl From<core::SecretKeySelector> for KeySelector {
    fn from(selector: core::SecretKeySelector) -> Self {
        Self {
            key: selector.key.into(),
            name: Some(selector.name),
            optional: selector.optional,
        }
    }
}

impl From<KeySelector> for core::SecretKeySelector {
    fn from(selector: KeySelector) -> Self {
        Self {
            key: selector.key.into_inner(),
            name: selector.name.unwrap_or_default(),
            optional: selector.optional,
        }
    }
}
