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
    shown: Wait,
}

type Wait = BoxFuture<'static, Result<Seen, WaitForError>>;

/// How the cache shows a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// It has the written state or a later one, or no longer has the deleted object.
    Current,
    /// The written object was deleted since. The cache may never have had it, and then no event reports the
    /// deletion.
    Deleted,
}

/// What became of the writes of one reconcile.
#[derive(Default)]
pub(super) struct Confirmation {
    /// The writes that the caches did not show.
    pub(super) unconfirmed: Vec<Unconfirmed>,
    /// Whether an object that was written has been deleted since.
    pub(super) deleted: bool,
}

impl Confirmation {
    /// Whether the key must be reconciled again, although no event may say so: the caches are known to differ
    /// from what its reconcile left, or may differ because they are late. A write that they can never show
    /// says nothing, and would be repeated for ever.
    pub(super) fn is_incomplete(&self) -> bool {
        let is_late = |write: &Unconfirmed| matches!(write.reason, WaitForError::Timeout { .. });
        self.deleted || self.unconfirmed.iter().any(is_late)
    }
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
        let shown = async move {
            waiting.wait_for_write_within(&written, deadline).await?;
            let is_cached =
                ObjectKey::of(&written).is_some_and(|key| waiting.indexer().peek().contains(&key));
            Ok(match is_cached {
                true => Seen::Current,
                false => Seen::Deleted,
            })
        };
        self.push(informer, Box::pin(shown));
    }

    pub(super) fn deleted<C: Object>(&self, informer: &SharedInformer<C>, key: &ObjectKey, uid: &str) {
        let (waiting, deadline) = (informer.clone(), self.deadline);
        let (key, uid) = (key.clone(), uid.to_owned());
        let shown = async move {
            waiting.wait_for_deletion_within(&key, &uid, deadline).await?;
            Ok(Seen::Current)
        };
        self.push(informer, Box::pin(shown));
    }

    fn push<C: Object>(&self, informer: &SharedInformer<C>, shown: Wait) {
        self.pending.lock().push(PendingWrite {
            resource: informer.resource().to_owned(),
            shown,
        });
    }

    pub(super) fn take(&self) -> Vec<PendingWrite> {
        std::mem::take(&mut *self.pending.lock())
    }
}

/// Waits until the caches show all writes, at most until the deadline of each.
pub(super) async fn shown(writes: Vec<PendingWrite>) -> Confirmation {
    let mut confirmation = Confirmation::default();
    if crate::mutant::is("C5") {
        return confirmation;
    }
    // At once, because each wait has its own deadline, which begins with its first poll.
    let waits = writes
        .into_iter()
        .map(|PendingWrite { resource, shown }| async move { (resource, shown.await) });
    for (resource, seen) in futures::future::join_all(waits).await {
        match seen {
            Ok(Seen::Current) => {}
            Ok(Seen::Deleted) => confirmation.deleted = true,
            Err(reason) => confirmation.unconfirmed.push(Unconfirmed { resource, reason }),
        }
    }
    confirmation
}
