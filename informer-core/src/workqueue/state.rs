//! The state of a queue: what is known of each key. No waiting and no waking happens here.

use std::collections::HashSet;
use std::time::Duration;

use super::delayed::Delayed;
use super::lines::Lines;
use super::moment::{Clock, Moment};
use super::slots::{List, SlotId, Slots};
use super::{Left, Priorities, Priority, QueueKey, QueueStatus};
use crate::mutant;
use crate::sync::{QUEUE, Recorder};

/// What is known of a key that is ready or being processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// In the line of its priority.
    Queued(Priority),
    /// An item exists.
    Processing,
    /// An item exists, and the key was added again: it is queued when the item is dropped.
    ProcessingAgain(Priority),
}

/// Whether keys can be added and taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing can be added. What is queued can be taken.
    ShutDown,
    /// Nothing can be added or taken.
    Aborted,
}

/// A key that was taken, for an item.
pub(super) struct Taken<T> {
    pub(super) key: T,
    pub(super) priority: Priority,
    pub(super) waited: Duration,
    pub(super) slot: SlotId,
}

/// Whether an operation changed the state, so that a waiter may have something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Changed,
}

/// The key of an addition.
pub(super) enum Given<'a, T> {
    Owned(T),
    /// Cloned only if the key gets a slot.
    Borrowed(&'a T),
}

impl<T: QueueKey> Given<'_, T> {
    fn key(&self) -> &T {
        match self {
            Self::Owned(key) => key,
            Self::Borrowed(key) => key,
        }
    }

    fn into_key(self) -> T {
        match self {
            Self::Owned(key) => key,
            Self::Borrowed(key) => key.clone(),
        }
    }
}

pub(super) struct State<T> {
    phase: Phase,
    slots: Slots<T>,
    /// The keys that are `Queued`.
    lines: Lines,
    /// The other keys, in the order in which they were taken.
    running: List,
    /// The number of keys that are `ProcessingAgain`.
    again: usize,
    delayed: Delayed<T>,
    adds: u64,
    retries: u64,
    /// How long keys were ready before they were taken.
    pub(super) waits: Recorder,
    /// How long items existed.
    pub(super) work: Recorder,
}

impl<T: QueueKey> State<T> {
    pub(super) fn new(priorities: Priorities) -> Self {
        Self {
            phase: Phase::Open,
            slots: Slots::new(),
            lines: Lines::new(priorities),
            running: List::default(),
            again: 0,
            delayed: Delayed::new(),
            adds: 0,
            retries: 0,
            waits: Recorder::new(QUEUE),
            work: Recorder::new(QUEUE),
        }
    }

    /// Adds the delayed keys whose time has come. Every operation begins with it, so keys become ready in the
    /// order of their times, whether or not a task waits.
    pub(super) fn advance(&mut self, now: Moment) {
        while self.phase == Phase::Open {
            let Some((key, at, priority)) = self.delayed.pop_due(now) else {
                return;
            };
            self.insert(Given::Owned(key), priority, || at);
        }
    }

    /// Like [`advance`](Self::advance), but reads the clock only if a key is delayed.
    fn advance_by(&mut self, clock: &Clock) {
        if self.delayed.len() > 0 {
            self.advance(clock.now());
        }
    }

    pub(super) fn add(&mut self, key: Given<'_, T>, priority: Priority, clock: &Clock) -> Effect {
        let has_delayed = self.delayed.len() > 0;
        self.advance_by(clock);
        let effect = match self.phase {
            Phase::Open => self.insert(key, priority, || clock.now()),
            Phase::ShutDown | Phase::Aborted => Effect::None,
        };
        if has_delayed { Effect::Changed } else { effect }
    }

    pub(super) fn add_after(&mut self, key: T, delay: Duration, priority: Priority, clock: &Clock) {
        if self.phase != Phase::Open {
            return;
        }
        self.retries += 1;
        match delay.is_zero() {
            true => _ = self.add(Given::Owned(key), priority, clock),
            false => self.delayed.insert(key, clock.now().after(delay), priority),
        }
    }

    /// Calls `since` only if the key gets a slot: most additions of a busy queue find the key in one.
    fn insert(&mut self, key: Given<'_, T>, priority: Priority, since: impl FnOnce() -> Moment) -> Effect {
        let priority = self.lines.effective(priority);
        let hash = self.slots.hash(key.key());
        let known = self.slots.find(hash, key.key());
        let known = known.map(|id| (id, &mut self.slots.get_mut(id).entry));
        match known {
            Some((id, entry @ Entry::Queued(Priority::Low))) if priority == Priority::Normal => {
                *entry = Entry::Queued(priority);
                self.lines.raise(&mut self.slots, id);
            }
            Some((_, Entry::Queued(_))) => return Effect::None,
            Some((_, Entry::Processing)) if mutant::is("C2") => return Effect::None,
            Some((_, entry @ Entry::Processing)) if !mutant::is("C1") => {
                *entry = Entry::ProcessingAgain(priority);
                self.again += 1;
                self.adds += 1;
            }
            Some((_, Entry::ProcessingAgain(wanted))) => *wanted = priority.max(*wanted),
            Some((_, Entry::Processing)) | None => {
                let entry = Entry::Queued(priority);
                let id = self.slots.insert(hash, key.into_key(), entry, since());
                self.lines.push(&mut self.slots, id, priority);
                self.adds += 1;
            }
        }
        Effect::Changed
    }

    pub(super) fn cancel_delayed(&mut self, key: &T, now: Moment) -> bool {
        self.advance(now);
        self.delayed.remove(key)
    }

    /// Takes the next key.
    pub(super) fn take(&mut self, clock: &Clock) -> Option<Taken<T>> {
        self.advance_by(clock);
        let id = self.lines.pop(&mut self.slots)?;
        let now = clock.now();
        self.slots.push(&mut self.running, id);
        let slot = self.slots.get_mut(id);
        let priority = match std::mem::replace(&mut slot.entry, Entry::Processing) {
            Entry::Queued(priority) | Entry::ProcessingAgain(priority) => priority,
            Entry::Processing => Priority::Normal,
        };
        let since = std::mem::replace(&mut slot.since, now);
        self.waits.record(|| now.since(since));
        Some(Taken {
            key: slot.key.clone(),
            priority,
            waited: now.since(since),
            slot: id,
        })
    }

    /// An item was dropped: its key is queued again if it was added meanwhile.
    pub(super) fn done(&mut self, id: SlotId, clock: &Clock) {
        self.advance_by(clock);
        self.slots.unlink(&mut self.running, id);
        let slot = self.slots.get_mut(id);
        self.work.record(|| clock.now().since(slot.since));
        let Entry::ProcessingAgain(priority) = slot.entry else {
            self.slots.remove(id);
            return;
        };
        slot.entry = Entry::Queued(priority);
        slot.since = clock.now();
        self.again -= 1;
        self.lines.push(&mut self.slots, id, priority);
    }

    /// When the next delayed key becomes ready.
    pub(super) fn next_due(&self) -> Option<Moment> {
        match self.phase {
            Phase::Open => self.delayed.earliest(),
            Phase::ShutDown | Phase::Aborted => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    #[cfg(all(test, not(feature = "__model")))]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Whether no further key will be taken.
    pub(super) fn is_finished(&self) -> bool {
        self.is_shut_down() && self.lines.len() == 0 && self.again == 0
    }

    /// Whether a drain has ended.
    pub(super) fn is_drained(&self) -> bool {
        self.phase == Phase::Aborted || (self.is_finished() && self.running.len() == 0)
    }

    pub(super) fn shut_down(&mut self, now: Moment) {
        self.advance(now);
        if self.phase == Phase::Open {
            self.phase = Phase::ShutDown;
        }
    }

    /// The result of a drain.
    pub(super) fn take_left(&mut self, now: Moment) -> Left<T> {
        Left {
            delayed: self.delayed.take_all(now),
            running: self.running.len(),
        }
    }

    /// Takes back each key that is queued, delayed or was added again while being processed, once.
    pub(super) fn abort(&mut self, now: Moment) -> Vec<T> {
        self.phase = Phase::Aborted;
        let mut keys = Vec::with_capacity(self.lines.len() + self.again + self.delayed.len());
        while let Some(id) = self.lines.pop_any(&mut self.slots) {
            keys.push(self.slots.remove(id));
        }
        let again = self.slots.iter(&self.running);
        let again = again.filter(|(_, slot)| matches!(slot.entry, Entry::ProcessingAgain(_)));
        for id in again.map(|(id, _)| id).collect::<Vec<_>>() {
            let slot = self.slots.get_mut(id);
            slot.entry = Entry::Processing;
            keys.push(slot.key.clone());
        }
        self.again = 0;
        let known: HashSet<&T> = keys.iter().collect();
        let delayed = self.delayed.take_all(now).into_iter().map(|(key, _)| key);
        let delayed: Vec<T> = delayed.filter(|key| !known.contains(key)).collect();
        keys.extend(delayed);
        keys
    }

    pub(super) fn status(&mut self, now: Moment) -> QueueStatus {
        self.advance(now);
        let waiting = self.lines.first().map(|id| now.since(self.slots.get(id).since));
        let running = || {
            self.slots
                .iter(&self.running)
                .map(|(_, slot)| now.since(slot.since))
        };
        QueueStatus {
            ready: self.lines.len(),
            low_priority: self.lines.low_len(),
            delayed: self.delayed.len(),
            processing: self.running.len(),
            adds: self.adds,
            retries: self.retries,
            oldest_waiting: waiting.max(),
            longest_running: running().next(),
            unfinished: running().sum(),
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "state_tests.rs"]
mod tests;
