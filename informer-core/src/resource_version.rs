//! Resource versions: opaque on the wire, but comparable when both are numbers (KEP-5504).

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The version that the server assigned to an object, a list or a bookmark.
///
/// Two versions that are plain decimal numbers (no sign, no leading zero, any length) are ordered as numbers.
/// Any other pair is only equal or not: [`partial_cmp`](PartialOrd::partial_cmp) returns `None`.
///
/// ```
/// use informer_core::ResourceVersion;
///
/// assert!(ResourceVersion::new("9") < ResourceVersion::new("10"));
/// assert_eq!(ResourceVersion::new("a").partial_cmp(&ResourceVersion::new("b")), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

/// Numbers that fit are kept as numbers, which does not allocate. They print as the same text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Number(u128),
    Text(Arc<str>),
}

impl ResourceVersion {
    /// Creates a version from the text the server sent.
    pub fn new(text: &str) -> Self {
        if is_number(text)
            && let Ok(number) = text.parse()
        {
            return Self(Repr::Number(number));
        }
        Self(Repr::Text(text.into()))
    }

    /// The version in an object's metadata; `None` if it is absent, empty or not
    /// [acceptable](Self::is_acceptable).
    pub fn of(meta: &ObjectMeta) -> Option<Self> {
        meta.resource_version
            .as_deref()
            .filter(|text| is_acceptable(text))
            .map(Self::new)
    }

    /// The version as a number, which every version of a kube-apiserver is, in eight bytes.
    pub(crate) fn number(&self) -> Option<NonZeroU64> {
        match self.0 {
            Repr::Number(number) => u64::try_from(number).ok().and_then(NonZeroU64::new),
            Repr::Text(_) => None,
        }
    }

    /// Whether this is a valid version: 1 to 128 printable ASCII characters, without blanks.
    ///
    /// Later requests contain the version. One that no server can parse, or that makes a request too long,
    /// would be refused forever, so informers do not accept it.
    pub fn is_acceptable(&self) -> bool {
        match &self.0 {
            Repr::Number(_) => true,
            Repr::Text(text) => is_acceptable(text),
        }
    }

    /// Whether this version can be ordered against other numbers.
    pub fn is_comparable(&self) -> bool {
        match &self.0 {
            Repr::Number(_) => true,
            Repr::Text(text) => is_number(text),
        }
    }

    /// Whether a store at this version is known to contain everything up to `other`: equal or a larger
    /// number.
    pub fn is_at_least(&self, other: &Self) -> bool {
        self >= other
    }

    /// Whether this version is known to be older than `other`.
    pub fn is_older_than(&self, other: &Self) -> bool {
        self < other
    }
}

/// The maximum length of a version. Those of Kubernetes have at most 20 digits.
const LONGEST: usize = 128;

pub(crate) fn is_acceptable(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Only digits and no leading zero, except "0" itself: the format of the Kubernetes API.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'))
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(this), Repr::Number(that)) => Some(this.cmp(that)),
            // A number too long for `Number` is larger than every `Number`. Two of them compare by length,
            // then text.
            (Repr::Text(this), Repr::Number(_)) => is_number(this).then_some(Ordering::Greater),
            (Repr::Number(_), Repr::Text(that)) => is_number(that).then_some(Ordering::Less),
            (Repr::Text(this), Repr::Text(that)) if this == that => Some(Ordering::Equal),
            (Repr::Text(this), Repr::Text(that)) => (is_number(this) && is_number(that))
                .then(|| this.len().cmp(&that.len()).then_with(|| this.cmp(that))),
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => write!(f, "{number}"),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl From<NonZeroU64> for ResourceVersion {
    fn from(number: NonZeroU64) -> Self {
        Self(Repr::Number(number.get().into()))
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(this: &str, that: &str, expected: Option<Ordering>) {
        let (left, right) = (ResourceVersion::new(this), ResourceVersion::new(that));
        assert_eq!(left.partial_cmp(&right), expected, "{this} and {that}");
        assert_eq!(
            right.partial_cmp(&left),
            expected.map(Ordering::reverse),
            "{that} and {this}"
        );
        assert_eq!(left.to_string(), this);
    }

    #[test]
    fn numbers_compare_by_length_then_text() {
        check("9", "10", Some(Ordering::Less));
        check("10", "10", Some(Ordering::Equal));
        check("0", "1", Some(Ordering::Less));
        let long = "9".repeat(60);
        let longer = format!("1{}", "0".repeat(60));
        check(&long, &longer, Some(Ordering::Less));
        check(&long, "5", Some(Ordering::Greater));
        check(&"8".repeat(60), &long, Some(Ordering::Less));
    }

    #[test]
    fn other_versions_are_equal_or_not_comparable() {
        check("abc", "abc", Some(Ordering::Equal));
        check("abc", "abd", None);
        check("abc", "1", None);
        check("01", "1", None);
        check("-1", "1", None);
        check("", "1", None);
        check(&"9".repeat(60), "abc", None);
    }

    #[test]
    fn only_numbers_without_leading_zeros_are_comparable() {
        let long = "9".repeat(60);
        for (text, expected) in [
            ("1", true),
            (&long, true),
            ("01", false),
            ("abc", false),
            ("", false),
        ] {
            assert_eq!(ResourceVersion::new(text).is_comparable(), expected, "{text:?}");
        }
    }

    #[test]
    fn versions_no_server_can_parse_are_not_accepted() {
        for (text, expected) in [
            ("1", true),
            ("18446744073709551616", true),
            ("a-b_c/9=", true),
            (&"9".repeat(128), true),
            ("", false),
            (&"9".repeat(129), false),
            (&"x".repeat(100_000), false),
            ("1 2", false),
            ("1\n2", false),
            ("\u{1b}[31m", false),
            ("\u{e4}", false),
        ] {
            assert_eq!(ResourceVersion::new(text).is_acceptable(), expected, "{text:?}");
            let meta = ObjectMeta {
                resource_version: Some(text.to_owned()),
                ..ObjectMeta::default()
            };
            assert_eq!(ResourceVersion::of(&meta).is_some(), expected, "{text:?}");
        }
    }
}
