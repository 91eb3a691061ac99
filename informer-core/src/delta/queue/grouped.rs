//! Groups the changes of one batch by key.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::BuildHasher;

use hashbrown::hash_table as table;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Apply, LogEntry};
use crate::delta::transform::Transformer;
use crate::delta::{Batch, Change, Delta, Deltas, Departed};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Arrival;

/// Transforms the changes of a run and groups them by key, in arrival order.
pub(super) fn group<K: Object>(run: Vec<LogEntry<K>>, transformer: &Transformer<K>) -> Batch<K> {
    let mut changes = Grouped::with_capacity(run.len());
    for (arrival, entry) in run.into_iter().enumerate() {
        match entry {
            LogEntry::Apply(Apply {
                scope,
                key,
                version,
                delta,
            }) => {
                if let Some(version) = &version {
                    changes.reach(scope, version.clone());
                }
                let delta = transformer.transform(&key, version.as_ref(), delta, Arrival::Changed);
                changes.add(
                    key,
                    Change {
                        arrival,
                        version,
                        delta,
                    },
                );
            }
            LogEntry::Bookmark { scope, version } => changes.reach(scope, version),
            LogEntry::ReplaceAll(_)
            | LogEntry::SyncAll(_)
            | LogEntry::Confirm(_)
            | LogEntry::Scope { .. } => {
                unreachable!("a run consists of changes and bookmarks")
            }
        }
    }
    changes.into_batch()
}

/// The changes of one batch, grouped so far.
struct Grouped<K> {
    deltas: Vec<Deltas<K>>,
    /// The positions in `deltas`, by the hash of their keys.
    places: HashTable<usize>,
    hasher: DefaultHashBuilder,
    versions: BTreeMap<Scope, ResourceVersion>,
}

impl<K> Grouped<K> {
    fn with_capacity(changes: usize) -> Self {
        Self {
            deltas: Vec::with_capacity(changes),
            places: HashTable::with_capacity(changes),
            hasher: DefaultHashBuilder::default(),
            versions: BTreeMap::new(),
        }
    }

    fn add(&mut self, key: ObjectKey, change: Change<K>) {
        let (deltas, hasher) = (&self.deltas, &self.hasher);
        let place = match self.places.entry(
            hasher.hash_one(&key),
            |place| deltas[*place].key == key,
            |place| hasher.hash_one(&deltas[*place].key),
        ) {
            table::Entry::Occupied(place) => *place.get(),
            table::Entry::Vacant(vacant) => {
                vacant.insert(deltas.len());
                self.deltas.push(Deltas {
                    key,
                    changes: vec![change],
                });
                return;
            }
        };
        let changes = &mut self.deltas[place].changes;
        // Two deletions in a row become one, and the one that carries the object is kept: handlers receive
        // it.
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

    fn reach(&mut self, scope: Scope, version: ResourceVersion) {
        match self.versions.entry(scope) {
            Entry::Vacant(place) => {
                place.insert(version);
            }
            // An outdated change behind a newer one does not move the version back.
            Entry::Occupied(reached) if version.is_older_than(reached.get()) => {}
            Entry::Occupied(mut reached) => {
                reached.insert(version);
            }
        }
    }

    fn into_batch(self) -> Batch<K> {
        Batch::Changes {
            deltas: self.deltas,
            versions: self.versions.into_iter().collect(),
        }
    }
}
