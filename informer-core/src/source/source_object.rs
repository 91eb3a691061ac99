//! An object as a source delivers it: with the size of its encoding.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::object::{Name, Object};

/// An object of a list or watch, and the size of its encoding. Dereferences to the `Arc`.
///
/// The sizes are summed up by the store ([`Snapshot::bytes`](crate::store::Snapshot::bytes)) and limited by
/// the limits of an informer. A custom source that does not know the size converts the `Arc` with `into()`:
/// the size of the Rust type then counts, which is a lower bound.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::source::{ListEvent, SourceObject};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let object = Arc::new(ConfigMap::default());
/// let of_known_size = ListEvent::Item(SourceObject::new(object.clone(), 812));
/// let of_unknown_size = ListEvent::Item(object.into());
/// ```
pub struct SourceObject<K> {
    object: Arc<K>,
    bytes: u32,
}

impl<K> SourceObject<K> {
    /// Creates an object of which `bytes` were received. Sizes above 4 GiB count as 4 GiB.
    pub fn new(object: Arc<K>, bytes: usize) -> Self {
        Self {
            object,
            bytes: saturated(bytes),
        }
    }

    /// The size of its encoding, without envelope and compression.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The object.
    pub fn into_object(self) -> Arc<K> {
        self.object
    }

    pub(crate) fn into_parts(self) -> (Arc<K>, u32) {
        (self.object, self.bytes)
    }
}

/// A size in 32 bits.
pub(crate) fn saturated(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl<K> From<Arc<K>> for SourceObject<K> {
    fn from(object: Arc<K>) -> Self {
        Self::new(object, size_of::<K>())
    }
}

impl<K> Clone for SourceObject<K> {
    fn clone(&self) -> Self {
        Self {
            object: self.object.clone(),
            bytes: self.bytes,
        }
    }
}

impl<K> Deref for SourceObject<K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        &self.object
    }
}

/// Prints the key and version, never the contents.
impl<K: Object> fmt::Debug for SourceObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Name(self.object.as_ref()), f)
    }
}
