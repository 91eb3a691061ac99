//! The keys that are ready: one line per priority, and the turns between them.

use super::slots::{List, SlotId, Slots};
use super::{Priorities, Priority, QueueKey};
use crate::mutant;

/// The lines of ready keys. A key is in one of them, in the order in which keys became ready.
pub(super) struct Lines {
    normal: List,
    low: List,
    priorities: Priorities,
    /// How many keys of normal priority were taken since the last one of low priority, while one waited.
    turns: u32,
}

impl Lines {
    pub(super) fn new(priorities: Priorities) -> Self {
        Self {
            normal: List::default(),
            low: List::default(),
            priorities: priorities.valid(),
            turns: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.low.len()
    }

    pub(super) fn low_len(&self) -> usize {
        self.low.len()
    }

    /// The priority with which a key is queued.
    pub(super) fn effective(&self, priority: Priority) -> Priority {
        match self.priorities {
            Priorities::Weighted { .. } => priority,
            Priorities::Ignored => Priority::Normal,
        }
    }

    pub(super) fn push<T: QueueKey>(&mut self, slots: &mut Slots<T>, id: SlotId, priority: Priority) {
        match priority {
            Priority::Normal => slots.push(&mut self.normal, id),
            Priority::Low => slots.push(&mut self.low, id),
        }
    }

    /// Moves a key of low priority to the end of the normal line.
    pub(super) fn raise<T: QueueKey>(&mut self, slots: &mut Slots<T>, id: SlotId) {
        slots.unlink(&mut self.low, id);
        slots.push(&mut self.normal, id);
    }

    /// Removes the key whose turn it is, if any.
    pub(super) fn pop<T: QueueKey>(&mut self, slots: &mut Slots<T>) -> Option<SlotId> {
        if let Some(id) = self.low.first().filter(|_| self.is_turn_of_low()) {
            self.turns = 0;
            slots.unlink(&mut self.low, id);
            return Some(id);
        }
        let id = self.normal.first()?;
        self.turns = if self.low.len() > 0 { self.turns + 1 } else { 0 };
        slots.unlink(&mut self.normal, id);
        Some(id)
    }

    fn is_turn_of_low(&self) -> bool {
        let every = match self.priorities {
            Priorities::Weighted { low_every } if !mutant::is("C7") => low_every,
            _ => u32::MAX,
        };
        self.normal.len() == 0 || self.turns + 1 >= every
    }

    /// The first key of each line.
    pub(super) fn first(&self) -> impl Iterator<Item = SlotId> {
        self.normal.first().into_iter().chain(self.low.first())
    }

    /// Removes the next key, those of normal priority first.
    pub(super) fn pop_any<T: QueueKey>(&mut self, slots: &mut Slots<T>) -> Option<SlotId> {
        let line = match self.normal.first() {
            Some(_) => &mut self.normal,
            None => &mut self.low,
        };
        let id = line.first()?;
        slots.unlink(line, id);
        Some(id)
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "lines_tests.rs"]
mod tests;
