//! The kinds an informer can cache: any with Kubernetes metadata.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::ClusterResourceScope;

use crate::key::ObjectKey;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

/// A kind that can be cached: any `kube::Resource` that can be shared between threads.
///
/// Implemented for all of them: k8s-openapi's types, derived custom resources, `DynamicObject` and
/// `PartialObjectMeta`.
pub trait Object: kube::Resource + Send + Sync + 'static {}

impl<K: kube::Resource + Send + Sync + 'static> Object for K {}

/// Returns whether the kind is known to be cluster-scoped. The scope of a dynamic kind is unknown.
pub(crate) fn is_cluster_scoped<K: Object>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

/// Returns the owner reference of the object's controller: the one with `controller: true`. The API server
/// allows at most one.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let references = meta.owner_references.as_deref().unwrap_or_default();
    references
        .iter()
        .find(|reference| reference.controller == Some(true))
}

/// The `DynamicType` of a projection: a type that has only some of the fields of a kind's objects.
///
/// The derive macro for projections sets it, and a hand-written slim type must set it too. It distinguishes
/// an informer of a projection from one of whole objects: a projection is never returned when a resource is
/// looked up by name, and states and logs show its type, as in `pods (PodOnNode)`.
///
/// ```
/// use std::borrow::Cow;
/// use informer_core::Projected;
/// use k8s_openapi::api::core::v1::Pod;
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use kube::Resource;
///
/// struct PodOnNode { metadata: ObjectMeta /* and the fields to keep */ }
///
/// impl Resource for PodOnNode {
///     type DynamicType = Projected;
///     type Scope = <Pod as Resource>::Scope;
///
///     fn kind(_: &Projected) -> Cow<'_, str> { Pod::kind(&()) }
///     fn group(_: &Projected) -> Cow<'_, str> { Pod::group(&()) }
///     fn version(_: &Projected) -> Cow<'_, str> { Pod::version(&()) }
///     fn plural(_: &Projected) -> Cow<'_, str> { Pod::plural(&()) }
///     fn meta(&self) -> &ObjectMeta { &self.metadata }
///     fn meta_mut(&mut self) -> &mut ObjectMeta { &mut self.metadata }
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Projected;

/// Which part of an object a type contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The whole object.
    Objects,
    /// The metadata, as the server sends it for metadata-only requests.
    Metadata,
    /// The fields that the type declares.
    Projection,
}

impl Content {
    pub(crate) fn of<K: Object>() -> Self {
        if K::metadata_api() {
            Self::Metadata
        } else if TypeId::of::<K::DynamicType>() == TypeId::of::<Projected>() {
            Self::Projection
        } else {
            Self::Objects
        }
    }
}

/// An object whose kind is known only at run time: its metadata, and a downcast to its type.
///
/// Implemented for every [`Object`]. Code that handles many kinds alike (by owner, by label, by age) needs
/// only the metadata; other code downcasts.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::AnyObject;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
///
/// let object: Arc<dyn AnyObject> = Arc::new(ConfigMap::default());
/// assert!(object.metadata().name.is_none());
/// assert!(object.downcast_ref::<Secret>().is_none());
/// assert!(object.downcast::<ConfigMap>().is_ok());
/// ```
pub trait AnyObject: Any + Send + Sync {
    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// The object's metadata, to be changed: only before the object is shared, in a transform.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

impl<K: Object> AnyObject for K {
    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        self.meta_mut()
    }
}

impl dyn AnyObject {
    /// The object as a `K`, if it is one.
    pub fn downcast_ref<K: Object>(&self) -> Option<&K> {
        (self as &dyn Any).downcast_ref()
    }

    /// The object as a `K`, to be changed, if it is one.
    pub fn downcast_mut<K: Object>(&mut self) -> Option<&mut K> {
        (self as &mut dyn Any).downcast_mut()
    }

    /// The shared object as a `K`.
    ///
    /// # Errors
    /// Returns the object itself, if it is not a `K`.
    pub fn downcast<K: Object>(self: Arc<Self>) -> Result<Arc<K>, Arc<Self>> {
        if self.downcast_ref::<K>().is_none() {
            return Err(self);
        }
        let any: Arc<dyn Any + Send + Sync> = self;
        Ok(any.downcast().expect("its type was checked above"))
    }
}

/// Prints the key and version, never the contents.
impl fmt::Debug for dyn AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Name(self), f)
    }
}

/// Prints an object as `namespace/name@version`, in `Debug` and in logs. Never prints its contents, which
/// may be a Secret.
pub(crate) struct Name<'a, K: ?Sized>(pub(crate) &'a K);

impl<K: AnyObject + ?Sized> fmt::Display for Name<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ObjectKey::of(self.0.metadata()) {
            Some(key) => write!(f, "{key}")?,
            None => f.write_str("(no name)")?,
        }
        match ResourceVersion::of(self.0.metadata()) {
            Some(version) => write!(f, "@{}", Printable::name(&version.to_string())),
            None => Ok(()),
        }
    }
}

impl<K: AnyObject + ?Sized> fmt::Debug for Name<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
