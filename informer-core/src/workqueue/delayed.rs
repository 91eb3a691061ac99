//! Keys that are added at a later time.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::moment::Moment;
use super::{Priority, QueueKey};

/// The delayed keys: each has one time, the earliest that was requested.
pub(super) struct Delayed<T> {
    /// In order of time, then of insertion.
    times: BTreeMap<Place, T>,
    places: HashMap<T, (Place, Priority)>,
    next: u64,
}

/// The time of a key, and a number that orders keys of the same time.
type Place = (Moment, u64);

impl<T: QueueKey> Delayed<T> {
    pub(super) fn new() -> Self {
        Self {
            times: BTreeMap::new(),
            places: HashMap::new(),
            next: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Inserts a key. If it has a time, the earlier time and the higher priority are kept.
    pub(super) fn insert(&mut self, key: T, at: Moment, priority: Priority) {
        let place = (at, self.next);
        match self.places.entry(key) {
            Entry::Vacant(vacant) => {
                self.times.insert(place, vacant.key().clone());
                vacant.insert((place, priority));
            }
            Entry::Occupied(mut held) => {
                let (old, held_priority) = held.get_mut();
                *held_priority = priority.max(*held_priority);
                if old.0 <= at {
                    return;
                }
                if let Some(key) = self.times.remove(old) {
                    self.times.insert(place, key);
                }
                *old = place;
            }
        }
        self.next += 1;
    }

    pub(super) fn remove(&mut self, key: &T) -> bool {
        let Some((place, _)) = self.places.remove(key) else {
            return false;
        };
        self.times.remove(&place);
        true
    }

    /// The earliest time.
    pub(super) fn earliest(&self) -> Option<Moment> {
        self.times.first_key_value().map(|((at, _), _)| *at)
    }

    /// Removes the earliest key whose time has come.
    pub(super) fn pop_due(&mut self, now: Moment) -> Option<(T, Moment, Priority)> {
        if self.earliest()? > now {
            return None;
        }
        let ((at, _), key) = self.times.pop_first()?;
        let (_, priority) = self.places.remove(&key)?;
        Some((key, at, priority))
    }

    /// Removes all keys, and returns them with their remaining delays.
    pub(super) fn take_all(&mut self, now: Moment) -> Vec<(T, Duration)> {
        self.places = HashMap::new();
        let times = std::mem::take(&mut self.times).into_iter();
        times.map(|((at, _), key)| (key, at.since(now))).collect()
    }
}
