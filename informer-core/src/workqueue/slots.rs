//! The keys of a queue: each in a numbered slot, which is in one list.
//!
//! A key is hashed and stored once. Items and lists refer to its slot by number, so that taking and finishing
//! a key needs no lookup, and a key can leave any place of its list.

use std::hash::BuildHasher as _;
use std::num::NonZeroU32;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::QueueKey;
use super::moment::Moment;
use super::state::Entry;

/// Slots up to this number are kept when the queue becomes empty; the memory of more is given back.
pub(super) const KEPT: usize = 4_096;

/// The number of a slot. It is valid until the slot is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotId(NonZeroU32);

impl SlotId {
    fn of(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("four billion keys do not fit into memory"))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A key, and what is known of it.
pub(super) struct Slot<T> {
    pub(super) key: T,
    pub(super) entry: Entry,
    /// When the key became ready, or when its item was taken.
    pub(super) since: Moment,
    hash: u64,
    previous: Option<SlotId>,
    next: Option<SlotId>,
}

/// All keys that are ready or being processed.
pub(super) struct Slots<T> {
    slots: Vec<Option<Slot<T>>>,
    free: Vec<SlotId>,
    table: HashTable<SlotId>,
    /// Seeded at random, as the names of objects are chosen by users of the cluster. Faster than that of std.
    hasher: DefaultHashBuilder,
}

/// A list of slots, in the order in which they were pushed.
#[derive(Default)]
pub(super) struct List {
    first: Option<SlotId>,
    last: Option<SlotId>,
    len: usize,
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn first(&self) -> Option<SlotId> {
        self.first
    }
}

impl<T: QueueKey> Slots<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub(super) fn hash(&self, key: &T) -> u64 {
        self.hasher.hash_one(key)
    }

    pub(super) fn find(&self, hash: u64, key: &T) -> Option<SlotId> {
        let found = self.table.find(hash, |id| self.get(*id).key == *key);
        found.copied()
    }

    /// Inserts a key that has no slot. It is in no list yet.
    pub(super) fn insert(&mut self, hash: u64, key: T, entry: Entry, since: Moment) -> SlotId {
        let slot = Some(Slot {
            key,
            entry,
            since,
            hash,
            previous: None,
            next: None,
        });
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                SlotId::of(self.slots.len() - 1)
            }
        };
        let slots = &self.slots;
        let hash_of = |id: &SlotId| slots[id.index()].as_ref().map_or(0, |slot| slot.hash);
        self.table.insert_unique(hash, id, hash_of);
        id
    }

    /// Removes a slot that is in no list, and returns its key.
    pub(super) fn remove(&mut self, id: SlotId) -> T {
        let slot = self.slots[id.index()].take().expect("the slot of a key");
        if let Ok(found) = self.table.find_entry(slot.hash, |held| *held == id) {
            found.remove();
        }
        self.free.push(id);
        if self.table.is_empty() && self.slots.capacity() > KEPT {
            *self = Self::new();
        }
        slot.key
    }

    pub(super) fn get(&self, id: SlotId) -> &Slot<T> {
        self.slots[id.index()].as_ref().expect("the slot of a key")
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> &mut Slot<T> {
        self.slots[id.index()].as_mut().expect("the slot of a key")
    }

    pub(super) fn push(&mut self, list: &mut List, id: SlotId) {
        let previous = list.last.replace(id);
        match previous {
            Some(previous) => self.get_mut(previous).next = Some(id),
            None => list.first = Some(id),
        }
        let slot = self.get_mut(id);
        (slot.previous, slot.next) = (previous, None);
        list.len += 1;
    }

    /// Takes a slot out of its list.
    pub(super) fn unlink(&mut self, list: &mut List, id: SlotId) {
        let slot = self.get_mut(id);
        let (previous, next) = (slot.previous.take(), slot.next.take());
        match previous {
            Some(previous) => self.get_mut(previous).next = next,
            None => list.first = next,
        }
        match next {
            Some(next) => self.get_mut(next).previous = previous,
            None => list.last = previous,
        }
        list.len -= 1;
    }

    /// The slots of a list.
    pub(super) fn iter(&self, list: &List) -> impl Iterator<Item = (SlotId, &Slot<T>)> {
        let mut next = list.first;
        std::iter::from_fn(move || {
            let id = next?;
            let slot = self.get(id);
            next = slot.next;
            Some((id, slot))
        })
    }

    /// The number of slots that fit without more memory.
    #[cfg(all(test, not(feature = "__model")))]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}
