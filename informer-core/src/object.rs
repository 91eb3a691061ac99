//! What an informer can cache: any kind with Kubernetes metadata.

use std::fmt;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;

/// A cached kind: every `kube::Resource` that can be shared between threads.
///
/// Implemented for all of them: k8s-openapi's types, derived custom resources, `DynamicObject` and
/// `PartialObjectMeta` alike.
pub trait Object: kube::Resource + Send + Sync + 'static {}

impl<K: kube::Resource + Send + Sync + 'static> Object for K {}

/// Whether two states under one key are of one object, not of one deleted and another created in its place.
///
/// A state without a UID is taken to be the same object: nothing says otherwise.
pub(crate) fn is_same_object<K: Object>(old: &K, new: &K) -> bool {
    match (&old.meta().uid, &new.meta().uid) {
        (Some(old), Some(new)) => old == new,
        _ => true,
    }
}

/// Prints an object as `namespace/name@version`, in `Debug` and in logs: never its contents, which may be a Secret's.
pub(crate) struct Name<'a, K>(pub(crate) &'a K);

impl<K: Object> fmt::Display for Name<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ObjectKey::of(self.0.meta()) {
            Some(key) => write!(f, "{key}")?,
            None => f.write_str("(no name)")?,
        }
        match ResourceVersion::of(self.0.meta()) {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

impl<K: Object> fmt::Debug for Name<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
