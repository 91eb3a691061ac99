//! The keys that are ready: one line per priority, and the turns between them.

use std::collections::{HashMap, VecDeque};

use super::moment::Moment;
use super::state::Entry;
use super::{Priorities, Priority, QueueKey};
use crate::mutant;

/// A line longer than this gives its memory back when it becomes empty.
pub(super) const KEPT: usize = 4_096;

/// The lines of ready keys. A key is in one of them, in the order in which keys became ready.
pub(super) struct Lines<T> {
    normal: VecDeque<T>,
    /// With the time since which a key is ready. An entry is stale if its key was raised: it is skipped. The
    /// first entry is never stale.
    low: VecDeque<(Moment, T)>,
    /// The entries of `low` that are not stale.
    low_len: usize,
    priorities: Priorities,
    /// How many keys of normal priority were taken since the last one of low priority, while one waited.
    turns: u32,
}

impl<T: QueueKey> Lines<T> {
    pub(super) fn new(priorities: Priorities) -> Self {
        Self {
            normal: VecDeque::new(),
            low: VecDeque::new(),
            low_len: 0,
            priorities: priorities.valid(),
            turns: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.low_len
    }

    pub(super) fn low_len(&self) -> usize {
        self.low_len
    }

    /// The priority with which a key is queued.
    pub(super) fn effective(&self, priority: Priority) -> Priority {
        match self.priorities {
            Priorities::Weighted { .. } => priority,
            Priorities::Ignored => Priority::Normal,
        }
    }

    pub(super) fn push(&mut self, key: T, priority: Priority, since: Moment) {
        match priority {
            Priority::Normal => self.normal.push_back(key),
            Priority::Low => {
                self.low.push_back((since, key));
                self.low_len += 1;
            }
        }
    }

    /// Moves a key of low priority to the end of the normal line. Its entry already says so.
    pub(super) fn raise(&mut self, key: T, entries: &HashMap<T, Entry>) {
        self.normal.push_back(key);
        self.low_len -= 1;
        if self.low.len() > 2 * self.low_len + KEPT {
            self.low.retain(|place| is_current(place, entries));
        }
        self.trim(entries);
    }

    /// Removes the key whose turn it is, if any.
    pub(super) fn pop(&mut self, entries: &HashMap<T, Entry>) -> Option<T> {
        if self.low_len > 0 && self.is_turn_of_low() {
            self.turns = 0;
            let (_, key) = self.low.pop_front()?;
            self.low_len -= 1;
            self.trim(entries);
            if self.low.is_empty() && self.low.capacity() > KEPT {
                self.low = VecDeque::new();
            }
            return Some(key);
        }
        let key = self.normal.pop_front()?;
        self.turns = if self.low_len > 0 { self.turns + 1 } else { 0 };
        if self.normal.is_empty() && self.normal.capacity() > KEPT {
            self.normal = VecDeque::new();
        }
        Some(key)
    }

    fn is_turn_of_low(&self) -> bool {
        let every = match self.priorities {
            Priorities::Weighted { low_every } if !mutant::is("C7") => low_every,
            _ => u32::MAX,
        };
        self.normal.is_empty() || self.turns + 1 >= every
    }

    /// The first key of each line.
    pub(super) fn first(&self) -> impl Iterator<Item = &T> {
        let low = self.low.front().map(|(_, key)| key);
        self.normal.front().into_iter().chain(low)
    }

    /// Removes all keys, those of normal priority first.
    pub(super) fn take_all(&mut self, entries: &HashMap<T, Entry>) -> Vec<T> {
        let low = std::mem::take(&mut self.low);
        self.low_len = 0;
        let low = low.into_iter().filter(|place| is_current(place, entries));
        let normal = std::mem::take(&mut self.normal).into_iter();
        normal.chain(low.map(|(_, key)| key)).collect()
    }

    /// Removes stale entries at the front.
    fn trim(&mut self, entries: &HashMap<T, Entry>) {
        while let Some(place) = self.low.front() {
            if is_current(place, entries) {
                return;
            }
            self.low.pop_front();
        }
    }
}

/// Whether the key still waits with low priority since then.
///
/// An entry from before the key was raised can pass as current if the key was taken, finished and added again
/// within one tick of the clock. The key is then taken earlier, and its later entry becomes stale.
fn is_current<T: QueueKey>((since, key): &(Moment, T), entries: &HashMap<T, Entry>) -> bool {
    let current = Entry::Queued {
        priority: Priority::Low,
        since: *since,
    };
    entries.get(key) == Some(&current)
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "lines_tests.rs"]
mod tests;
