//! Compares the store with a naive model: a copy of every past state.

use super::*;
use crate::rng::Rng;
use serde_json::json;

fn id() -> ResourceId {
    "pods".into()
}

fn stored(name: &str, revision: u64) -> Stored {
    let object =
        json!({ "metadata": { "name": name, "namespace": "web", "resourceVersion": revision.to_string() } });
    Stored::new(object.as_object().unwrap().clone(), revision, &[])
}

fn state(storage: &Storage, revision: u64) -> Vec<(String, u64)> {
    let found = storage
        .snapshot("pods", "web/", "", revision)
        .expect("not compacted");
    found
        .iter()
        .map(|object| (object.name.clone(), object.revision))
        .collect()
}

/// Random writes; the model keeps the complete state after each.
fn grow(storage: &mut Storage, seed: u64, writes: u64) -> Vec<(u64, Vec<(String, u64)>)> {
    let mut rng = Rng::new(seed);
    let mut model: BTreeMap<String, u64> = BTreeMap::new();
    let mut past = Vec::new();
    for _ in 0..writes {
        let (name, next) = (format!("p{}", rng.below(5)), storage.revision() + 1);
        if rng.chance(0.3) && model.remove(&name).is_some() {
            storage.delete(&id(), stored(&name, next));
        } else {
            storage.put(&id(), stored(&name, next));
            model.insert(name, next);
        }
        past.push((next, model.clone().into_iter().collect()));
    }
    past
}

#[test]
fn every_past_revision_can_be_read_until_it_is_compacted() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 1, 200);
    for (revision, expected) in &past {
        assert_eq!(&state(&storage, *revision), expected, "at {revision}");
    }
    storage.compact(100);
    assert_eq!(storage.snapshot("pods", "web/", "", 99).unwrap_err(), Compacted);
    assert_eq!(state(&storage, 100), past[89].1);
}

#[test]
fn compacting_an_older_revision_changes_nothing() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 4, 100);
    storage.compact(60);
    for older in [0, 9, 59, 60] {
        storage.compact(older);
        assert_eq!(storage.compacted(), 60, "after compacting {older}");
        assert_eq!(storage.snapshot("pods", "web/", "", 59).unwrap_err(), Compacted);
        assert!(storage.changes_after(59, u64::MAX).is_err());
        assert_eq!(storage.rewind(59), Err(Compacted));
        assert_eq!(state(&storage, 60), past[49].1);
        assert_eq!(storage.changes_after(60, u64::MAX).unwrap().count(), 50);
    }
}

#[test]
fn compacting_a_future_revision_stops_at_the_newest() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 5, 20);
    storage.compact(500);
    assert_eq!((storage.compacted(), storage.revision()), (30, 30));
    assert_eq!(state(&storage, 30), past[19].1);
    storage.put(&id(), stored("new", 31));
    assert_eq!(storage.changes_after(30, u64::MAX).unwrap().count(), 1);
}

#[test]
fn rewinding_to_a_future_revision_changes_nothing() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 6, 20);
    storage.rewind(500).unwrap();
    assert_eq!(storage.revision(), 30);
    assert_eq!(state(&storage, 30), past[19].1);
}

#[test]
fn a_refused_rewind_changes_nothing() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 7, 50);
    storage.compact(40);
    assert_eq!(storage.rewind(39), Err(Compacted));
    assert_eq!(storage.revision(), 60);
    assert_eq!(state(&storage, 60), past[49].1);
}

#[test]
fn history_past_its_limit_is_compacted_away() {
    let mut storage = Storage::new(10, 5);
    grow(&mut storage, 2, 20);
    assert_eq!(storage.compacted(), storage.revision() - 5);
    assert!(storage.changes_after(storage.revision() - 6, u64::MAX).is_err());
    assert_eq!(
        storage
            .changes_after(storage.revision() - 5, u64::MAX)
            .unwrap()
            .count(),
        5
    );
}

#[test]
fn rewinding_restores_the_state_and_reuses_the_revisions() {
    let mut storage = Storage::new(10, 1000);
    let past = grow(&mut storage, 3, 100);
    storage.rewind(60).unwrap();
    assert_eq!(storage.revision(), 60);
    assert_eq!(state(&storage, 60), past[49].1);
    storage.put(&id(), stored("new", 61));
    assert_eq!(storage.revision(), 61);
}

#[test]
fn a_page_starts_after_its_key_also_in_the_past() {
    let mut storage = Storage::new(10, 1000);
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        storage.put(&id(), stored(name, 11 + at as u64));
    }
    storage.delete(&id(), stored("c", 14));
    let names = |revision| {
        let page = storage.snapshot("pods", "web/", "web/a", revision).unwrap();
        page.iter().map(|object| object.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(13), ["b", "c"]);
    assert_eq!(names(14), ["b"]);
}
