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

    /// Whether it stands for namespaces that are not known yet.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self, Self::Namespace(namespace) if namespace.is_empty())
    }

    /// Whether an object with this key belongs to the scope.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => key.namespace() == Some(namespace),
        }
    }
}

/// The number of a change of an informer's namespaces or selectors. Later changes have greater numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64);

impl Revision {
    /// The number of the change after this one.
    #[must_use]
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all namespaces"),
            Self::Namespace(_) if self.is_awaited() => f.write_str("namespaces to be found"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
        }
    }
}
