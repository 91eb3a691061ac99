//! The events that wait for one handler: exact up to a limit, folded per object past it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use tokio::time::Instant;

use super::arrivals::Arrivals;
use crate::handler::{Departure, Notification, Origin, Overflow, UpdateCause};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::storage::Stored;
use crate::store::Snapshot;

/// What a handler's task takes from its buffer.
pub(super) enum Item<K> {
    /// An event for the handler.
    Event(Notification<K>),
    /// The mark after the last event of the initial state.
    InitialEnd,
}

/// Whether a handler stays connected after a push.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It stays connected.
    Kept,
    /// The buffer is full and its policy is to disconnect.
    Overflowed,
}

/// Whether events past the limit are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferMode {
    /// Every event is delivered as it happened.
    Exact,
    /// The handler lags: past the limit it receives only the newest state of each object, until it has
    /// caught up.
    Folding,
}

impl BufferMode {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::Folding => "Folding",
        }
    }
}

/// A queue of events with a limit.
///
/// While nothing is folded, everything goes through `exact`. Past the limit new events go into `folded`,
/// which holds one entry per object, and only when it is empty again does `exact` take over.
pub(super) struct Buffer<K> {
    limit: usize,
    overflow: Overflow,
    replay: Replay<K>,
    /// When the handler was added with objects to replay.
    replayed_at: Option<Instant>,
    exact: VecDeque<Item<K>>,
    /// The number of the first entry of `exact`. Entries are numbered in the order of arrival, and those of
    /// `exact` have no gaps: nothing is folded before or between them.
    exact_first: u64,
    arrivals: Arrivals,
    /// Marks that wait, in `exact` or in `folded`. Only events count towards the limit.
    marks: usize,
    /// Events in `exact` that are changes, and not part of a whole state. Only these can disconnect a
    /// handler.
    news: usize,
    /// The objects that have a resync waiting, if the policy is to disconnect.
    resyncs: HashSet<ObjectKey>,
    folded: BTreeMap<u64, Folded<K>>,
    /// The position of each key's entry in `folded`.
    positions: HashMap<ObjectKey, u64>,
    next_position: u64,
}

/// The objects of the store at the time the handler was added, delivered before anything else. They do not
/// count towards the limit.
enum Replay<K> {
    None,
    /// Not listed yet: a snapshot is cheap to take while the processor is locked, listing it is not.
    Snapshot(Snapshot<K>),
    Objects(std::vec::IntoIter<Stored<K>>),
}

/// What the handler has not received for one key, or a mark between such entries.
enum Folded<K> {
    Object {
        key: ObjectKey,
        outstanding: Outstanding<K>,
    },
    /// An event that cannot be folded because its object has no name.
    Nameless(Notification<K>),
    InitialEnd,
}

/// The outstanding changes of one key, in the fewest events that describe them.
enum Outstanding<K> {
    One(Notification<K>),
    /// The object the handler knows was deleted and another one was created with its name: a deletion, then
    /// an addition.
    Replaced(Departure<K>, Stored<K>, Origin),
}

impl<K: Object> Buffer<K> {
    pub(super) fn new(limit: usize, overflow: Overflow) -> Self {
        Self {
            limit: limit.max(1),
            overflow,
            replay: Replay::None,
            replayed_at: None,
            exact: VecDeque::new(),
            exact_first: 0,
            arrivals: Arrivals::default(),
            marks: 0,
            news: 0,
            resyncs: HashSet::new(),
            folded: BTreeMap::new(),
            positions: HashMap::new(),
            next_position: 0,
        }
    }

    /// The number of events that wait; past the limit, the number of objects. Marks do not count.
    pub(super) fn len(&self) -> usize {
        self.replay.len() + self.queued()
    }

    /// The number of events that count towards the limit.
    fn queued(&self) -> usize {
        self.exact.len() + self.folded.len() - self.marks
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replay.len() == 0 && self.exact.is_empty() && self.folded.is_empty()
    }

    /// Sets the objects that are delivered before anything else.
    pub(super) fn replay(&mut self, snapshot: Snapshot<K>, now: Instant) {
        self.replay = Replay::Snapshot(snapshot);
        self.replayed_at = Some(now);
    }

    /// Records that the next events arrive now.
    pub(super) fn arrive(&mut self, now: Instant) {
        self.arrivals.mark(self.oldest_number(), self.next_position, now);
    }

    /// When the oldest event that waits arrived; `None` if none waits. It may have arrived a little later,
    /// never earlier.
    pub(super) fn oldest(&self) -> Option<Instant> {
        if self.replay.len() > 0 {
            return self.replayed_at;
        }
        match self.queued() {
            // At most marks wait.
            0 => None,
            _ => self.arrivals.of(self.oldest_number()?),
        }
    }

    fn oldest_number(&self) -> Option<u64> {
        match self.exact.is_empty() {
            false => Some(self.exact_first),
            true => self.folded.keys().next().copied(),
        }
    }

    fn push_exact(&mut self, item: Item<K>) {
        if self.exact.is_empty() {
            self.exact_first = self.next_position;
        }
        self.next_position += 1;
        self.exact.push_back(item);
    }

    /// The snapshot of a replay that has not been listed. The caller lists it without the lock and calls
    /// [`set_listed`](Self::set_listed).
    pub(super) fn unlisted(&self) -> Option<Snapshot<K>> {
        match &self.replay {
            Replay::Snapshot(snapshot) => Some(snapshot.clone()),
            Replay::None | Replay::Objects(_) => None,
        }
    }

    pub(super) fn set_listed(&mut self, objects: Vec<Stored<K>>) {
        // The buffer may have been emptied in between, and must not keep objects that no handler will
        // receive.
        if let Replay::Snapshot(_) = self.replay {
            self.replay = Replay::Objects(objects.into_iter());
        }
    }

    pub(super) fn mode(&self) -> BufferMode {
        if self.folded.is_empty() {
            BufferMode::Exact
        } else {
            BufferMode::Folding
        }
    }

    pub(super) fn push(&mut self, event: Notification<K>) -> Pushed {
        // A second resync of an object carries no information while the first one waits. Without this,
        // resyncs alone would fill the memory of a program whose handler is stuck.
        if self.overflow == Overflow::Disconnect && is_resync(&event) && !self.mark_resync(&event) {
            return Pushed::Kept;
        }
        let full = self.queued() >= self.limit;
        match self.overflow {
            Overflow::Disconnect if self.news >= self.limit && is_news(&event) => return Pushed::Overflowed,
            Overflow::Coalesce if full || !self.folded.is_empty() => self.fold(event),
            _ => {
                self.news += usize::from(is_news(&event));
                self.push_exact(Item::Event(event));
            }
        }
        Pushed::Kept
    }

    pub(super) fn push_initial_end(&mut self) {
        if self.folded.is_empty() {
            self.push_exact(Item::InitialEnd);
            self.marks += 1;
        } else {
            self.append(Folded::InitialEnd);
            self.marks += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Item<K>> {
        if let Some(object) = self.replay.next() {
            return Some(Item::Event(Notification::added(object, Origin::Initial)));
        }
        if let Some(item) = self.exact.pop_front() {
            self.exact_first += 1;
            match &item {
                Item::InitialEnd => self.marks -= 1,
                Item::Event(event) => {
                    self.news -= usize::from(is_news(event));
                    if !self.resyncs.is_empty()
                        && is_resync(event)
                        && let Some(key) = event.key()
                    {
                        self.resyncs.remove(&key);
                    }
                }
            }
            if self.exact.is_empty() {
                // A burst must not cost its peak memory forever.
                self.exact.shrink_to(64);
            }
            return Some(item);
        }
        let mut entry = self.folded.first_entry()?;
        if let Folded::Object { outstanding, .. } = entry.get_mut()
            && let Outstanding::Replaced(deleted, object, origin) = outstanding
        {
            let first = Notification::Deleted(deleted.clone());
            *outstanding = Outstanding::One(Notification::Added {
                object: object.clone(),
                origin: *origin,
            });
            return Some(Item::Event(first));
        }
        let folded = entry.remove();
        if self.folded.is_empty() {
            self.positions = HashMap::new();
        }
        Some(match folded {
            Folded::InitialEnd => {
                self.marks -= 1;
                Item::InitialEnd
            }
            Folded::Nameless(event) => Item::Event(event),
            Folded::Object { key, outstanding } => {
                self.positions.remove(&key);
                match outstanding {
                    Outstanding::One(event) => Item::Event(event),
                    Outstanding::Replaced(..) => unreachable!("a replacement was split above"),
                }
            }
        })
    }

    /// Empties the buffer and returns its contents, to be dropped by the caller.
    pub(super) fn take_all(&mut self) -> Self {
        let empty = Self::new(self.limit, self.overflow);
        std::mem::replace(self, empty)
    }

    /// Records that a resync of an object waits; `false` if one is waiting already.
    fn mark_resync(&mut self, event: &Notification<K>) -> bool {
        event.key().is_none_or(|key| self.resyncs.insert(key))
    }

    fn append(&mut self, entry: Folded<K>) -> u64 {
        let position = self.next_position;
        self.next_position += 1;
        self.folded.insert(position, entry);
        position
    }

    fn fold(&mut self, event: Notification<K>) {
        let Some(key) = event.key() else {
            self.append(Folded::Nameless(event));
            return;
        };
        let Some(&position) = self.positions.get(&key) else {
            let position = self.append(Folded::Object {
                key: key.clone(),
                outstanding: Outstanding::One(event),
            });
            self.positions.insert(key, position);
            return;
        };
        let Some(Folded::Object { key, outstanding }) = self.folded.remove(&position) else {
            unreachable!("positions and folded entries correspond");
        };
        match merge(outstanding, event) {
            Some(outstanding) => {
                self.folded.insert(position, Folded::Object { key, outstanding });
            }
            None => {
                self.positions.remove(&key);
            }
        }
    }
}

impl<K: Object> Replay<K> {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Snapshot(snapshot) => snapshot.len(),
            Self::Objects(objects) => objects.len(),
        }
    }

    fn next(&mut self) -> Option<Stored<K>> {
        let Self::Objects(objects) = self else {
            return None;
        };
        let object = objects.next();
        if object.is_none() {
            // Frees the list.
            *self = Self::None;
        }
        object
    }
}

/// Whether an event is a change, and not part of a whole state delivered at once. A whole state is bounded
/// by the number of objects and arrives in one piece, so it does not show that the handler is slow.
fn is_news<K>(event: &Notification<K>) -> bool {
    !matches!(
        event,
        Notification::Added {
            origin: Origin::Initial,
            ..
        } | Notification::Updated {
            cause: UpdateCause::Resync,
            ..
        }
    )
}

fn is_resync<K>(event: &Notification<K>) -> bool {
    matches!(
        event,
        Notification::Updated {
            cause: UpdateCause::Resync,
            ..
        }
    )
}

/// Combines the outstanding changes of a key with the next event; `None` if nothing is left to deliver.
fn merge<K>(outstanding: Outstanding<K>, next: Notification<K>) -> Option<Outstanding<K>> {
    use Notification::{Added, Deleted as Removed, Updated};
    Some(match (outstanding, next) {
        // A resync adds nothing to a change that is not yet delivered.
        (
            outstanding,
            Updated {
                cause: UpdateCause::Resync,
                ..
            },
        ) => outstanding,
        (Outstanding::One(Added { origin, .. }), Updated { new, .. } | Added { object: new, .. }) => {
            Outstanding::One(Added { object: new, origin })
        }
        (Outstanding::One(Added { .. }), Removed(_)) => return None,
        (Outstanding::One(Updated { old, .. }), Updated { new, .. } | Added { object: new, .. }) => {
            Outstanding::One(Updated {
                old,
                new,
                cause: UpdateCause::Change,
            })
        }
        (Outstanding::One(Updated { .. }), Removed(deleted)) => Outstanding::One(Removed(deleted)),
        (Outstanding::One(Removed(deleted)), Added { object, origin }) => {
            Outstanding::Replaced(deleted, object, origin)
        }
        (Outstanding::One(Removed(deleted)), Updated { new, .. }) => {
            Outstanding::Replaced(deleted, new, Origin::Live)
        }
        (Outstanding::One(Removed(deleted)), Removed(_)) => Outstanding::One(Removed(deleted)),
        (Outstanding::Replaced(deleted, _, origin), Updated { new, .. } | Added { object: new, .. }) => {
            Outstanding::Replaced(deleted, new, origin)
        }
        (Outstanding::Replaced(deleted, ..), Removed(_)) => Outstanding::One(Removed(deleted)),
    })
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "buffer_tests.rs"]
mod tests;
