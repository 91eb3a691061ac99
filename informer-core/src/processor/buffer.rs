//! What waits for one handler: exact up to a limit, folded per object past it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::handler::{Deleted, Event, Origin, Overflow, UpdateCause};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::store::Snapshot;

/// The next thing a handler's task does.
pub(super) enum Item<K> {
    /// Tell the handler.
    Event(Event<K>),
    /// The handler has received the whole initial state.
    InitialEnd,
}

/// Whether a handler stays connected after a push.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It does.
    Kept,
    /// The buffer is full and its policy is to disconnect.
    Overflowed,
}

/// Whether events past the limit are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferMode {
    /// Every event is delivered as it happened.
    Exact,
    /// The handler lags: past the limit it receives only the newest state of each object, until it has caught
    /// up.
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
    exact: VecDeque<Item<K>>,
    /// How many marks wait, here or among the folded: only events count towards the limit.
    marks: usize,
    /// How many of the events are changes, and not part of a whole state: only these can disconnect a
    /// handler.
    news: usize,
    /// The objects a resync waits for, where the policy is to disconnect.
    resyncs: HashSet<ObjectKey>,
    folded: BTreeMap<u64, Folded<K>>,
    /// Where the entry of each key stands in `folded`.
    places: HashMap<ObjectKey, u64>,
    next_place: u64,
}

/// The objects of the store at the time the handler was added, delivered before anything else. They do not
/// count towards the limit.
enum Replay<K> {
    None,
    /// Not listed yet: a snapshot is cheap to take while the processor is locked, listing it is not.
    Snapshot(Snapshot<K>),
    Objects(std::vec::IntoIter<Arc<K>>),
}

/// What the handler is still to receive for one key, or a mark in the line.
enum Folded<K> {
    Object {
        key: ObjectKey,
        pending: Pending<K>,
    },
    /// An event that cannot be folded because its object has no name any more.
    Nameless(Event<K>),
    InitialEnd,
}

/// The outstanding changes of one key, in as few events as describe them truthfully.
enum Pending<K> {
    One(Event<K>),
    /// The object the handler knows was deleted, and another one has its name: a deletion, then an addition.
    Replaced(Deleted<K>, Arc<K>, Origin),
}

impl<K: Object> Buffer<K> {
    pub(super) fn new(limit: usize, overflow: Overflow) -> Self {
        Self {
            limit: limit.max(1),
            overflow,
            replay: Replay::None,
            exact: VecDeque::new(),
            marks: 0,
            news: 0,
            resyncs: HashSet::new(),
            folded: BTreeMap::new(),
            places: HashMap::new(),
            next_place: 0,
        }
    }

    /// How many events wait; past the limit, for how many objects. The mark of the initial state is not one.
    pub(super) fn len(&self) -> usize {
        self.replay.len() + self.queued()
    }

    /// How many events count towards the limit.
    fn queued(&self) -> usize {
        self.exact.len() + self.folded.len() - self.marks
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replay.len() == 0 && self.exact.is_empty() && self.folded.is_empty()
    }

    /// Delivers the objects of a snapshot before anything else.
    pub(super) fn replay(&mut self, snapshot: Snapshot<K>) {
        self.replay = Replay::Snapshot(snapshot);
    }

    /// The snapshot to be replayed, if it has not been listed yet. The caller lists it without holding a lock
    /// and calls [`set_listed`](Self::set_listed).
    pub(super) fn unlisted(&self) -> Option<Snapshot<K>> {
        match &self.replay {
            Replay::Snapshot(snapshot) => Some(snapshot.clone()),
            Replay::None | Replay::Objects(_) => None,
        }
    }

    pub(super) fn set_listed(&mut self, objects: Vec<Arc<K>>) {
        // The buffer may have been emptied in between, and must not keep what no handler will receive.
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

    pub(super) fn push(&mut self, event: Event<K>) -> Pushed {
        // A handler that is still to receive a resync learns nothing from another one; without this, resyncs
        // alone would fill the memory of a program whose handler is stuck.
        if self.overflow == Overflow::Disconnect && is_resync(&event) && !self.mark_resync(&event) {
            return Pushed::Kept;
        }
        let full = self.queued() >= self.limit;
        match self.overflow {
            Overflow::Disconnect if self.news >= self.limit && is_news(&event) => return Pushed::Overflowed,
            Overflow::Coalesce if full || !self.folded.is_empty() => self.fold(event),
            _ => {
                self.news += usize::from(is_news(&event));
                self.exact.push_back(Item::Event(event));
            }
        }
        Pushed::Kept
    }

    pub(super) fn push_initial_end(&mut self) {
        if self.folded.is_empty() {
            self.exact.push_back(Item::InitialEnd);
            self.marks += 1;
        } else {
            self.append(Folded::InitialEnd);
            self.marks += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Item<K>> {
        if let Some(object) = self.replay.next() {
            return Some(Item::Event(Event::added(object, Origin::Initial)));
        }
        if let Some(item) = self.exact.pop_front() {
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
                // A burst must not cost its peak for ever.
                self.exact.shrink_to(64);
            }
            return Some(item);
        }
        let mut entry = self.folded.first_entry()?;
        if let Folded::Object { pending, .. } = entry.get_mut()
            && let Pending::Replaced(deleted, object, origin) = pending
        {
            let first = Event::Deleted(deleted.clone());
            *pending = Pending::One(Event::Added {
                object: object.clone(),
                origin: *origin,
            });
            return Some(Item::Event(first));
        }
        let folded = entry.remove();
        if self.folded.is_empty() {
            self.places = HashMap::new();
        }
        Some(match folded {
            Folded::InitialEnd => {
                self.marks -= 1;
                Item::InitialEnd
            }
            Folded::Nameless(event) => Item::Event(event),
            Folded::Object { key, pending } => {
                self.places.remove(&key);
                match pending {
                    Pending::One(event) => Item::Event(event),
                    Pending::Replaced(..) => unreachable!("taken apart above"),
                }
            }
        })
    }

    /// Empties the buffer and returns what it held.
    pub(super) fn take_all(&mut self) -> Self {
        let empty = Self::new(self.limit, self.overflow);
        std::mem::replace(self, empty)
    }

    /// Notes that a resync of an object waits; `false` if one does already.
    fn mark_resync(&mut self, event: &Event<K>) -> bool {
        event.key().is_none_or(|key| self.resyncs.insert(key))
    }

    fn append(&mut self, entry: Folded<K>) -> u64 {
        let place = self.next_place;
        self.next_place += 1;
        self.folded.insert(place, entry);
        place
    }

    fn fold(&mut self, event: Event<K>) {
        let Some(key) = event.key() else {
            self.append(Folded::Nameless(event));
            return;
        };
        let Some(&place) = self.places.get(&key) else {
            let place = self.append(Folded::Object {
                key: key.clone(),
                pending: Pending::One(event),
            });
            self.places.insert(key, place);
            return;
        };
        let Some(Folded::Object { key, pending }) = self.folded.remove(&place) else {
            unreachable!("a place leads to the entry of its key");
        };
        match merge(pending, event) {
            Some(pending) => {
                self.folded.insert(place, Folded::Object { key, pending });
            }
            None => {
                self.places.remove(&key);
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

    fn next(&mut self) -> Option<Arc<K>> {
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

/// Whether an event is a change, and not part of a whole state delivered at once: that is bounded by the
/// number of objects, comes in one piece however quick the handler is, and so says nothing about it.
fn is_news<K>(event: &Event<K>) -> bool {
    !matches!(
        event,
        Event::Added {
            origin: Origin::Initial,
            ..
        } | Event::Updated {
            cause: UpdateCause::Resync,
            ..
        }
    )
}

fn is_resync<K>(event: &Event<K>) -> bool {
    matches!(
        event,
        Event::Updated {
            cause: UpdateCause::Resync,
            ..
        }
    )
}

/// Combines what a handler has not received yet with what happened next; `None` if nothing is left to
/// deliver.
fn merge<K>(pending: Pending<K>, next: Event<K>) -> Option<Pending<K>> {
    use Event::{Added, Deleted as Gone, Updated};
    Some(match (pending, next) {
        // A resync adds nothing to a change that is still to be delivered.
        (
            pending,
            Updated {
                cause: UpdateCause::Resync,
                ..
            },
        ) => pending,
        (Pending::One(Added { origin, .. }), Updated { new, .. } | Added { object: new, .. }) => {
            Pending::One(Added { object: new, origin })
        }
        (Pending::One(Added { .. }), Gone(_)) => return None,
        (Pending::One(Updated { old, .. }), Updated { new, .. } | Added { object: new, .. }) => {
            Pending::One(Updated {
                old,
                new,
                cause: UpdateCause::Change,
            })
        }
        (Pending::One(Updated { .. }), Gone(deleted)) => Pending::One(Gone(deleted)),
        (Pending::One(Gone(deleted)), Added { object, origin }) => Pending::Replaced(deleted, object, origin),
        (Pending::One(Gone(deleted)), Updated { new, .. }) => Pending::Replaced(deleted, new, Origin::Live),
        (Pending::One(Gone(deleted)), Gone(_)) => Pending::One(Gone(deleted)),
        (Pending::Replaced(deleted, _, origin), Updated { new, .. } | Added { object: new, .. }) => {
            Pending::Replaced(deleted, new, origin)
        }
        (Pending::Replaced(deleted, ..), Gone(_)) => Pending::One(Gone(deleted)),
    })
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "buffer_tests.rs"]
mod tests;
