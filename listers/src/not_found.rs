//! The error of a read that must find something.

use std::any::Any;
use std::fmt;

use informer_core::store::Indexer;
use informer_core::{Object, ObjectKey};

/// An object that was required is not in the cache.
///
/// The server was not asked: it may have the object if the informer has not heard of it yet (was it waited for?), or does not
/// cover its namespace, or selects by labels that the object has not.
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

    /// The kind of the object, such as `Pod`. For a `DynamicObject`, whose type does not know it, this is the resource its
    /// informer lists, such as `pods`, or `object` without an informer.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

/// The kind a type stands for, if it always stands for the same one: its dynamic part is then `()`.
fn static_kind<K: Object>() -> Option<String> {
    let nothing: &dyn Any = &();
    let dynamic = nothing.downcast_ref::<K::DynamicType>()?;
    Some(K::kind(dynamic).into_owned())
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key } = self;
        write!(f, "{kind} {key} is not in the cache; the server was not asked")
    }
}

impl std::error::Error for NotFound {}
