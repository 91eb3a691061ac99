//! The committer's end of the queue: pops batches, and transforms changes on the way out.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::grouped::group;
use super::{LogEntry, Queue, Taken};
use crate::delta::Batch;
use crate::delta::transform::Transformer;
use crate::object::Object;
use crate::sync::offload::{self, Job};
use crate::sync::{Mutex, Offload, simulation};

/// The receiving end of the queue, held by the committer.
pub struct DeltaReceiver<K> {
    pub(super) queue: Arc<Mutex<Queue<K>>>,
    transformer: Transformer<K>,
    /// A run that was removed from the log and is being transformed. Kept here, so that dropping `pop` loses
    /// nothing.
    transforming: Option<Job<Batch<K>>>,
}

impl<K: Object> DeltaReceiver<K> {
    pub(super) fn new(queue: Arc<Mutex<Queue<K>>>, transformer: Transformer<K>) -> Self {
        Self {
            queue,
            transformer,
            transforming: None,
        }
    }

    /// Waits for the next batch. Returns `None` once the queue is closed and empty.
    ///
    /// Cancel safe: a call that is dropped while it waits loses nothing, and the next call continues.
    pub async fn pop(&mut self) -> Option<Batch<K>> {
        if self.transforming.is_none() {
            simulation::yield_point().await;
            let run = match self.take().await? {
                Taken::Whole(batch) => return Some(batch),
                Taken::Changes(run) => run,
            };
            let transformer = self.transformer.clone();
            let has_changes = run.iter().any(|entry| matches!(entry, LogEntry::Apply(_)));
            let is_short = !has_changes || !transformer.is_user_code();
            if is_short || transformer.runs_on() == Offload::Inline {
                return Some(group(run, &transformer));
            }
            self.transforming = Some(offload::start(move || group(run, &transformer)));
        }
        let batch = self.transforming.as_mut()?.done().await;
        self.transforming = None;
        Some(batch)
    }

    async fn take(&mut self) -> Option<Taken<K>> {
        poll_fn(|cx| {
            let mut queue = self.queue.lock();
            match queue.take() {
                Some(taken) => Poll::Ready(Some(taken)),
                None if queue.closed => Poll::Ready(None),
                None => {
                    queue.consumer = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl<K> DeltaReceiver<K> {
    /// Whether the first whole state of every scope was popped.
    pub fn has_synced(&self) -> bool {
        self.queue.lock().unsynced.is_empty()
    }

    /// The number of objects whose transform failed, panicked or changed the name.
    pub fn transform_failures(&self) -> u64 {
        self.transformer.failures()
    }

    /// The number of queued single changes.
    pub fn len(&self) -> usize {
        self.queue.lock().changes
    }

    /// Whether no single change is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rejects further entries. What is queued can still be popped.
    pub fn close(&mut self) {
        self.queue.lock().close();
    }
}

impl<K> Drop for DeltaReceiver<K> {
    fn drop(&mut self) {
        // The rest is dropped outside the lock: it may hold many objects.
        let left = {
            let mut queue = self.queue.lock();
            queue.close();
            std::mem::take(&mut queue.log)
        };
        drop(left);
    }
}
