//! The packed objects of an informer that are decoded: those that somebody holds, and a bounded number of hot
//! ones.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::slot::Purpose;

/// Decoded objects by the id of their slot.
pub(super) struct DecodedObjects<K> {
    /// Every object that was decoded and may still be held, so that all holders share one.
    ///
    /// Not in the slots: a `Weak` keeps the allocation of its object, and every object that was ever read
    /// would keep one. Here they are removed when they are not used.
    shared: HashMap<u64, Weak<K>>,
    /// The size of `shared` at which dead entries are removed.
    limit: usize,
    hot: Hot<K>,
}

/// The objects that were looked up or changed last, in two generations: an object that is used moves to the
/// young one, and when that is full the old one is dropped. An object stays for at least `half` uses of
/// others.
struct Hot<K> {
    half: usize,
    young: HashMap<u64, Arc<K>>,
    old: HashMap<u64, Arc<K>>,
}

/// The limit of `shared` while few objects are held.
const SMALLEST_LIMIT: usize = 64;

/// A decoded object.
pub(super) struct Kept<K> {
    pub(super) object: Arc<K>,
    /// Objects that are no longer kept, to be dropped without a lock.
    pub(super) displaced: HashMap<u64, Arc<K>>,
}

impl<K> DecodedObjects<K> {
    pub(super) fn new(hot_objects: usize) -> Self {
        Self {
            shared: HashMap::new(),
            limit: SMALLEST_LIMIT,
            hot: Hot {
                half: hot_objects.div_ceil(2),
                young: HashMap::new(),
                old: HashMap::new(),
            },
        }
    }

    /// The object, if it is decoded.
    pub(super) fn find(&mut self, id: u64, purpose: Purpose) -> Option<Kept<K>> {
        let object = self.shared.get(&id)?.upgrade()?;
        Some(self.used(id, object, purpose))
    }

    /// Keeps an object that was decoded, unless another one of the same slot is held.
    pub(super) fn keep(&mut self, id: u64, object: Arc<K>, purpose: Purpose) -> Kept<K> {
        let held = self.shared.get(&id).and_then(Weak::upgrade);
        let object = match held {
            Some(held) => held,
            None => {
                self.sweep();
                self.shared.insert(id, Arc::downgrade(&object));
                object
            }
        };
        self.used(id, object, purpose)
    }

    fn used(&mut self, id: u64, object: Arc<K>, purpose: Purpose) -> Kept<K> {
        let displaced = match purpose {
            Purpose::Look => self.hot.insert(id, object.clone()),
            Purpose::Scan => HashMap::new(),
        };
        Kept { object, displaced }
    }

    /// Removes the entries of objects that nobody holds, at a constant cost per entry that was added.
    fn sweep(&mut self) {
        if self.shared.len() >= self.limit {
            self.shared.retain(|_, object| object.strong_count() > 0);
            self.shared.shrink_to(2 * self.shared.len());
            self.limit = (2 * self.shared.len()).max(SMALLEST_LIMIT);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shared.len()
    }
}

impl<K> Hot<K> {
    /// Returns the objects that are no longer hot.
    fn insert(&mut self, id: u64, object: Arc<K>) -> HashMap<u64, Arc<K>> {
        if self.half == 0 {
            return HashMap::new();
        }
        self.old.remove(&id);
        self.young.insert(id, object);
        match self.young.len() >= self.half {
            true => {
                let young = std::mem::take(&mut self.young);
                std::mem::replace(&mut self.old, young)
            }
            false => HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(objects: &mut DecodedObjects<u64>, id: u64, purpose: Purpose) -> Arc<u64> {
        objects.keep(id, Arc::new(id), purpose).object
    }

    #[test]
    fn an_object_is_shared_while_somebody_holds_it() {
        let mut objects = DecodedObjects::new(0);
        let held = keep(&mut objects, 1, Purpose::Look);
        let again = keep(&mut objects, 1, Purpose::Scan);
        assert!(Arc::ptr_eq(&held, &again));
        assert!(Arc::ptr_eq(
            &held,
            &objects.find(1, Purpose::Look).unwrap().object
        ));
        drop((held, again));
        assert!(objects.find(1, Purpose::Look).is_none());
    }

    #[test]
    fn objects_that_were_looked_up_stay_and_scanned_ones_do_not() {
        let mut objects = DecodedObjects::new(4);
        keep(&mut objects, 1, Purpose::Look);
        for id in 100..200 {
            keep(&mut objects, id, Purpose::Scan);
        }
        assert!(objects.find(1, Purpose::Scan).is_some());
        assert!(objects.find(199, Purpose::Scan).is_none());
    }

    /// A cache of `n` objects has at least the `n / 2` that were used last, and at most `n`.
    #[test]
    fn the_number_of_hot_objects_is_bounded_and_used_ones_stay() {
        let mut objects = DecodedObjects::new(8);
        for id in 0..1_000 {
            keep(&mut objects, id, Purpose::Look);
            assert!(objects.find(0, Purpose::Look).is_some(), "used all the time");
            let hot = objects.hot.young.len() + objects.hot.old.len();
            assert!(hot <= 8, "{hot} objects");
        }
        for id in 998..1_000 {
            assert!(objects.find(id, Purpose::Scan).is_some(), "{id} was used last");
        }
        assert!(objects.find(900, Purpose::Scan).is_none());
    }

    /// A dead entry keeps the allocation of its object.
    #[test]
    fn entries_of_dropped_objects_are_removed() {
        let mut objects = DecodedObjects::new(0);
        let held: Vec<_> = (0..10).map(|id| keep(&mut objects, id, Purpose::Look)).collect();
        for id in 10..10_000 {
            keep(&mut objects, id, Purpose::Scan);
        }
        assert!(objects.len() <= SMALLEST_LIMIT, "{} entries", objects.len());
        assert!(
            held.iter()
                .all(|object| objects.find(**object, Purpose::Scan).is_some())
        );
    }
}
