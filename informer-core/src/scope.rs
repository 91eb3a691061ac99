//! The part of the cluster one source covers: everything, or one namespace.

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;

/// The objects that one list or watch covers. An informer over several namespaces has one scope, and one
/// version, per namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All objects: all namespaces, or a cluster-scoped kind.
    All,
    /// The objects of one namespace.
    Namespace(Arc<str>),
}

impl Scope {
    /// The scope of a source limited to `namespace`.
    pub fn of(namespace: Option<&str>) -> Self {
        namespace.map_or(Self::All, |namespace| Self::Namespace(namespace.into()))
    }

    /// Whether an object with this key belongs to the scope.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => key.namespace() == Some(namespace),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all namespaces"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
        }
    }
}
