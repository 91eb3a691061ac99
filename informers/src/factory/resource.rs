//! The accessor of one kind: its informer and its lister.

use std::fmt;
use std::marker::PhantomData;

use informer_core::{Object, SharedInformer};
use listers::Lister;
use serde::de::DeserializeOwned;

use super::SharedInformerFactory;

/// The informer and the lister of one kind in one factory. `factory.core().v1().pods()` returns it.
///
/// It is owned and cheap to clone: keep it in a struct, or move it into a task. The first call of
/// [`informer`](Self::informer) or [`lister`](Self::lister) creates the informer; later calls return the same
/// one.
///
/// It keeps the factory alive: see [`SharedInformerFactory`].
pub struct ResourceInformer<K> {
    factory: SharedInformerFactory,
    kind: PhantomData<fn() -> K>,
}

impl<K> ResourceInformer<K> {
    #[inline]
    pub(super) fn new(factory: SharedInformerFactory) -> Self {
        Self {
            factory,
            kind: PhantomData,
        }
    }

    /// Returns the factory.
    pub fn factory(&self) -> &SharedInformerFactory {
        &self.factory
    }
}

impl<K> ResourceInformer<K>
where
    K: Object + DeserializeOwned,
    K::DynamicType: Default + Clone,
{
    /// Returns the informer, to add handlers and indexes to. It sends no request before the factory is
    /// [started](SharedInformerFactory::start).
    ///
    /// The informer is shared: stopping it stops it for every part of the program, and the factory does not
    /// create another.
    pub fn informer(&self) -> SharedInformer<K> {
        self.factory.informer_for()
    }

    /// Returns a lister, to read the cache of the informer.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.informer().indexer())
    }
}

impl<K> Clone for ResourceInformer<K> {
    fn clone(&self) -> Self {
        Self::new(self.factory.clone())
    }
}

impl<K> fmt::Debug for ResourceInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceInformer<{}>", std::any::type_name::<K>())
    }
}
