//! The reflectors' end of the queue: accepts what belongs to its scope, and waits while the queue is full.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Apply, Closed, LogEntry, Queue};
use crate::delta::intake::{Admission, Identified, Intake};
use crate::delta::replace::{ReplaceAll, ReplaceBuilder};
use crate::delta::transform::Transformer;
use crate::delta::{Delta, Departed, ResyncTicket, ScopeChange};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::{Revision, Scope};
use crate::source::{ObjectChange, SourceObject, Undecodable};
use crate::status::Reporter;
use crate::storage::{Arrival, Stored};
use crate::store::{Indexer, Snapshot};
use crate::sync::{Mutex, simulation};

/// The sending end of the queue for one scope, held by its reflector.
///
/// Cancel safe: a call that is dropped while it waits for room queues nothing. Objects without a name or of
/// another scope are not queued: no server that honours the request sends them, and no list of this scope
/// could delete them.
pub struct DeltaSender<K> {
    pub(super) queue: Arc<Mutex<Queue<K>>>,
    pub(super) intake: Intake,
    pub(super) transformer: Transformer<K>,
    /// The store that whole states replace, if it is known.
    pub(super) store: Option<Indexer<K>>,
}

/// When a scope was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Before the initial sync, which waits for it.
    BeforeSync,
    AfterSync,
}

impl<K: Object> DeltaSender<K> {
    /// The scope of this sender.
    pub fn scope(&self) -> &Scope {
        self.intake.scope()
    }

    /// Creates a sender of another scope. Until the initial sync is complete, it needs a state of that scope
    /// too.
    pub(crate) fn of_scope(&self, scope: Scope) -> (Self, Joined) {
        let mut queue = self.queue.lock();
        queue.senders += 1;
        let joined = match queue.unsynced.is_empty() {
            true => Joined::AfterSync,
            false => Joined::BeforeSync,
        };
        if joined == Joined::BeforeSync && !queue.unsynced.insert(scope.clone()) {
            queue.added_again.insert(scope.clone());
        }
        drop(queue);
        let sender = Self {
            queue: self.queue.clone(),
            intake: Intake::new(scope),
            transformer: self.transformer.clone(),
            store: self.store.clone(),
        };
        (sender, joined)
    }

    /// Queues a change of this scope: its addition, its removal with all its objects, or other selectors.
    pub(crate) async fn scope_changed(&self, change: ScopeChange, revision: Revision) -> Result<(), Closed> {
        let scope = self.scope().clone();
        self.send(LogEntry::Scope {
            scope,
            change,
            revision,
        })
        .await
    }

    /// Sets where keys of other scopes are reported.
    pub(crate) fn report_to(&mut self, reporter: Reporter) {
        self.intake.report_to(reporter);
    }

    /// Sets the store that whole states replace, so that objects that are unchanged in it are taken from it.
    pub(crate) fn replaces(&mut self, store: Indexer<K>) {
        self.store = Some(store);
    }

    /// The newest snapshot of that store.
    pub(crate) fn stored(&self) -> Option<Snapshot<K>> {
        self.store.as_ref().map(Indexer::peek)
    }

    /// The number of objects in it, and their size in bytes.
    pub(crate) fn stored_size(&self) -> Option<(u64, u64)> {
        self.store.as_ref().map(Indexer::size)
    }

    /// Queues an added object and returns its version.
    pub async fn added(
        &mut self,
        object: impl Into<SourceObject<K>>,
    ) -> Result<Option<ResourceVersion>, Closed> {
        self.changed(object.into(), Delta::Added).await
    }

    /// Queues a modified object and returns its version.
    pub async fn updated(
        &mut self,
        object: impl Into<SourceObject<K>>,
    ) -> Result<Option<ResourceVersion>, Closed> {
        self.changed(object.into(), Delta::Updated).await
    }

    /// Queues the deletion of an object, of which this is the last state, and returns its version.
    pub async fn deleted(
        &mut self,
        object: impl Into<SourceObject<K>>,
    ) -> Result<Option<ResourceVersion>, Closed> {
        self.changed(object.into(), |object| Delta::Deleted(Departed::Observed(object)))
            .await
    }

    /// The version is read here, once: it is queued with the change, and returned for the reflector, which
    /// counts it as seen even if the object itself is rejected.
    async fn changed(
        &mut self,
        object: SourceObject<K>,
        delta: fn(Stored<K>) -> Delta<K>,
    ) -> Result<Option<ResourceVersion>, Closed> {
        let version = ResourceVersion::of(object.meta());
        if let Identified::Key(key) = self.intake.identify(object.meta()) {
            let delta = delta(object.into());
            let delta = match self.transformer.is_user_code() {
                true => delta,
                // Before the change waits in the queue, so that none waits decoded if objects are packed.
                false => self
                    .transformer
                    .transform(&key, version.as_ref(), delta, Arrival::Changed),
            };
            self.apply(key, version.clone(), delta).await?;
        }
        Ok(version)
    }

    /// Queues a change of an object that could not be decoded. Does nothing if its key could not be read.
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
        self.send(LogEntry::Apply(Apply {
            scope: self.scope().clone(),
            key,
            version,
            delta,
        }))
        .await
    }

    /// Starts to collect a whole state of this scope.
    pub fn begin_replace(&self) -> ReplaceBuilder<K> {
        ReplaceBuilder::new(self.intake.fork(), self.transformer.clone(), self.store.as_ref())
    }

    /// Starts to collect the state of a file. Its objects were transformed before they were saved.
    pub(crate) fn begin_seed(&self) -> ReplaceBuilder<K> {
        let transformer = self.transformer.without_transform();
        ReplaceBuilder::new(self.intake.fork(), transformer, None)
    }

    /// Queues the confirmation of a state that came from a file: the scope is in sync.
    pub(crate) async fn confirm(&self) -> Result<(), Closed> {
        self.send(LogEntry::Confirm(self.scope().clone())).await
    }

    /// Queues a whole state, which replaces everything in this scope.
    pub async fn replace_all(&self, state: ReplaceAll<K>) -> Result<(), Closed> {
        self.send(LogEntry::ReplaceAll(state)).await
    }

    /// Queues a bookmark: this scope has no further changes up to this version.
    pub async fn bookmark(&self, version: ResourceVersion) -> Result<(), Closed> {
        self.send(LogEntry::Bookmark {
            scope: self.scope().clone(),
            version,
        })
        .await
    }

    /// Queues a resync: every object is delivered again to these handlers. Not part of the API.
    #[doc(hidden)]
    pub async fn sync_all(&self, ticket: ResyncTicket) -> Result<(), Closed> {
        self.send(LogEntry::SyncAll(ticket)).await
    }

    async fn send(&self, entry: LogEntry<K>) -> Result<(), Closed> {
        simulation::yield_point().await;
        let mut entry = Some(entry);
        poll_fn(|cx| self.poll_send(cx, &mut entry)).await
    }

    fn poll_send(&self, cx: &Context<'_>, entry: &mut Option<LogEntry<K>>) -> Poll<Result<(), Closed>> {
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
            store: self.store.clone(),
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
