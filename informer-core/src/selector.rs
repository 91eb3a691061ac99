//! Label selectors: select objects of a kind by their labels.

mod convert;
mod error;
mod lexer;
mod parser;
mod requirement;
mod syntax;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use self::convert::UnsupportedByKube;
pub use self::error::ParseSelectorError;
pub use self::requirement::{Operator, Requirement, RequirementError};

/// Selects objects by their labels, as `kubectl get -l` does; cheap to clone.
///
/// As text, a selector is a comma-separated list of requirements, all of which must hold:
///
/// | text | selects objects |
/// |---|---|
/// | `app=web`, `app==web` | whose label `app` is `web` |
///
///  `app!=web`
///  whose label `app` has another value or is missing
///
/// | `app in (web, db)` | whose label `app` is one of these |
///
///  `app notin (web, db)`
///  whose label `app` is none of these or is missing
///
/// | `app` | that have a label `app` |
/// | `!app` | that have no label `app` |
///
///  `size>5`, `size<5`
///  whose label `size` is an integer greater or less than that
///
/// | the empty text | all |
///
/// White space is allowed between any two tokens. A missing value is the empty one: `app=`, `app in
/// (web,)`.
///
/// ```
/// use std::collections::BTreeMap;
/// use informer_core::selector::Selector;
///
/// let selector: Selector = "tier in (front, back), !legacy".parse()?;
/// let labels = BTreeMap::from([("tier".to_owned(), "front".to_owned())]);
/// assert!(selector.matches(&labels));
/// assert_eq!(selector.to_string(), "!legacy,tier in (back,front)");
/// # Ok::<(), informer_core::selector::ParseSelectorError>(())
/// ```
///
/// A text that cannot be parsed is an error with the position:
///
/// ```
/// # use informer_core::selector::Selector;
/// let error = "app=web=db".parse::<Selector>().unwrap_err();
/// assert_eq!(error.offset(), 7);
/// assert_eq!(
///     error.to_string(),
///     "invalid label selector: expected `,` or the end, found `=`\n  app=web=db\n         ^"
/// );
/// ```
///
/// Requirements are kept in a canonical order, by key, then operator, then values, without duplicates, so
/// selectors that differ only in order are equal and print the same text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Terms);

/// The content of a selector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Terms {
    Nothing,
    Everything,
    /// At least one requirement, in canonical order.
    All(Arc<[Requirement]>),
}

impl Selector {
    /// Selects every object. So does the empty text, and [`Selector::default`].
    pub const fn everything() -> Self {
        Self(Terms::Everything)
    }

    /// Selects no object at all.
    ///
    /// No text has this meaning. It prints as `<nothing>`, which does not parse, so that a server cannot
    /// misread it. client-go prints the empty text, which selects everything.
    pub const fn nothing() -> Self {
        Self(Terms::Nothing)
    }

    /// Selects the objects that have all of these labels with these values; all objects if there are none.
    ///
    /// # Errors
    /// [`RequirementError`] if a key or a value is not valid for a label.
    ///
    /// ```
    /// use informer_core::selector::Selector;
    ///
    /// let selector = Selector::from_labels([("tier", "front"), ("app", "web")])?;
    /// assert_eq!(selector.to_string(), "app=web,tier=front");
    /// # Ok::<(), informer_core::selector::RequirementError>(())
    /// ```
    pub fn from_labels<N, V>(labels: impl IntoIterator<Item = (N, V)>) -> Result<Self, RequirementError>
    where
        N: Into<String>,
        V: Into<String>,
    {
        labels
            .into_iter()
            .map(|(key, value)| Requirement::new(key, Operator::Equals, [value]))
            .collect()
    }

    /// Adds a requirement. [`nothing`](Self::nothing) stays nothing.
    #[must_use]
    pub fn and(self, requirement: Requirement) -> Self {
        match self.0 {
            Terms::Nothing => Self(Terms::Nothing),
            Terms::Everything => Self::from_iter([requirement]),
            Terms::All(requirements) => Self::from_iter(requirements.iter().cloned().chain([requirement])),
        }
    }

    /// Whether every object is selected, whatever its labels are.
    pub fn is_everything(&self) -> bool {
        matches!(self.0, Terms::Everything)
    }

    /// Whether this is [`nothing`](Self::nothing). A contradiction such as `a,!a` also selects no object,
    /// but is not detected.
    pub fn is_nothing(&self) -> bool {
        matches!(self.0, Terms::Nothing)
    }

    /// The requirements, all of which must hold, in canonical order. [`everything`](Self::everything) and
    /// [`nothing`](Self::nothing) have none.
    pub fn requirements(&self) -> std::slice::Iter<'_, Requirement> {
        match &self.0 {
            Terms::Nothing | Terms::Everything => [].iter(),
            Terms::All(requirements) => requirements.iter(),
        }
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.0 {
            Terms::Nothing => false,
            Terms::Everything => true,
            Terms::All(requirements) => requirements.iter().all(|one| one.matches(labels)),
        }
    }

    /// Whether an object is selected whose labels `label` returns.
    #[cfg(feature = "packed")]
    pub(crate) fn matches_by<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        match &self.0 {
            Terms::Nothing => false,
            Terms::Everything => true,
            Terms::All(requirements) => requirements.iter().all(|one| one.is_met_by(label(one.key()))),
        }
    }

    /// Whether an object is selected, by its labels.
    pub fn matches_object<K: kube::Resource>(&self, object: &K) -> bool {
        self.matches(object.meta().labels.as_ref().unwrap_or(&NO_LABELS))
    }
}

/// The labels of an object that has none.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Default for Selector {
    /// [`Selector::everything`].
    fn default() -> Self {
        Self::everything()
    }
}

/// Selects the objects that meet all of the requirements; all objects if there are none.
impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<Requirement> = requirements.into_iter().collect();
        requirements.sort_unstable();
        requirements.dedup();
        Self(match requirements.is_empty() {
            true => Terms::Everything,
            false => Terms::All(requirements.into()),
        })
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    /// Parses the text of a selector by upstream's rules (`labels.Parse`). Its length is not limited:
    /// parsing takes linear time, and the requirements are sorted once.
    fn from_str(text: &str) -> Result<Self, ParseSelectorError> {
        parser::parse(text).map_err(|flaw| ParseSelectorError::new(text, flaw))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() {
            return f.write_str("<nothing>");
        }
        for (position, requirement) in self.requirements().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({self})")
    }
}
