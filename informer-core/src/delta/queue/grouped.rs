//! The changes of one batch, grouped by key.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::delta::{Batch, Change, Delta, Deltas, Departed};
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

/// The changes of one batch on their way to being grouped by key.
pub(super) struct Grouped<K> {
    deltas: Vec<Deltas<K>>,
    places: HashMap<ObjectKey, usize>,
    versions: BTreeMap<Scope, ResourceVersion>,
}

impl<K> Grouped<K> {
    pub(super) fn new() -> Self {
        Self {
            deltas: Vec::new(),
            places: HashMap::new(),
            versions: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, key: ObjectKey, change: Change<K>) {
        let Some(&place) = self.places.get(&key) else {
            self.places.insert(key.clone(), self.deltas.len());
            self.deltas.push(Deltas {
                key,
                changes: vec![change],
            });
            return;
        };
        let changes = &mut self.deltas[place].changes;
        // Two deletions in a row are one; the one that carries the object says more.
        match (changes.last_mut(), &change.delta) {
            (
                Some(
                    last @ Change {
                        delta: Delta::Deleted(Departed::Observed(_)),
                        ..
                    },
                ),
                Delta::Deleted(_),
            ) => last.version = change.version.or(last.version.take()),
            (
                Some(
                    last @ Change {
                        delta: Delta::Deleted(_),
                        ..
                    },
                ),
                Delta::Deleted(_),
            ) => {
                last.delta = change.delta;
                last.version = change.version;
            }
            _ => changes.push(change),
        }
    }

    pub(super) fn reach(&mut self, scope: Scope, version: ResourceVersion) {
        match self.versions.entry(scope) {
            Entry::Vacant(place) => {
                place.insert(version);
            }
            // A stale change behind a newer one does not take back what was reached.
            Entry::Occupied(reached) if version.is_older_than(reached.get()) => {}
            Entry::Occupied(mut reached) => {
                reached.insert(version);
            }
        }
    }

    pub(super) fn into_batch(self) -> Batch<K> {
        Batch::Changes {
            deltas: self.deltas,
            versions: self.versions.into_iter().collect(),
        }
    }
}
