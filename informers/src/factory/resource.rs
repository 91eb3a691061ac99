//! What belongs to one kind: its informer and its lister.

use std::fmt;
use std::marker::PhantomData;

use informer_core::{Object, SharedInformer};
use listers::Lister;
use serde::de::DeserializeOwned;

use super::SharedInformerFactory;

/// The informer and the lister of one kind in one factory: what `factory.core().v1().pods()` returns.
///
/// It is owned and cheap: it can be cloned, kept in a struct and moved into a task. The informer is made when
/// [`informer`](Self::informer) or [`lister`](Self::lister) is first called, and it is always the same one.
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

    /// The factory this belongs to.
    pub fn factory(&self) -> &SharedInformerFactory {
        &self.factory
    }
}

impl<K> ResourceInformer<K>
where
    K: Object + DeserializeOwned,
    K::DynamicType: Default + Clone,
{
    /// The informer, to add handlers and indexes to. Nothing is asked of the server before the factory is
    /// [started](SharedInformerFactory::start).
    ///
    /// It is shared: whoever stops it stops it for every part of the program, and the factory makes no other.
    pub fn informer(&self) -> SharedInformer<K> {
        self.factory.informer_for()
    }

    /// A lister, to read from the informer's cache.
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
