//! How the objects of one informer are stored, and the step that packs them.

use std::marker::PhantomData;
use std::sync::Arc;

#[cfg(feature = "packed")]
use super::packer::Packer;
use super::{Storage, Stored};
use crate::object::Object;
use crate::sync::Offload;

/// How an object reaches an informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// As one of many, in a whole state. Packed where long work may run.
    Listed,
    /// As a change. Its new state is about to be indexed and delivered, so it is kept decoded for a while.
    Changed,
}

/// The storage of one informer.
pub(crate) struct Packing<K> {
    #[cfg(feature = "packed")]
    packer: Option<Arc<Packer<K>>>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Packing<K> {
    /// Objects stay decoded.
    pub(crate) fn decoded() -> Self {
        Self {
            #[cfg(feature = "packed")]
            packer: None,
            kind: PhantomData,
        }
    }

    pub(crate) fn is_packed(&self) -> bool {
        #[cfg(feature = "packed")]
        return self.packer.is_some();
        #[cfg(not(feature = "packed"))]
        false
    }
}

impl<K: Object> Packing<K> {
    /// The storage that an option selects. `offload` is where long work runs.
    pub(crate) fn of(storage: Storage, offload: Offload) -> Self
    where
        K: serde::Serialize + serde::de::DeserializeOwned,
    {
        match storage {
            Storage::Decoded => {
                let _ = offload;
                Self::decoded()
            }
            #[cfg(feature = "packed")]
            Storage::Packed { hot_objects } => Self {
                packer: Some(Arc::new(Packer::new(hot_objects, offload))),
                kind: PhantomData,
            },
        }
    }

    /// Stores an object of which `bytes` were received, and which was transformed if there is a transform.
    pub(crate) fn store(&self, object: Arc<K>, bytes: u32, arrival: Arrival) -> Stored<K> {
        #[cfg(feature = "packed")]
        if let Some(packer) = &self.packer {
            return packer.pack(object, bytes, arrival);
        }
        let _ = arrival;
        Stored::decoded(object, bytes)
    }
}

impl<K> Clone for Packing<K> {
    fn clone(&self) -> Self {
        Self {
            #[cfg(feature = "packed")]
            packer: self.packer.clone(),
            kind: PhantomData,
        }
    }
}

/// The storage of kinds whose builder does not set one, by type: see [`pack_by_default`].
#[cfg(all(feature = "__internals", feature = "packed"))]
static PACKED_BY_DEFAULT: std::sync::Mutex<
    std::collections::BTreeMap<std::any::TypeId, Box<dyn std::any::Any + Send>>,
> = std::sync::Mutex::new(std::collections::BTreeMap::new());

/// Packs the objects of this type in every informer whose builder does not set a storage. For the workspace's
/// tests, which run in both modes.
#[cfg(all(feature = "__internals", feature = "packed"))]
pub fn pack_by_default<K: Object + serde::Serialize + serde::de::DeserializeOwned>(hot_objects: usize) {
    let make = move |offload| Packing::<K>::of(Storage::Packed { hot_objects }, offload);
    let make: Box<dyn Fn(Offload) -> Packing<K> + Send> = Box::new(make);
    let mut kinds = PACKED_BY_DEFAULT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    kinds.insert(std::any::TypeId::of::<K>(), Box::new(make));
}

impl<K: Object> Packing<K> {
    /// The storage of an informer whose builder does not set one.
    pub(crate) fn by_default(offload: Offload) -> Self {
        #[cfg(all(feature = "__internals", feature = "packed"))]
        {
            let kinds = PACKED_BY_DEFAULT
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let make = kinds.get(&std::any::TypeId::of::<K>());
            if let Some(make) =
                make.and_then(|make| make.downcast_ref::<Box<dyn Fn(Offload) -> Self + Send>>())
            {
                return make(offload);
            }
        }
        let _ = offload;
        Self::decoded()
    }
}
