//! Random operations on the store, compared with plain maps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::{Arrival, Packing, Storage};
use crate::store::{self, Index, Missing, Snapshot, Spares};
use crate::sync::Offload;

/// The contents of the store: objects as versions and values, and the rest of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    objects: BTreeMap<ObjectKey, (u64, Vec<String>)>,
    versions: BTreeMap<Scope, u64>,
    stale: BTreeSet<ObjectKey>,
}

#[derive(Clone, Debug)]
enum Step {
    Upsert(String, u64, Vec<&'static str>),
    /// Replaces an object, or inserts one, as the committer does.
    Change(String, u64, Vec<&'static str>),
    Remove(String),
    Replace(Scope, Vec<(String, u64)>, Missing),
    Version(Scope, u64),
    Rewind(Scope, u64),
    MarkStale(String),
    Publish,
    Abandon,
    Hold,
    AddIndex,
}

const VALUES: [&str; 5] = ["bad", "u", "v", "w", "x"];

/// Every storage. Packed objects without a cache are decoded by every read.
fn storages() -> Vec<Storage> {
    vec![
        Storage::Decoded,
        #[cfg(feature = "packed")]
        Storage::Packed { hot_objects: 0 },
        #[cfg(feature = "packed")]
        Storage::Packed { hot_objects: 8 },
    ]
}

fn name() -> impl Strategy<Value = String> {
    (0..4usize, 0..60u8)
        .prop_map(|(namespace, name)| format!("{}{name}", ["", "a/", "a-b/", "b/"][namespace]))
}

fn scope() -> impl Strategy<Value = Scope> {
    prop::sample::select(vec![Scope::All, Scope::of(Some("a")), Scope::of(Some("b"))])
}

fn replace() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::hash_set(name().prop_map(|name| key(&name)), 0..20);
    let missing = prop_oneof![
        3 => Just(Missing::Remove),
        1 => Just(Missing::Keep),
        1 => keys().prop_map(Missing::RemoveExcept),
        1 => keys().prop_map(Missing::KeepExcept),
    ];
    (scope(), prop::collection::vec((name(), 0..4u64), 0..120), missing).prop_map(
        |(scope, mut items, missing)| {
            items.retain(|(name, _)| scope.contains(&key(name)));
            Step::Replace(scope, items, missing)
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let values = || prop::sample::subsequence(VALUES.to_vec(), 0..4);
    prop_oneof![
        20 => (name(), 0..4u64, values())
            .prop_map(|(name, version, values)| Step::Upsert(name, version, values)),
        20 => (name(), 0..4u64, values())
            .prop_map(|(name, version, values)| Step::Change(name, version, values)),
        10 => name().prop_map(Step::Remove),
        2 => replace(),
        2 => (scope(), 0..30u64).prop_map(|(scope, version)| Step::Version(scope, version)),
        1 => (scope(), 0..30u64).prop_map(|(scope, version)| Step::Rewind(scope, version)),
        2 => name().prop_map(Step::MarkStale),
        6 => Just(Step::Publish),
        1 => Just(Step::Abandon),
        1 => Just(Step::Hold),
        1 => Just(Step::AddIndex),
    ]
}

impl Model {
    fn upsert(&mut self, name: &str, version: u64, values: &[&str]) {
        self.stale.remove(&key(name));
        self.objects.insert(
            key(name),
            (version, values.iter().map(ToString::to_string).collect()),
        );
    }

    fn replace(&mut self, scope: &Scope, items: &[(String, u64)], missing: &Missing) {
        let listed: HashSet<ObjectKey> = items.iter().map(|(name, _)| key(name)).collect();
        let stays = |key: &ObjectKey| match missing {
            _ if listed.contains(key) || !scope.contains(key) => true,
            Missing::Remove => false,
            Missing::RemoveExcept(kept) => kept.contains(key),
            Missing::Keep => true,
            Missing::KeepExcept(removed) => !removed.contains(key),
        };
        self.objects.retain(|key, _| stays(key));
        self.stale.retain(|key| stays(key) && !listed.contains(key));
        let last: BTreeMap<&String, u64> = items.iter().map(|(name, version)| (name, *version)).collect();
        let reached = self.versions.get(scope).copied();
        for (name, version) in last {
            // An unchanged object keeps its stored values. An object newer than its store does not: it was
            // kept when the server was rewound.
            let keeps = |stored: u64| stored == version && reached.is_none_or(|reached| stored <= reached);
            if self
                .objects
                .get(&key(name))
                .is_none_or(|(stored, _)| !keeps(*stored))
            {
                self.upsert(name, version, &["listed"]);
            }
        }
    }
}

/// What the changes of one key end with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Put,
    Recreated,
    Removed,
}

impl Ends {
    fn of(version: u64) -> Self {
        [Self::Put, Self::Recreated, Self::Removed][usize::try_from(version % 3).unwrap()]
    }
}

fn shown(snapshot: &Snapshot<ConfigMap>) -> Model {
    let number = |version: &ResourceVersion| version.to_string().parse().unwrap();
    Model {
        objects: snapshot
            .iter()
            .map(|(key, object)| {
                (
                    key.to_key(),
                    (version_of(&object).parse().unwrap(), values_of(&object)),
                )
            })
            .collect(),
        versions: snapshot
            .versions()
            .iter()
            .map(|(scope, version)| (scope.clone(), version.map(number).unwrap()))
            .collect(),
        stale: snapshot.stale().iter().map(|(key, _)| key.to_key()).collect(),
    }
}

/// The index function of this test: panics for the value `bad`.
fn function(object: &ConfigMap) -> Vec<String> {
    let values = values_of(object);
    // Without a message and without the hook that prints one: there are thousands of panics.
    if values.contains(&"bad".to_owned()) {
        std::panic::resume_unwind(Box::new("bad"));
    }
    values
}

/// Checks that an index equals the one computed from the objects of the same snapshot (I6).
fn check_index(snapshot: &Snapshot<ConfigMap>, index: &Index<ConfigMap, String>) {
    let mut expected: BTreeMap<String, Vec<ObjectKey>> = BTreeMap::new();
    snapshot.for_each(|key, object| {
        let values = values_of(object);
        let is_bad = values.contains(&"bad".to_owned());
        for value in values.into_iter().filter(|_| !is_bad) {
            expected.entry(value).or_default().push(key.to_key());
        }
    });
    let view = snapshot.index(index);
    let found: BTreeMap<String, Vec<ObjectKey>> = view
        .values()
        .into_iter()
        .map(|value| (value.clone(), view.keys(&value)))
        .collect();
    assert_eq!(found, expected);
    for value in view.values() {
        for (key, object) in view.iter(&value) {
            assert!(
                Arc::ptr_eq(&object, &snapshot.peek(&key.to_key()).unwrap()),
                "{key} is not the stored object"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_behaves_like_plain_maps(
        steps in prop::collection::vec(step(), 1..200),
        storage in prop::sample::select(storages()),
        spares in prop::sample::select(vec![Spares::Kept, Spares::Freed]),
    ) {
        let packing = Packing::of(storage, Offload::Inline);
        // Every received state has another size, and small ones come after large ones.
        let sizes = std::cell::Cell::new(7_u32);
        let size = || {
            sizes.set(sizes.get().wrapping_mul(1_103_515_245).wrapping_add(12_345) % 100_000);
            sizes.get()
        };
        let stored = |object, arrival| packing.store(object, size(), arrival);
        let (mut writer, indexer) = store::new::<ConfigMap>();
        writer.set_spares(spares);
        prop_assert_eq!(indexer.snapshot().bytes(), 0);
        let mut published = Model::default();
        let mut indexes = Vec::new();
        let mut held = Vec::new();
        let mut steps = steps.into_iter().peekable();
        while steps.peek().is_some() {
            let mut working = published.clone();
            let mut commit = writer.begin();
            let is_published = loop {
                match steps.next().unwrap_or(Step::Publish) {
                    Step::Upsert(name, version, values) => {
                        let object = stored(object(&name, version, &values), Arrival::Changed);
                        let old = commit.upsert(key(&name), object);
                        let stored = working.objects.get(&key(&name));
                        let expected = stored.map(|(version, _)| version.to_string());
                        prop_assert_eq!(old.map(|old| old.version_text().unwrap().to_owned()), expected);
                        working.upsert(&name, version, &values);
                    }
                    Step::Change(name, version, values) => {
                        let object = stored(object(&name, version, &values), Arrival::Changed);
                        let stored = working.objects.get(&key(&name));
                        let expected = stored.map(|(version, _)| version.to_string());
                        let mut before = None;
                        // Several changes of one key are one change of the store.
                        let ends = Ends::of(version);
                        commit.change(&key(&name), |place, _| {
                            let old = match ends {
                                Ends::Put => place.put(object),
                                Ends::Recreated => {
                                    let old = place.remove();
                                    assert!(place.put(object).is_none() && place.get().is_some());
                                    old
                                }
                                Ends::Removed => {
                                    let old = place.put(object);
                                    assert!(place.remove().is_some() && place.remove().is_none());
                                    assert!(place.get().is_none());
                                    old
                                }
                            };
                            before = old.map(|old| old.version_text().unwrap().to_owned());
                        });
                        prop_assert_eq!(before, expected);
                        working.upsert(&name, version, &values);
                        if ends == Ends::Removed {
                            working.objects.remove(&key(&name));
                        }
                    }
                    Step::Remove(name) => {
                        let removed = commit.remove(&key(&name)).is_some();
                        prop_assert_eq!(removed, working.objects.remove(&key(&name)).is_some());
                        working.stale.remove(&key(&name));
                    }
                    Step::Replace(scope, items, missing) => {
                        working.replace(&scope, &items, &missing);
                        let object = |name: &str, version| {
                            (key(name), stored(object(name, version, &["listed"]), Arrival::Listed))
                        };
                        let items = items.iter().map(|(name, version)| object(name, *version));
                        let _ = commit.replace(&scope, items.collect(), missing);
                    }
                    Step::Version(scope, version) => {
                        commit.set_version(&scope, ResourceVersion::new(&version.to_string()));
                        let newest = working.versions.get(&scope).copied().unwrap_or_default().max(version);
                        working.versions.insert(scope, newest);
                    }
                    Step::Rewind(scope, version) => {
                        commit.rewind_version(&scope, ResourceVersion::new(&version.to_string()));
                        working.versions.insert(scope, version);
                    }
                    Step::MarkStale(name) => {
                        commit.mark_stale(&key(&name), "broken");
                        working.stale.insert(key(&name));
                    }
                    Step::Publish => break true,
                    Step::Abandon => break false,
                    Step::Hold => held.push((indexer.snapshot(), published.clone())),
                    Step::AddIndex => {
                        indexes.push(indexer.add_index(&indexes.len().to_string(), function).unwrap());
                    }
                }
            };
            if is_published {
                commit.publish();
                published = working;
            }
            let snapshot = indexer.snapshot();
            prop_assert_eq!(&shown(&snapshot), &published);
            let sizes = snapshot.list_stored().into_iter().map(|stored| u64::from(stored.bytes()));
            prop_assert_eq!(snapshot.bytes(), sizes.sum::<u64>());
            indexes.iter().for_each(|index| check_index(&snapshot, index));
        }
        for (snapshot, model) in &held {
            prop_assert_eq!(&shown(snapshot), model);
            indexes.iter().for_each(|index| check_index(snapshot, index));
        }
    }
}
