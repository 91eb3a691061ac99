//! What a reconciler receives.

use std::fmt;
use std::sync::Arc;

use super::writes::Writes;
use crate::informer::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::store::Indexer;

/// A request to reconcile one key.
///
/// It is dropped when the reconcile ends; what is [written](Self::wrote) after that is not waited for.
pub struct Request<K: Object> {
    key: ObjectKey,
    attempt: u32,
    objects: Indexer<K>,
    writes: Writes,
}

impl<K: Object> Request<K> {
    pub(super) fn new(key: ObjectKey, attempt: u32, objects: Indexer<K>, writes: Writes) -> Self {
        Self {
            key,
            attempt,
            objects,
            writes,
        }
    }

    /// The key to reconcile.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the object from the cache, in its newest state; `None` if it was deleted.
    pub fn object(&self) -> Option<Arc<K>> {
        self.objects.get(&self.key)
    }

    /// The number of failures of this key since its last success: 0 at the first attempt.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Reports a write: this key is not reconciled again before the cache of `informer` shows it or a later
    /// state. `object` is what the server returned for the write.
    ///
    /// This does not wait, and does not occupy a worker. If the write does not appear within the
    /// [deadline](super::ControllerBuilder::write_deadline), or the informer can never show it (another
    /// namespace, labels that its selector does not match), the key is reconciled anyway, and logs and status
    /// report it. An object that was deleted before the cache had it produces no event; then the key is
    /// reconciled again a second later.
    pub fn wrote<C: Object>(&self, informer: &SharedInformer<C>, object: &impl Object) {
        self.writes.wrote(informer, object.meta());
    }

    /// Reports a deletion: this key is not reconciled again before the cache of `informer` no longer shows
    /// the object with this UID.
    pub fn deleted<C: Object>(&self, informer: &SharedInformer<C>, key: &ObjectKey, uid: &str) {
        self.writes.deleted(informer, key, uid);
    }
}

impl<K: Object> fmt::Debug for Request<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("key", &self.key)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
