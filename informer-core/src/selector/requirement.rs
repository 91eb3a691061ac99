//! One requirement of a selector: a key, an operator and values.

use std::collections::BTreeMap;
use std::fmt;

use super::syntax;

/// One condition on an object's labels.
///
/// It is always valid: key and values are valid for labels, and the number of values fits the operator.
/// Requirements are ordered by key, then operator, then values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, without duplicates.
    values: Vec<String>,
}

/// How a requirement compares the label with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `key=value` (or `key==value`, which means the same and prints as this): the label has this value.
    Equals,
    /// `key!=value`: the label has another value, or is missing.
    NotEquals,
    /// `key in (a,b)`: the label has one of the values, of which there is at least one.
    In,
    /// `key notin (a,b)`: the label has none of the values, or is missing.
    NotIn,
    /// `key>5`: the label is an integer greater than the value, which is an integer.
    GreaterThan,
    /// `key<5`: the label is an integer less than the value, which is an integer.
    LessThan,
    /// `key`: the label exists.
    Exists,
    /// `!key`: the label is missing.
    DoesNotExist,
}

impl Requirement {
    /// Creates a requirement on the label `key`. The order of values and duplicates do not matter.
    ///
    /// # Errors
    /// [`RequirementError`] if the key or a value is not valid for a label, or the number of values does
    /// not fit the operator.
    ///
    /// ```
    /// use informer_core::selector::{Operator, Requirement};
    ///
    /// let requirement = Requirement::new("tier", Operator::In, ["front", "back"])?;
    /// assert_eq!(requirement.to_string(), "tier in (back,front)");
    /// assert!(Requirement::new("tier", Operator::Exists, ["front"]).is_err());
    /// # Ok::<(), informer_core::selector::RequirementError>(())
    /// ```
    pub fn new<V: Into<String>>(
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        let (key, values) = (
            key.into(),
            values.into_iter().map(Into::into).collect::<Vec<String>>(),
        );
        Self::check(&key, operator, &values)?;
        Ok(Self::from_valid(key, operator, values))
    }

    fn check(key: &str, operator: Operator, values: &[String]) -> Result<(), RequirementError> {
        syntax::key(key).map_err(|error| RequirementError::Key {
            key: key.to_owned(),
            expected: error.expected,
        })?;
        if !operator.takes(values.len()) {
            return Err(RequirementError::Values {
                key: key.to_owned(),
                operator,
                found: values.len(),
            });
        }
        for value in values {
            syntax::value_of(operator, value).map_err(|error| RequirementError::Value {
                key: key.to_owned(),
                value: value.clone(),
                expected: error.expected,
            })?;
        }
        Ok(())
    }

    /// Creates a requirement from parts that were validated.
    pub(super) fn from_valid(key: String, operator: Operator, mut values: Vec<String>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self {
            key,
            operator,
            values,
        }
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label is compared.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values it is compared with, sorted and without duplicates: none for [`Operator::Exists`] and
    /// [`Operator::DoesNotExist`], one or more for [`Operator::In`] and [`Operator::NotIn`], one for the
    /// others.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The values of which the label must have one, for `=` and `in`; these can be looked up in an index of
    /// the label.
    pub fn one_of(&self) -> Option<&[String]> {
        match self.operator {
            Operator::Equals | Operator::In => Some(&self.values),
            _ => None,
        }
    }

    /// Whether an object with these labels meets the requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.is_met_by(labels.get(&self.key).map(String::as_str))
    }

    /// Whether the requirement is met by this value of its label; `None` if the object does not have it.
    pub(super) fn is_met_by(&self, label: Option<&str>) -> bool {
        match self.operator {
            Operator::Equals | Operator::In => label.is_some_and(|label| self.has(label)),
            Operator::NotEquals | Operator::NotIn => label.is_none_or(|label| !self.has(label)),
            Operator::GreaterThan => self.compare(label, |label, bound| label > bound),
            Operator::LessThan => self.compare(label, |label, bound| label < bound),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
        }
    }

    fn has(&self, label: &str) -> bool {
        self.values
            .binary_search_by(|value| value.as_str().cmp(label))
            .is_ok()
    }

    /// A label that is missing or not an integer is neither greater nor less.
    fn compare(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|value| value.parse().ok());
        let label = label.and_then(|label| label.parse().ok());
        label.zip(bound).is_some_and(|(label, bound)| holds(label, bound))
    }
}

impl Operator {
    /// Whether the operator accepts this number of values.
    fn takes(self, values: usize) -> bool {
        match self {
            Self::Equals | Self::NotEquals | Self::GreaterThan | Self::LessThan => values == 1,
            Self::In | Self::NotIn => values > 0,
            Self::Exists | Self::DoesNotExist => values == 0,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::GreaterThan => ">",
            Self::LessThan => "<",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
        }
    }
}

/// The sign or word in the text of selectors; `exists` for the operator that has none.
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
        } = self;
        match operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::In | Operator::NotIn => write!(f, "{key} {operator} ({})", values.join(",")),
            _ => write!(f, "{key}{operator}{}", values.concat()),
        }
    }
}

/// Why a requirement is not valid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The key is not valid for a label.
    #[error("invalid label key {key:?}: expected {expected}")]
    Key {
        /// The key.
        key: String,
        /// What was expected at the first error.
        expected: &'static str,
    },
    /// The value is not valid for a label, or not an integer where one is compared.
    #[error("invalid value {value:?} for label {key:?}: expected {expected}")]
    Value {
        /// The key of the label.
        key: String,
        /// The value.
        value: String,
        /// What was expected at the first error.
        expected: &'static str,
    },
    /// The operator does not accept this number of values.
    #[error("operator `{operator}` on label {key:?} cannot have {found} values")]
    Values {
        /// The key of the label.
        key: String,
        /// The operator.
        operator: Operator,
        /// The number of values.
        found: usize,
    },
    /// The operator of a `LabelSelector` does not exist.
    #[error("unknown operator {operator:?} on label {key:?}: expected In, NotIn, Exists or DoesNotExist")]
    UnknownOperator {
        /// The key of the label.
        key: String,
        /// The operator.
        operator: String,
    },
}

crate::__debug_is_the_message!(RequirementError);
