//! `DeltaFifo`: the bounded log of changes, its sender and its receiver.

mod grouped;
mod sender;

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};

use super::intake::{Intake, Transform};
use super::replace::ReplaceAll;
use super::{Batch, Change, Delta, ResyncTicket};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::sync::{Mutex, simulation};

use grouped::Grouped;
pub use sender::DeltaSender;

/// The queue between reflectors and controller.
///
/// It keeps client-go's DeltaFIFO promises per key (ordered deltas, two deletions merged, no resync behind newer deltas)
/// and its RealFIFO's over all keys (strict arrival order, whole-state replacement as one entry). It is bounded: a sender
/// waits while [`QueueOptions::capacity`] changes are queued, and while a replacement of its own scope still is.
#[derive(Debug)]
pub struct DeltaFifo;

/// How large the queue and its batches may get.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QueueOptions {
    /// How many single changes may wait. Default 1,000.
    pub capacity: usize,
    /// How many entries one pop takes at most. Default 100.
    pub batch: usize,
}

impl QueueOptions {
    /// Sets how many single changes may wait. At least 1.
    #[must_use]
    pub fn capacity(mut self, changes: usize) -> Self {
        self.capacity = changes.max(1);
        self
    }

    /// Sets how many entries one pop takes. At least 1.
    #[must_use]
    pub fn batch(mut self, entries: usize) -> Self {
        self.batch = entries.max(1);
        self
    }
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            capacity: 1_000,
            batch: 100,
        }
    }
}

impl DeltaFifo {
    /// The two ends of a queue over these scopes, one sender for each. The queue closes when the last sender or the receiver
    /// is dropped.
    pub fn channel<K: Object>(
        scopes: impl IntoIterator<Item = Scope>,
        options: QueueOptions,
        transform: Option<Transform<K>>,
    ) -> (Vec<DeltaSender<K>>, DeltaReceiver<K>) {
        let scopes: Vec<Scope> = scopes.into_iter().collect();
        let queue = Arc::new(Mutex::new(Queue {
            log: VecDeque::new(),
            changes: 0,
            // The fields are public: without room every sender would wait for ever, and an empty batch would lose its entry.
            options: options.capacity(options.capacity).batch(options.batch),
            replacing: BTreeSet::new(),
            unsynced: scopes.iter().cloned().collect(),
            senders: scopes.len(),
            closed: scopes.is_empty(),
            consumer: None,
            producers: Vec::new(),
        }));
        let transform_failures = Arc::new(AtomicU64::new(0));
        let intake = Intake::new(transform, transform_failures.clone());
        let senders = scopes
            .into_iter()
            .map(|scope| DeltaSender {
                queue: queue.clone(),
                scope,
                intake: intake.fork(),
            })
            .collect();
        (
            senders,
            DeltaReceiver {
                queue,
                transform_failures,
            },
        )
    }
}

/// The queue no longer has anyone to take what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed;

/// What the log holds.
enum Entry<K> {
    Apply {
        scope: Scope,
        key: ObjectKey,
        version: Option<ResourceVersion>,
        delta: Delta<K>,
    },
    ReplaceAll(ReplaceAll<K>),
    SyncAll(ResyncTicket),
    Bookmark {
        scope: Scope,
        version: ResourceVersion,
    },
}

struct Queue<K> {
    log: VecDeque<Entry<K>>,
    /// How many `Apply` entries the log holds: what `capacity` bounds.
    changes: usize,
    options: QueueOptions,
    /// Scopes that have a replacement in the log: one each at most.
    replacing: BTreeSet<Scope>,
    /// Scopes whose first replacement has not been taken out.
    unsynced: BTreeSet<Scope>,
    senders: usize,
    closed: bool,
    consumer: Option<Waker>,
    producers: Vec<Waker>,
}

impl<K> Queue<K> {
    fn has_room_for(&self, entry: &Entry<K>) -> bool {
        match entry {
            Entry::Apply { .. } => self.changes < self.options.capacity,
            Entry::ReplaceAll(state) => !self.replacing.contains(&state.scope),
            // These merge with a neighbour of their kind; what does not is bounded with everything else.
            Entry::SyncAll(_) | Entry::Bookmark { .. } => self.log.len() < 2 * self.options.capacity,
        }
    }

    fn push(&mut self, entry: Entry<K>) {
        match (&entry, self.log.back_mut()) {
            (
                Entry::Bookmark { scope, version },
                Some(Entry::Bookmark {
                    scope: last,
                    version: held,
                }),
            ) if scope == last => {
                *held = version.clone();
                return;
            }
            (Entry::SyncAll(ticket), Some(Entry::SyncAll(last))) => {
                last.0.extend(
                    ticket
                        .0
                        .iter()
                        .copied()
                        .filter(|handler| !last.0.contains(handler))
                        .collect::<Vec<_>>(),
                );
                return;
            }
            (Entry::Apply { .. }, _) => self.changes += 1,
            (Entry::ReplaceAll(state), _) => {
                self.replacing.insert(state.scope.clone());
            }
            _ => {}
        }
        self.log.push_back(entry);
        if let Some(waker) = self.consumer.take() {
            waker.wake();
        }
    }

    fn close(&mut self) {
        self.closed = true;
        if let Some(waker) = self.consumer.take() {
            waker.wake();
        }
        self.producers.drain(..).for_each(Waker::wake);
    }

    /// Takes the next prefix: one replacement, one resync, or a run of changes and bookmarks.
    fn pop(&mut self) -> Option<Batch<K>> {
        let batch = match self.log.pop_front()? {
            Entry::ReplaceAll(mut state) => {
                self.replacing.remove(&state.scope);
                state.first = self.unsynced.remove(&state.scope);
                Batch::ReplaceAll(state)
            }
            Entry::SyncAll(ticket) => Batch::SyncAll(ticket),
            first => self.pop_changes(first),
        };
        self.producers.drain(..).for_each(Waker::wake);
        Some(batch)
    }

    fn pop_changes(&mut self, first: Entry<K>) -> Batch<K> {
        let mut changes = Grouped::new();
        let mut next = Some(first);
        for arrival in 0..self.options.batch {
            match next.take().or_else(|| self.pop_change()) {
                Some(Entry::Apply {
                    scope,
                    key,
                    version,
                    delta,
                }) => {
                    self.changes -= 1;
                    if let Some(version) = &version {
                        changes.reach(scope, version.clone());
                    }
                    changes.add(
                        key,
                        Change {
                            arrival,
                            version,
                            delta,
                        },
                    );
                }
                Some(Entry::Bookmark { scope, version }) => changes.reach(scope, version),
                // `pop_change` yields nothing else.
                _ => break,
            }
        }
        Batch::Changes {
            deltas: changes.deltas,
            versions: changes.versions,
        }
    }

    fn pop_change(&mut self) -> Option<Entry<K>> {
        match self.log.front() {
            Some(Entry::Apply { .. } | Entry::Bookmark { .. }) => self.log.pop_front(),
            _ => None,
        }
    }
}

/// The controller's end.
pub struct DeltaReceiver<K> {
    queue: Arc<Mutex<Queue<K>>>,
    transform_failures: Arc<AtomicU64>,
}

impl<K> DeltaReceiver<K> {
    /// Waits for the next batch; `None` once the queue is closed and empty. Dropped while it waits, it takes nothing.
    pub async fn pop(&mut self) -> Option<Batch<K>> {
        simulation::yield_point().await;
        poll_fn(|cx| {
            let mut queue = self.queue.lock();
            match queue.pop() {
                Some(batch) => Poll::Ready(Some(batch)),
                None if queue.closed => Poll::Ready(None),
                None => {
                    queue.consumer = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Whether the first replacement of every scope has been taken out.
    pub fn has_synced(&self) -> bool {
        self.queue.lock().unsynced.is_empty()
    }

    /// How many objects a transform failed for, panicked at or took the name from.
    pub fn transform_failures(&self) -> u64 {
        self.transform_failures.load(Ordering::Relaxed)
    }

    /// How many single changes are waiting.
    pub fn len(&self) -> usize {
        self.queue.lock().changes
    }

    /// Whether no single change is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses further entries; what is queued can still be taken.
    pub fn close(&mut self) {
        self.queue.lock().close();
    }
}

impl<K> Drop for DeltaReceiver<K> {
    fn drop(&mut self) {
        // Whatever nobody will take is dropped outside the lock: objects may be many.
        let left = {
            let mut queue = self.queue.lock();
            queue.close();
            std::mem::take(&mut queue.log)
        };
        drop(left);
    }
}

#[cfg(all(test, feature = "__model"))]
mod model;
#[cfg(all(test, not(feature = "__model")))]
mod tests;
