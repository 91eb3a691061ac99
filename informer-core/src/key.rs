//! The key of an object within its kind: `namespace/name`, or `name` for cluster-scoped kinds.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::printable::Printable;

/// Identifies one object of one kind: its namespace, if it has one, and its name.
///
/// Cloning increments two reference counts. Keys created with another key's
/// [`namespace_arc`](Self::namespace_arc) share its namespace string, so each allocates only its name. Keys
/// are ordered by namespace, then name, with cluster-scoped objects first.
///
/// The UID is not part of the key: an object that is deleted and created again has the same key.
///
/// ```
/// use informer_core::ObjectKey;
///
/// let key: ObjectKey = "web/front-0".parse()?;
/// assert_eq!(key.namespace(), Some("web"));
/// assert_eq!(key.name(), "front-0");
/// assert_eq!(key.to_string(), "web/front-0");
/// assert_eq!("node-1".parse::<ObjectKey>()?, ObjectKey::cluster("node-1"));
/// # Ok::<(), informer_core::ParseKeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

impl ObjectKey {
    /// Creates the key of an object in a namespace. An empty namespace means a cluster-scoped object.
    pub fn namespaced(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        let namespace = namespace.into();
        Self {
            namespace: (!namespace.is_empty()).then_some(namespace),
            name: name.into(),
        }
    }

    /// Creates the key of a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }

    /// The key in an object's metadata, or `None` if it has no name.
    pub fn of(meta: &ObjectMeta) -> Option<Self> {
        Self::of_sharing(meta, None)
    }

    /// Like [`of`](Self::of), but shares the namespace string of `neighbour` if it is equal.
    pub fn of_sharing(meta: &ObjectMeta, neighbour: Option<&ObjectKey>) -> Option<Self> {
        let name = meta.name.as_deref().filter(|name| !name.is_empty())?;
        let namespace = meta
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty());
        Some(match (namespace, neighbour) {
            (None, _) => Self::cluster(name),
            (Some(namespace), Some(neighbour)) if neighbour.namespace() == Some(namespace) => Self {
                namespace: neighbour.namespace.clone(),
                name: name.into(),
            },
            (Some(namespace), _) => Self::namespaced(namespace, name),
        })
    }

    /// The namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The namespace string, to create further keys that share it.
    pub fn namespace_arc(&self) -> Option<&Arc<str>> {
        self.namespace.as_ref()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Prints `namespace/name`, or `name`. Text that no Kubernetes API server accepts is made safe for logs:
/// control characters are escaped, a namespace is cut at 63 characters and a name at 253. Any other key can
/// be parsed again.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{}/", Printable::namespace(namespace))?;
        }
        write!(f, "{}", Printable::name(&self.name))
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    /// Parses `name` or `namespace/name`. As in client-go, an empty namespace (`/name`) is a cluster-scoped
    /// key; unlike there, an empty name is an error.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        if name.contains('/') {
            return Err(ParseKeyError::TooManyParts(text.to_owned()));
        }
        if name.is_empty() {
            return Err(ParseKeyError::NoName(text.to_owned()));
        }
        Ok(Self::namespaced(namespace, name))
    }
}

/// Why a text is not an [`ObjectKey`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseKeyError {
    /// More than one slash.
    #[error("invalid key {0:?}: expected \"name\" or \"namespace/name\"")]
    TooManyParts(String),
    /// No name after the slash, or an empty text.
    #[error("key {0:?} has no name: expected \"name\" or \"namespace/name\"")]
    NoName(String),
}

crate::__debug_is_the_message!(ParseKeyError);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(Option<&str>, &str), ()>) {
        let parsed = text.parse::<ObjectKey>();
        match expected {
            Ok((namespace, name)) => {
                let key = parsed.unwrap_or_else(|error| panic!("{text:?}: {error}"));
                assert_eq!((key.namespace(), key.name()), (namespace, name), "{text:?}");
                assert_eq!(key.to_string(), text.trim_start_matches('/'));
            }
            Err(()) => assert!(parsed.is_err(), "{text:?} parsed as {parsed:?}"),
        }
    }

    /// Upstream: TestObjectNames.
    #[test]
    fn parses_and_prints_keys() {
        check("name", Ok((None, "name")));
        check("ns/name", Ok((Some("ns"), "name")));
        check("/name", Ok((None, "name")));
        check("a/b/c", Err(()));
        check("a//", Err(()));
        check("", Err(()));
        check("ns/", Err(()));
    }

    #[test]
    fn orders_by_namespace_then_name() {
        let mut keys: Vec<ObjectKey> = ["a-b/x", "a/z", "b", "a/a"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        keys.sort();
        let texts: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["b", "a/a", "a/z", "a-b/x"]);
    }

    #[test]
    fn neighbours_share_one_namespace_string() {
        let meta = |name: &str| ObjectMeta {
            name: Some(name.into()),
            namespace: Some("web".into()),
            ..ObjectMeta::default()
        };
        let first = ObjectKey::of(&meta("a")).unwrap();
        let second = ObjectKey::of_sharing(&meta("b"), Some(&first)).unwrap();
        assert!(Arc::ptr_eq(
            first.namespace_arc().unwrap(),
            second.namespace_arc().unwrap()
        ));
    }

    /// Upstream: TestKeyError. There a key function returns an error that wraps its cause; here it returns
    /// `None`.
    #[test]
    fn objects_without_a_name_have_no_key() {
        assert_eq!(ObjectKey::of(&ObjectMeta::default()), None);
    }
}
