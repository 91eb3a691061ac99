//! Conversions from and to other selector types: the API's `LabelSelector`, and kube's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::{Expression, Selector as KubeSelector};

use super::requirement::{Operator, Requirement, RequirementError};
use super::{Selector, Terms};

/// Converts the selector of an API object's spec. An empty one selects everything, as in upstream's
/// `LabelSelectorAsSelector`.
impl TryFrom<&LabelSelector> for Selector {
    type Error = RequirementError;

    fn try_from(selector: &LabelSelector) -> Result<Self, RequirementError> {
        let labels = selector.match_labels.iter().flatten();
        let equal = labels.map(|(key, value)| Requirement::new(key, Operator::Equals, [value]));
        let expressions = selector.match_expressions.iter().flatten();
        equal.chain(expressions.map(Requirement::try_from)).collect()
    }
}

/// Like [`TryFrom<&LabelSelector>`](#impl-TryFrom<%26LabelSelector>-for-Selector).
impl TryFrom<LabelSelector> for Selector {
    type Error = RequirementError;

    fn try_from(selector: LabelSelector) -> Result<Self, RequirementError> {
        Self::try_from(&selector)
    }
}

/// Converts the optional selector of an API object's spec: none selects nothing, an empty one everything.
impl TryFrom<Option<&LabelSelector>> for Selector {
    type Error = RequirementError;

    fn try_from(selector: Option<&LabelSelector>) -> Result<Self, RequirementError> {
        selector.map_or(Ok(Self::nothing()), Self::try_from)
    }
}

impl TryFrom<&LabelSelectorRequirement> for Requirement {
    type Error = RequirementError;

    fn try_from(requirement: &LabelSelectorRequirement) -> Result<Self, RequirementError> {
        let operator = match requirement.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            unknown => {
                return Err(RequirementError::UnknownOperator {
                    key: requirement.key.clone(),
                    operator: unknown.to_owned(),
                });
            }
        };
        Self::new(&requirement.key, operator, requirement.values.iter().flatten())
    }
}

/// Converts kube's selector, and validates it: kube accepts any key and value.
impl TryFrom<KubeSelector> for Selector {
    type Error = RequirementError;

    fn try_from(selector: KubeSelector) -> Result<Self, RequirementError> {
        selector.into_iter().map(Requirement::try_from).collect()
    }
}

/// Converts kube's requirement, and validates it.
impl TryFrom<Expression> for Requirement {
    type Error = RequirementError;

    fn try_from(expression: Expression) -> Result<Self, RequirementError> {
        match expression {
            Expression::In(key, values) => Self::new(key, Operator::In, values),
            Expression::NotIn(key, values) => Self::new(key, Operator::NotIn, values),
            Expression::Equal(key, value) => Self::new(key, Operator::Equals, [value]),
            Expression::NotEqual(key, value) => Self::new(key, Operator::NotEquals, [value]),
            Expression::Exists(key) => Self::new(key, Operator::Exists, [""; 0]),
            Expression::DoesNotExist(key) => Self::new(key, Operator::DoesNotExist, [""; 0]),
        }
    }
}

/// Converts to a selector for kube's `ListParams`, if kube can represent it.
impl TryFrom<&Selector> for KubeSelector {
    type Error = UnsupportedByKube;

    fn try_from(selector: &Selector) -> Result<Self, UnsupportedByKube> {
        match selector.0 {
            Terms::Nothing => Err(UnsupportedByKube::Nothing),
            _ => selector.requirements().map(expression).collect(),
        }
    }
}

fn expression(requirement: &Requirement) -> Result<Expression, UnsupportedByKube> {
    let key = requirement.key().to_owned();
    let values = || requirement.values().iter().cloned();
    Ok(match requirement.operator() {
        Operator::Equals => Expression::Equal(key, values().collect()),
        Operator::NotEquals => Expression::NotEqual(key, values().collect()),
        Operator::In => Expression::In(key, values().collect()),
        Operator::NotIn => Expression::NotIn(key, values().collect()),
        Operator::Exists => Expression::Exists(key),
        Operator::DoesNotExist => Expression::DoesNotExist(key),
        Operator::GreaterThan | Operator::LessThan => return Err(UnsupportedByKube::Comparison { key }),
    })
}

/// Why a [`Selector`] cannot be converted to kube's.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsupportedByKube {
    /// [`Selector::nothing`] has no text, and so cannot be sent.
    #[error("kube's selectors cannot select nothing")]
    Nothing,
    /// `key>5` or `key<5`.
    #[error("kube's selectors cannot compare integers (label {key:?})")]
    Comparison {
        /// The key of the label.
        key: String,
    },
}

crate::__debug_is_the_message!(UnsupportedByKube);
