//! `DeltaFifo`: the bounded log of changes, its sender and its receiver.

mod grouped;
mod sender;

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::intake::{Intake, Transform, Transformer};
use super::replace::ReplaceAll;
use super::{Batch, Change, Delta, Departed, ResyncTicket};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::sync::offload::{self, Job};
use crate::sync::{Mutex, Offload, simulation};

use grouped::Grouped;
pub use sender::DeltaSender;

/// The queue between reflectors and committer.
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
    /// Where transforms run. Of an informer's queue this is what the informer's builder says.
    pub offload: Offload,
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

    /// Sets where transforms run.
    #[must_use]
    pub fn offload(mut self, offload: Offload) -> Self {
        self.offload = offload;
        self
    }
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            capacity: 1_000,
            batch: 100,
            offload: Offload::default(),
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
        let transformer = Transformer::new(transform, options.offload);
        let senders = scopes
            .into_iter()
            .map(|scope| DeltaSender {
                queue: queue.clone(),
                intake: Intake::new(scope),
                transformer: transformer.clone(),
            })
            .collect();
        (
            senders,
            DeltaReceiver {
                queue,
                transformer,
                transforming: None,
            },
        )
    }
}

/// The queue no longer has anyone to take what is sent.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed;

crate::__debug_is_the_message!(Closed);

/// What the log holds.
enum Entry<K> {
    Apply(Apply<K>),
    ReplaceAll(ReplaceAll<K>),
    SyncAll(ResyncTicket),
    Bookmark { scope: Scope, version: ResourceVersion },
}

/// One change, as it came from the source: its object is transformed when it is taken out.
struct Apply<K> {
    scope: Scope,
    key: ObjectKey,
    version: Option<ResourceVersion>,
    delta: Delta<K>,
}

/// What is taken out of the log at once.
enum Taken<K> {
    /// A run of changes and bookmarks.
    Changes(Vec<Entry<K>>),
    /// Something that stands alone.
    Whole(Batch<K>),
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
            (Entry::Apply(_), _) => self.changes += 1,
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
    fn take(&mut self) -> Option<Taken<K>> {
        let taken = match self.log.pop_front()? {
            Entry::ReplaceAll(mut state) => {
                self.replacing.remove(&state.scope);
                state.first = self.unsynced.remove(&state.scope);
                Taken::Whole(Batch::ReplaceAll(state))
            }
            Entry::SyncAll(ticket) => Taken::Whole(Batch::SyncAll(ticket)),
            first => Taken::Changes(self.take_changes(first)),
        };
        self.producers.drain(..).for_each(Waker::wake);
        Some(taken)
    }

    fn take_changes(&mut self, first: Entry<K>) -> Vec<Entry<K>> {
        let mut run = vec![first];
        while run.len() < self.options.batch
            && matches!(self.log.front(), Some(Entry::Apply(_) | Entry::Bookmark { .. }))
        {
            run.extend(self.log.pop_front());
        }
        let changes = run.iter().filter(|entry| matches!(entry, Entry::Apply(_)));
        self.changes -= changes.count();
        run
    }
}

/// Transforms the changes of a run and groups them by key, in the order of their arrival.
fn grouped<K: Object>(run: Vec<Entry<K>>, transformer: &Transformer<K>) -> Batch<K> {
    let mut changes = Grouped::new();
    for (arrival, entry) in run.into_iter().enumerate() {
        match entry {
            Entry::Apply(Apply {
                scope,
                key,
                version,
                delta,
            }) => {
                if let Some(version) = &version {
                    changes.reach(scope, version.clone());
                }
                let delta = transformed(&key, delta, transformer);
                changes.add(
                    key,
                    Change {
                        arrival,
                        version,
                        delta,
                    },
                );
            }
            Entry::Bookmark { scope, version } => changes.reach(scope, version),
            Entry::ReplaceAll(_) | Entry::SyncAll(_) => {
                unreachable!("a run is made of changes and bookmarks only")
            }
        }
    }
    changes.into_batch()
}

/// A deletion is transformed like any other change, because handlers see the object. If that fails, they get
/// the last state the cache had instead.
fn transformed<K: Object>(key: &ObjectKey, delta: Delta<K>, transformer: &Transformer<K>) -> Delta<K> {
    match delta {
        Delta::Added(object) => transformer
            .apply(key, object)
            .map_or_else(Delta::Unusable, Delta::Added),
        Delta::Updated(object) => transformer
            .apply(key, object)
            .map_or_else(Delta::Unusable, Delta::Updated),
        Delta::Deleted(Departed::Observed(object)) => Delta::Deleted(
            transformer
                .apply(key, object)
                .map_or(Departed::KeyOnly, Departed::Observed),
        ),
        Delta::Deleted(Departed::KeyOnly) | Delta::Unusable(_) => delta,
    }
}

/// The committer's end.
pub struct DeltaReceiver<K> {
    queue: Arc<Mutex<Queue<K>>>,
    transformer: Transformer<K>,
    /// A run that was taken out and is being transformed. Kept here, so that a `pop` that is dropped loses
    /// nothing.
    transforming: Option<Job<Batch<K>>>,
}

impl<K: Object> DeltaReceiver<K> {
    /// Waits for the next batch; `None` once the queue is closed and empty. Dropped while it waits, it loses
    /// nothing: the next call goes on where it was.
    pub async fn pop(&mut self) -> Option<Batch<K>> {
        if self.transforming.is_none() {
            simulation::yield_point().await;
            let run = match self.take().await? {
                Taken::Whole(batch) => return Some(batch),
                Taken::Changes(run) => run,
            };
            let transformer = self.transformer.clone();
            let has_changes = run.iter().any(|entry| matches!(entry, Entry::Apply(_)));
            if !has_changes || transformer.runs_on() == Offload::Inline {
                return Some(grouped(run, &transformer));
            }
            self.transforming = Some(offload::start(move || grouped(run, &transformer)));
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
    /// Whether the first replacement of every scope has been taken out.
    pub fn has_synced(&self) -> bool {
        self.queue.lock().unsynced.is_empty()
    }

    /// How many objects a transform failed for, panicked at or changed the name of.
    pub fn transform_failures(&self) -> u64 {
        self.transformer.failures()
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
#[path = "queue_model.rs"]
mod model;
#[cfg(all(test, not(feature = "__model")))]
#[path = "queue_tests.rs"]
mod tests;
