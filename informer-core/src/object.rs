//! What an informer can cache: any kind with Kubernetes metadata.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::key::ObjectKey;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

/// A cached kind: every `kube::Resource` that can be shared between threads.
///
/// Implemented for all of them: k8s-openapi's types, derived custom resources, `DynamicObject` and
/// `PartialObjectMeta` alike.
pub trait Object: kube::Resource + Send + Sync + 'static {}

impl<K: kube::Resource + Send + Sync + 'static> Object for K {}

/// The `DynamicType` of a projection: a type that has only some of the fields of a kind's objects.
///
/// The derive of projections sets it; a slim type written by hand sets it too. By it an informer of whole objects is told
/// from one of a projection: the latter never stands for the kind where a resource is asked for by its name, and in states and
/// logs its name has the type in it, as in `pods (PodOnNode)`.
///
/// ```
/// use std::borrow::Cow;
/// use informer_core::Projected;
/// use k8s_openapi::api::core::v1::Pod;
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use kube::Resource;
///
/// struct PodOnNode { metadata: ObjectMeta /* and what is wanted of it */ }
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

/// How much of each object of a kind a type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// All of it.
    Objects,
    /// What the server sends when only metadata is asked for.
    Metadata,
    /// The fields that the type names.
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

/// An object whose kind is known at run time only: its metadata, and a way back to its type.
///
/// Implemented for every [`Object`]. Where a program deals with many kinds alike (by owner, by label, by age), this is all it
/// needs; where it needs more, it asks for the type.
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

    /// The object's metadata, to change: only before the object is shared, in a transform.
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
    /// The object as what it is, if it is a `K`.
    pub fn downcast_ref<K: Object>(&self) -> Option<&K> {
        (self as &dyn Any).downcast_ref()
    }

    /// The object as what it is, to change, if it is a `K`.
    pub fn downcast_mut<K: Object>(&mut self) -> Option<&mut K> {
        (self as &mut dyn Any).downcast_mut()
    }

    /// The shared object as what it is.
    ///
    /// # Errors
    /// The object itself, if it is not a `K`.
    pub fn downcast<K: Object>(self: Arc<Self>) -> Result<Arc<K>, Arc<Self>> {
        if self.downcast_ref::<K>().is_none() {
            return Err(self);
        }
        let any: Arc<dyn Any + Send + Sync> = self;
        Ok(any.downcast().expect("its type was asked for above"))
    }
}

/// Prints the key and version, never the contents.
impl fmt::Debug for dyn AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Name(self), f)
    }
}

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
