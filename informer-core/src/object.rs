//! What an informer can cache: any kind with Kubernetes metadata.

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
