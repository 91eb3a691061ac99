//! The error of the `require` methods.

use std::any::Any;
use std::fmt;

use informer_core::store::Indexer;
use informer_core::{Object, ObjectKey};

/// A required object is not in the cache.
///
/// The server may still have the object: the informer may not be in sync, may not cover the namespace, or may
/// have a selector that the object does not match.
#[derive(Clone, PartialEq, Eq)]
pub struct NotFound {
    kind: String,
    key: ObjectKey,
}

informer_core::__debug_is_the_message!(NotFound);

impl NotFound {
    pub(crate) fn of<K: Object>(indexer: &Indexer<K>, key: ObjectKey) -> Self {
        let kind = match static_kind::<K>() {
            Some(kind) => kind,
            None => indexer.resource().unwrap_or("object").to_owned(),
        };
        Self { kind, key }
    }

    /// Returns the kind of the object, such as `Pod`. For a `DynamicObject`, whose type has no kind, it
    /// returns the resource of the informer, such as `pods`, or `object` without an informer.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Returns namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

/// Returns the kind of a type, if it is static: its `DynamicType` is then `()`.
fn static_kind<K: Object>() -> Option<String> {
    let nothing: &dyn Any = &();
    let dynamic = nothing.downcast_ref::<K::DynamicType>()?;
    Some(K::kind(dynamic).into_owned())
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key } = self;
        write!(f, "{kind} {key} is not in the cache; the server may have it")
    }
}

impl std::error::Error for NotFound {}
