//! The state of a queue: what is known of each key. No waiting and no waking happens here.

use std::collections::hash_map::{self, HashMap};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::delayed::Delayed;
use super::lines::{KEPT, Lines};
use super::moment::Moment;
use super::{Left, Priorities, Priority, QueueKey, QueueStatus};
use crate::mutant;

/// What is known of a key that is ready or being processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// In a line.
    Queued { priority: Priority, since: Moment },
    /// An item exists.
    Processing,
    /// An item exists, and the key was added again: it is queued when the item is dropped.
    ProcessingAgain { priority: Priority },
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
    pub(super) run: Run,
}

/// The number of an item, to find its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run(u64);

pub(super) struct State<T> {
    phase: Phase,
    entries: HashMap<T, Entry>,
    lines: Lines<T>,
    delayed: Delayed<T>,
    /// When each existing item was taken.
    running: BTreeMap<Run, Moment>,
    /// The number of keys that are `ProcessingAgain`.
    again: usize,
    runs: u64,
    adds: u64,
    retries: u64,
}

impl<T: QueueKey> State<T> {
    pub(super) fn new(priorities: Priorities) -> Self {
        Self {
            phase: Phase::Open,
            entries: HashMap::new(),
            lines: Lines::new(priorities),
            delayed: Delayed::new(),
            running: BTreeMap::new(),
            again: 0,
            runs: 0,
            adds: 0,
            retries: 0,
        }
    }

    /// Adds the delayed keys whose time has come. Every operation begins with it, so keys become ready in the
    /// order of their times, whether or not a task waits.
    pub(super) fn advance(&mut self, now: Moment) {
        while self.phase == Phase::Open {
            let Some((key, at, priority)) = self.delayed.pop_due(now) else {
                return;
            };
            self.insert(key, priority, at);
        }
    }

    pub(super) fn add(&mut self, key: T, priority: Priority, now: Moment) {
        self.advance(now);
        if self.phase == Phase::Open {
            self.insert(key, priority, now);
        }
    }

    pub(super) fn add_after(&mut self, key: T, delay: Duration, priority: Priority, now: Moment) {
        if self.phase != Phase::Open {
            return;
        }
        self.retries += 1;
        match delay.is_zero() {
            true => self.add(key, priority, now),
            false => self.delayed.insert(key, now.after(delay), priority),
        }
    }

    fn insert(&mut self, key: T, priority: Priority, since: Moment) {
        let priority = self.lines.effective(priority);
        match self.entries.entry(key) {
            hash_map::Entry::Vacant(vacant) => {
                self.adds += 1;
                self.lines.push(vacant.key().clone(), priority, since);
                vacant.insert(Entry::Queued { priority, since });
            }
            hash_map::Entry::Occupied(mut held) => match held.get_mut() {
                Entry::Queued { priority: queued, .. } => {
                    if *queued < priority {
                        *queued = priority;
                        let key = held.key().clone();
                        self.lines.raise(key, &self.entries);
                    }
                }
                entry @ Entry::Processing => {
                    if mutant::is("C2") {
                        return;
                    }
                    self.adds += 1;
                    if mutant::is("C1") {
                        *entry = Entry::Queued { priority, since };
                        self.lines.push(held.key().clone(), priority, since);
                        return;
                    }
                    self.again += 1;
                    *entry = Entry::ProcessingAgain { priority };
                }
                Entry::ProcessingAgain { priority: wanted } => *wanted = priority.max(*wanted),
            },
        }
    }

    pub(super) fn cancel_delayed(&mut self, key: &T, now: Moment) -> bool {
        self.advance(now);
        self.delayed.remove(key)
    }

    /// Takes the next key.
    pub(super) fn take(&mut self, now: Moment) -> Option<Taken<T>> {
        self.advance(now);
        let key = self.lines.pop(&self.entries)?;
        let entry = self.entries.get_mut(&key);
        let (priority, since) = match entry.map(|entry| std::mem::replace(entry, Entry::Processing)) {
            Some(Entry::Queued { priority, since }) => (priority, since),
            _ => (Priority::Normal, now),
        };
        let run = Run(self.runs);
        self.runs += 1;
        self.running.insert(run, now);
        Some(Taken {
            key,
            priority,
            waited: now.since(since),
            run,
        })
    }

    /// An item was dropped: its key is queued again if it was added meanwhile.
    pub(super) fn done(&mut self, key: &T, run: Run, now: Moment) {
        self.running.remove(&run);
        self.advance(now);
        match self.entries.remove(key) {
            Some(Entry::ProcessingAgain { priority }) => {
                self.again -= 1;
                self.lines.push(key.clone(), priority, now);
                let since = now;
                self.entries
                    .insert(key.clone(), Entry::Queued { priority, since });
            }
            Some(queued @ Entry::Queued { .. }) => {
                self.entries.insert(key.clone(), queued);
            }
            Some(Entry::Processing) | None => {
                if self.entries.is_empty() && self.entries.capacity() > KEPT {
                    self.entries = HashMap::new();
                }
            }
        }
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
    pub(super) fn lines(&self) -> &Lines<T> {
        &self.lines
    }

    #[cfg(all(test, not(feature = "__model")))]
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
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
        self.phase == Phase::Aborted || (self.is_finished() && self.running.is_empty())
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
        let mut keys = self.lines.take_all(&self.entries);
        for (key, entry) in &mut self.entries {
            if let Entry::ProcessingAgain { .. } = entry {
                *entry = Entry::Processing;
                keys.push(key.clone());
            }
        }
        self.again = 0;
        self.entries.retain(|_, entry| *entry == Entry::Processing);
        let known: HashSet<&T> = keys.iter().collect();
        let delayed = self.delayed.take_all(now).into_iter().map(|(key, _)| key);
        let delayed: Vec<T> = delayed.filter(|key| !known.contains(key)).collect();
        keys.extend(delayed);
        keys
    }

    pub(super) fn status(&mut self, now: Moment) -> QueueStatus {
        self.advance(now);
        let waiting = self.lines.first().filter_map(|key| match self.entries.get(key) {
            Some(Entry::Queued { since, .. }) => Some(now.since(*since)),
            _ => None,
        });
        let running = self.running.values().map(|start| now.since(*start));
        QueueStatus {
            ready: self.lines.len(),
            low_priority: self.lines.low_len(),
            delayed: self.delayed.len(),
            processing: self.running.len(),
            adds: self.adds,
            retries: self.retries,
            oldest_waiting: waiting.max(),
            longest_running: running.clone().next(),
            unfinished: running.sum(),
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "state_tests.rs"]
mod tests;
