//! `DeltaFifo`: the bounded log of changes between its senders and its receiver.

mod gauge;
mod grouped;
mod receiver;
mod sender;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use super::intake::Intake;
use super::replace::{Provenance, ReplaceAll};
use super::transform::{Transform, Transformer};
use super::{Batch, Delta, InitialSync, ScopeChange};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::{Revision, Scope};
use crate::storage::Packing;
use crate::sync::{Mutex, Offload};

pub(crate) use gauge::QueueGauge;
pub use receiver::DeltaReceiver;
pub use sender::DeltaSender;
pub(crate) use sender::Joined;

/// The queue between reflectors and committer.
///
/// It keeps the guarantees of client-go's DeltaFIFO per key (ordered deltas, two deletions merged, no resync
/// behind newer deltas) and those of its RealFIFO over all keys (strict arrival order, a whole state as one
/// entry). It is bounded: a sender waits while [`QueueOptions::capacity`] changes are queued, and while a
/// whole state of its own scope is queued.
#[derive(Debug)]
pub struct DeltaFifo;

/// The bounds of the queue and its batches.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QueueOptions {
    /// The largest number of queued single changes. Default 1,000.
    pub capacity: usize,
    /// The largest number of entries one pop takes. Default 100.
    pub batch: usize,
    /// Where transforms run. In an informer's queue the informer's builder sets it.
    pub offload: Offload,
}

impl QueueOptions {
    /// Sets the largest number of queued single changes. At least 1.
    #[must_use]
    pub fn capacity(mut self, changes: usize) -> Self {
        self.capacity = changes.max(1);
        self
    }

    /// Sets the largest number of entries one pop takes. At least 1.
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
    /// Creates a queue over these scopes and returns one sender per scope, and the receiver. The queue closes
    /// when the last sender or the receiver is dropped.
    pub fn channel<K: Object>(
        scopes: impl IntoIterator<Item = Scope>,
        options: QueueOptions,
        transform: Option<Transform<K>>,
    ) -> (Vec<DeltaSender<K>>, DeltaReceiver<K>) {
        Self::storing(scopes, options, transform, Packing::decoded())
    }

    /// Like [`channel`](Self::channel), for objects that are packed on their way.
    pub(crate) fn storing<K: Object>(
        scopes: impl IntoIterator<Item = Scope>,
        options: QueueOptions,
        transform: Option<Transform<K>>,
        packing: Packing<K>,
    ) -> (Vec<DeltaSender<K>>, DeltaReceiver<K>) {
        let scopes: Vec<Scope> = scopes.into_iter().collect();
        let queue = Arc::new(Mutex::new(Queue {
            log: VecDeque::new(),
            changes: 0,
            // The fields are public and may be zero: every sender would wait for ever without capacity, and a
            // batch of no entries would lose the one it was started with.
            options: options.capacity(options.capacity).batch(options.batch),
            replacing: BTreeSet::new(),
            unsynced: scopes.iter().cloned().collect(),
            taken: 0,
            added_again: BTreeSet::new(),
            senders: scopes.len(),
            closed: scopes.is_empty(),
            consumer: None,
            producers: Vec::new(),
        }));
        let transformer = Transformer::new(transform, packing, options.offload);
        let senders = scopes
            .into_iter()
            .map(|scope| DeltaSender {
                queue: queue.clone(),
                intake: Intake::new(scope),
                transformer: transformer.clone(),
                store: None,
            })
            .collect();
        (senders, DeltaReceiver::new(queue, transformer))
    }
}

/// The queue is closed: nothing can be sent any more, or everything was popped.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed;

crate::__debug_is_the_message!(Closed);

/// The handlers a resync is for, by their number in the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResyncTicket(pub(crate) Vec<u64>);

impl ResyncTicket {
    /// Creates a ticket for the handlers with these numbers.
    pub fn new(handlers: Vec<u64>) -> Self {
        Self(handlers)
    }
}

/// An entry of the log.
enum LogEntry<K> {
    Apply(Apply<K>),
    ReplaceAll(ReplaceAll<K>),
    SyncAll(ResyncTicket),
    Bookmark {
        scope: Scope,
        version: ResourceVersion,
    },
    /// The server has confirmed the state of a scope that came from a file.
    Confirm(Scope),
    Scope {
        scope: Scope,
        change: ScopeChange,
        revision: Revision,
    },
}

/// One change as the source delivered it. Its object is transformed when it is popped, not when it is sent: a
/// sender is called inside the watch loop, which must not run user code.
struct Apply<K> {
    scope: Scope,
    key: ObjectKey,
    version: Option<ResourceVersion>,
    delta: Delta<K>,
}

/// What [`Queue::take`] removes from the log at once.
enum Taken<K> {
    /// A run of changes and bookmarks.
    Changes(Vec<LogEntry<K>>),
    /// An entry that is a batch by itself.
    Whole(Batch<K>),
}

struct Queue<K> {
    log: VecDeque<LogEntry<K>>,
    /// The number of `Apply` entries in the log, which `capacity` bounds.
    changes: usize,
    options: QueueOptions,
    /// Scopes that have a `ReplaceAll` in the log: at most one each.
    replacing: BTreeSet<Scope>,
    /// Scopes whose first `ReplaceAll` was not popped yet. The only record of the initial sync: batches are
    /// committed in the order in which they are popped, so the committer needs none.
    unsynced: BTreeSet<Scope>,
    /// The number of batches that were taken.
    taken: u64,
    /// Scopes of `unsynced` that were removed and added again, and whose removal was not popped yet.
    added_again: BTreeSet<Scope>,
    senders: usize,
    closed: bool,
    consumer: Option<Waker>,
    producers: Vec<Waker>,
}

impl<K> Queue<K> {
    fn has_room_for(&self, entry: &LogEntry<K>) -> bool {
        match entry {
            LogEntry::Apply { .. } => self.changes < self.options.capacity,
            // A whole state may be as large as the cache. Two of one scope would be twice that, and the
            // second makes the first useless.
            LogEntry::ReplaceAll(state) => !self.replacing.contains(&state.scope),
            // These carry no object and merge with a neighbour of their kind. The bound is for those that
            // alternate; it is above `capacity`, so that a bookmark does not wait behind changes.
            LogEntry::SyncAll(_)
            | LogEntry::Bookmark { .. }
            | LogEntry::Confirm(_)
            | LogEntry::Scope { .. } => self.log.len() < 2 * self.options.capacity,
        }
    }

    fn push(&mut self, entry: LogEntry<K>) {
        match (&entry, self.log.back_mut()) {
            // Of several bookmarks in a row only the last one matters.
            (
                LogEntry::Bookmark { scope, version },
                Some(LogEntry::Bookmark {
                    scope: last,
                    version: held,
                }),
            ) if scope == last => {
                *held = version.clone();
                return;
            }
            // One resync delivers every object, so a second one right behind it only adds handlers.
            (LogEntry::SyncAll(ticket), Some(LogEntry::SyncAll(last))) => {
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
            (LogEntry::Apply(_), _) => self.changes += 1,
            (LogEntry::ReplaceAll(state), _) => {
                self.replacing.insert(state.scope.clone());
            }
            _ => {}
        }
        self.log.push_back(entry);
        // A merged entry needs no wake-up: the entry it was merged into has woken the consumer.
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

    /// Removes the next prefix: one whole state, one resync, or a run of changes and bookmarks.
    fn take(&mut self) -> Option<Taken<K>> {
        let taken = match self.log.pop_front()? {
            LogEntry::ReplaceAll(state) => {
                self.replacing.remove(&state.scope);
                let initial = match state.provenance {
                    Provenance::Server => self.count_replaced(&state.scope),
                    Provenance::File => InitialSync::Seed,
                };
                Taken::Whole(Batch::ReplaceAll { state, initial })
            }
            LogEntry::Confirm(scope) => Taken::Whole(Batch::Confirmed {
                initial: self.count_replaced(&scope),
            }),
            LogEntry::SyncAll(ticket) => Taken::Whole(Batch::SyncAll(ticket)),
            LogEntry::Scope {
                scope,
                change,
                revision,
            } => {
                let initial = match change {
                    ScopeChange::Added | ScopeChange::Reselected => InitialSync::Relist,
                    // It was added again meanwhile, and its new state is awaited.
                    ScopeChange::Removed if self.added_again.remove(&scope) => InitialSync::Relist,
                    ScopeChange::Removed => self.count_replaced(&scope),
                };
                Taken::Whole(Batch::Scope {
                    scope,
                    change,
                    revision,
                    initial,
                })
            }
            first => Taken::Changes(self.take_changes(first)),
        };
        self.taken += 1;
        // All of them, not one: which of them has room now depends on what each wants to send.
        self.producers.drain(..).for_each(Waker::wake);
        Some(taken)
    }

    fn count_replaced(&mut self, scope: &Scope) -> InitialSync {
        match (self.unsynced.remove(scope), self.unsynced.is_empty()) {
            (false, _) => InitialSync::Relist,
            (true, false) => InitialSync::First,
            (true, true) => InitialSync::Completes,
        }
    }

    /// A run ends at a whole state or a resync: what was sent before either of them is committed before it.
    fn take_changes(&mut self, first: LogEntry<K>) -> Vec<LogEntry<K>> {
        let mut run = Vec::with_capacity(self.options.batch.min(self.log.len() + 1));
        run.push(first);
        while run.len() < self.options.batch
            && matches!(
                self.log.front(),
                Some(LogEntry::Apply(_) | LogEntry::Bookmark { .. })
            )
        {
            run.extend(self.log.pop_front());
        }
        let changes = run.iter().filter(|entry| matches!(entry, LogEntry::Apply(_)));
        self.changes -= changes.count();
        run
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "queue_model.rs"]
mod model;
#[cfg(all(test, not(feature = "__model")))]
#[path = "queue_tests.rs"]
mod tests;
