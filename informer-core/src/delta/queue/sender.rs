//! The reflectors' end of the queue: takes in what belongs to its scope, and waits while the queue is full.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Apply, Closed, Entry, Queue};
use crate::delta::intake::{Admission, Arrival, Identified, Intake, Transformer};
use crate::delta::replace::{ReplaceAll, ReplaceBuilder};
use crate::delta::{Delta, Departed, ResyncTicket};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{ObjectChange, Undecodable};
use crate::status::Reporter;
use crate::sync::{Mutex, simulation};

/// The reflector's end: one per scope.
///
/// Each call either enqueues and returns, or, dropped while it waits for room, enqueues nothing. What has no
/// name or belongs to another scope is not enqueued: a server that honours the request does not send it, and
/// no list of this scope could delete it.
pub struct DeltaSender<K> {
    pub(super) queue: Arc<Mutex<Queue<K>>>,
    pub(super) intake: Intake,
    pub(super) transformer: Transformer<K>,
}

impl<K: Object> DeltaSender<K> {
    /// The scope this sender speaks for.
    pub fn scope(&self) -> &Scope {
        self.intake.scope()
    }

    /// Keys of other scopes are reported here from now on.
    pub(crate) fn report_to(&mut self, reporter: Reporter) {
        self.intake.report_to(reporter);
    }

    /// An object was added.
    pub async fn added(&mut self, object: Arc<K>) -> Result<(), Closed> {
        self.changed(object, Delta::Added).await
    }

    /// An object was modified.
    pub async fn updated(&mut self, object: Arc<K>) -> Result<(), Closed> {
        self.changed(object, Delta::Updated).await
    }

    /// An object was deleted; this is its last state.
    pub async fn deleted(&mut self, object: Arc<K>) -> Result<(), Closed> {
        self.changed(object, |object| Delta::Deleted(Departed::Observed(object)))
            .await
    }

    async fn changed(&mut self, object: Arc<K>, delta: fn(Arc<K>) -> Delta<K>) -> Result<(), Closed> {
        match self.intake.identify(object) {
            Identified::Known(Arrival { key, version, object }) => {
                self.apply(key, version, delta(object)).await
            }
            Identified::Nameless | Identified::Elsewhere => Ok(()),
        }
    }

    /// Something happened to an object that could not be decoded. Without a readable key nothing can be queued.
    pub async fn undecodable(&mut self, change: ObjectChange, object: Undecodable) -> Result<(), Closed> {
        let Some(key) = object.key.clone() else {
            return Ok(());
        };
        if let Admission::Refused = self.intake.admit(&key) {
            return Ok(());
        }
        let version = object.version.clone();
        let delta = match change {
            ObjectChange::Upserted => Delta::Unusable(object.into()),
            ObjectChange::Deleted => Delta::Deleted(Departed::KeyOnly),
        };
        self.apply(key, version, delta).await
    }

    async fn apply(
        &self,
        key: ObjectKey,
        version: Option<ResourceVersion>,
        delta: Delta<K>,
    ) -> Result<(), Closed> {
        self.send(Entry::Apply(Apply {
            scope: self.scope().clone(),
            key,
            version,
            delta,
        }))
        .await
    }

    /// Starts collecting a whole state of this scope.
    pub fn begin_replace(&self) -> ReplaceBuilder<K> {
        ReplaceBuilder::new(self.intake.fork(), self.transformer.clone())
    }

    /// Replaces everything in this scope.
    pub async fn replace_all(&self, state: ReplaceAll<K>) -> Result<(), Closed> {
        self.send(Entry::ReplaceAll(state)).await
    }

    /// Nothing changed in this scope up to this version.
    pub async fn bookmark(&self, version: ResourceVersion) -> Result<(), Closed> {
        self.send(Entry::Bookmark {
            scope: self.scope().clone(),
            version,
        })
        .await
    }

    /// Requests a resync: every object is delivered again to these handlers.
    pub async fn sync_all(&self, ticket: ResyncTicket) -> Result<(), Closed> {
        self.send(Entry::SyncAll(ticket)).await
    }

    async fn send(&self, entry: Entry<K>) -> Result<(), Closed> {
        simulation::yield_point().await;
        let mut entry = Some(entry);
        poll_fn(|cx| self.poll_send(cx, &mut entry)).await
    }

    fn poll_send(&self, cx: &Context<'_>, entry: &mut Option<Entry<K>>) -> Poll<Result<(), Closed>> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Poll::Ready(Err(Closed));
        }
        if entry.as_ref().is_some_and(|entry| !queue.has_room_for(entry)) {
            if !queue.producers.iter().any(|waker| waker.will_wake(cx.waker())) {
                queue.producers.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        if let Some(entry) = entry.take() {
            queue.push(entry);
            simulation::level("queue", queue.changes, queue.options.capacity);
        }
        Poll::Ready(Ok(()))
    }
}

impl<K> Clone for DeltaSender<K>
where
    K: Object,
{
    fn clone(&self) -> Self {
        self.queue.lock().senders += 1;
        Self {
            queue: self.queue.clone(),
            intake: self.intake.fork(),
            transformer: self.transformer.clone(),
        }
    }
}

impl<K> Drop for DeltaSender<K> {
    fn drop(&mut self) {
        let mut queue = self.queue.lock();
        queue.senders -= 1;
        if queue.senders == 0 {
            queue.close();
        }
    }
}
