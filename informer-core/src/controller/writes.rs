//! Read your writes: a key waits until the caches show what its reconcile wrote.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::informer::{SharedInformer, WaitForError};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::sync::Mutex;

/// The writes of one reconcile.
#[derive(Clone)]
pub(super) struct Writes {
    pending: Arc<Mutex<Vec<PendingWrite>>>,
    /// How long the caches may take to show them, after the reconcile.
    deadline: Duration,
}

/// A write that the cache may not show yet.
pub(super) struct PendingWrite {
    resource: String,
    shown: BoxFuture<'static, Result<(), WaitForError>>,
}

/// A write that the cache did not show.
pub(super) struct Unconfirmed {
    pub(super) resource: String,
    pub(super) reason: WaitForError,
}

impl Writes {
    pub(super) fn new(deadline: Duration) -> Self {
        Self {
            pending: Arc::default(),
            deadline,
        }
    }

    pub(super) fn wrote<C: Object>(&self, informer: &SharedInformer<C>, meta: &ObjectMeta) {
        // Only what the wait needs: the object may be large.
        let written = ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            resource_version: meta.resource_version.clone(),
            labels: meta.labels.clone(),
            ..ObjectMeta::default()
        };
        let (waiting, deadline) = (informer.clone(), self.deadline);
        let shown = async move { waiting.wait_for_write_within(&written, deadline).await };
        self.push(informer, Box::pin(shown));
    }

    pub(super) fn deleted<C: Object>(&self, informer: &SharedInformer<C>, key: &ObjectKey, uid: &str) {
        let (waiting, deadline) = (informer.clone(), self.deadline);
        let (key, uid) = (key.clone(), uid.to_owned());
        let shown = async move { waiting.wait_for_deletion_within(&key, &uid, deadline).await };
        self.push(informer, Box::pin(shown));
    }

    fn push<C: Object>(
        &self,
        informer: &SharedInformer<C>,
        shown: BoxFuture<'static, Result<(), WaitForError>>,
    ) {
        self.pending.lock().push(PendingWrite {
            resource: informer.resource().to_owned(),
            shown,
        });
    }

    pub(super) fn take(&self) -> Vec<PendingWrite> {
        std::mem::take(&mut *self.pending.lock())
    }
}

/// Waits until the caches show all writes, at most until the deadline of each. Returns the writes they do not
/// show.
pub(super) async fn shown(writes: Vec<PendingWrite>) -> Vec<Unconfirmed> {
    if crate::mutant::is("C5") {
        return Vec::new();
    }
    // At once, because each wait has its own deadline, which begins with its first poll.
    let waits = writes
        .into_iter()
        .map(|PendingWrite { resource, shown }| async move {
            let reason = shown.await.err()?;
            Some(Unconfirmed { resource, reason })
        });
    futures::future::join_all(waits)
        .await
        .into_iter()
        .flatten()
        .collect()
}
