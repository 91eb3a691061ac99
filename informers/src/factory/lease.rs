//! Informers that stop when nobody uses them any more.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use informer_core::registry::Released;
use informer_core::{Object, SharedInformer};
use kube::core::GroupVersionResource;
use serde::de::DeserializeOwned;

use super::builder::Reach;
use super::{CHECKED, Inner, SharedInformerFactory, resource_of};

/// One use of an informer. Dropping the last one stops the informer, and the factory forgets it.
///
/// Created by [`SharedInformerFactory::lease`]. Dereferences to the [`SharedInformer`].
pub struct InformerLease<K: Object> {
    informer: SharedInformer<K>,
    resource: GroupVersionResource,
    factory: Weak<Inner>,
}

impl SharedInformerFactory {
    /// Returns the informer of a kind and counts this use of it, until the lease is dropped. For parts of a
    /// program that come and go, such as a controller per custom resource definition.
    ///
    /// When the last lease is dropped, the informer stops and the factory forgets it: the next request
    /// creates a new one, which must be started. Its handlers receive nothing more, and no deletions.
    /// Informers that were also requested without a lease are not counted; they run until
    /// [`release`](Self::release) or the end of the factory. A kind with
    /// [options of its own](crate::SharedInformerFactoryBuilder::kind) is never released, because another
    /// informer would not have them; [`pause`](SharedInformer::pause) it instead.
    ///
    /// ```no_run
    /// # fn example(factory: informers::SharedInformerFactory) {
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let lease = factory.lease::<ConfigMap>();
    /// factory.start();
    /// println!("{} config maps", lease.indexer().len());
    /// drop(lease); // the last one: the informer stops
    /// # }
    /// ```
    pub fn lease<K>(&self) -> InformerLease<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Default + Clone,
    {
        let dynamic_type = K::DynamicType::default();
        let resource = resource_of::<K>(&dynamic_type);
        let covered = self.inner.covered();
        let made = self.inner.registry.lease_or_make(&resource, || {
            self.build(dynamic_type, Reach::Configured, &covered)
        });
        InformerLease {
            informer: made.expect(CHECKED),
            resource,
            factory: Arc::downgrade(&self.inner),
        }
    }

    /// Stops the informer of a kind and forgets it, unless leases of it exist. The next request creates a new
    /// one. Handlers receive nothing more, and no deletions; listers keep returning the last state.
    pub fn release<K>(&self) -> Released
    where
        K: Object,
        K::DynamicType: Default,
    {
        let resource = resource_of::<K>(&K::DynamicType::default());
        self.inner.registry.release::<K>(&resource)
    }
}

impl<K: Object> Drop for InformerLease<K> {
    fn drop(&mut self) {
        if let Some(inner) = self.factory.upgrade() {
            inner.registry.end_lease::<K>(&self.resource, &self.informer);
        }
    }
}

impl<K: Object> Deref for InformerLease<K> {
    type Target = SharedInformer<K>;

    fn deref(&self) -> &SharedInformer<K> {
        &self.informer
    }
}

impl<K: Object> fmt::Debug for InformerLease<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerLease").field(&self.informer).finish()
    }
}
