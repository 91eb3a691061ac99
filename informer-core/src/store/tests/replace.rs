//! Replacements of a scope's objects by a list.

use std::collections::HashSet;

use super::*;
use crate::scope::Scope;
use crate::store::{self, Missing, Outcome, Replacement};

fn replace(
    writer: &mut IndexerWriter<ConfigMap>,
    scope: &Scope,
    items: &[(&str, u64)],
    missing: Missing,
) -> Replacement<ConfigMap> {
    let items = items
        .iter()
        .map(|(name, version)| (key(name), object(name, *version, &["x"]).into()))
        .collect();
    let mut commit = writer.begin();
    let replacement = commit.replace(scope, items, missing);
    commit.publish();
    replacement
}

/// Checks the result of a replacement, written as its debug output.
fn check(replacement: &Replacement<ConfigMap>, removed: &[&str], items: &[&str]) {
    let keys: Vec<String> = replacement
        .removed
        .iter()
        .map(|(key, _)| key.to_string())
        .collect();
    let outcomes: Vec<String> = replacement.items.iter().map(|item| format!("{item:?}")).collect();
    assert_eq!((keys, outcomes), (strings(removed), strings(items)));
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Upstream: TestCache (its Replace half).
#[test]
fn a_list_replaces_everything_and_reports_the_changes() {
    let (mut writer, indexer) = store::new();
    let index = indexer.add_index("value", values_of).unwrap();
    let first = replace(
        &mut writer,
        &Scope::All,
        &[("ns/b", 1), ("ns/a", 2), ("ns/c", 3)],
        Missing::Remove,
    );
    check(&first, &[], &["ns/b: Added", "ns/a: Added", "ns/c: Added"]);
    let second = replace(
        &mut writer,
        &Scope::All,
        &[("ns/d", 5), ("ns/c", 3), ("ns/b", 4)],
        Missing::Remove,
    );
    check(
        &second,
        &["ns/a"],
        &["ns/d: Added", "ns/c: Unchanged", "ns/b: Updated"],
    );
    assert_eq!(contents(&indexer), ["ns/b@4", "ns/c@3", "ns/d@5"]);
    assert_eq!(index.keys("x"), indexer.keys());
    let Outcome::Updated { previous, current } = &second.items[2].outcome else {
        panic!("ns/b was updated");
    };
    assert_eq!(
        (previous.version_text(), current.version_text()),
        (Some("1"), Some("4"))
    );
}

#[test]
fn an_unchanged_object_keeps_its_arc() {
    let (mut writer, indexer) = store::new();
    let mut check = |old: u64, new: u64, other_uid: Option<&str>, is_kept: bool| {
        let (name, all) = ("ns/a", Scope::All);
        let mut commit = writer.begin();
        commit.upsert(key(name), object(name, old, &[]));
        commit.publish();
        let stored = indexer.get(&key(name)).unwrap();
        let mut listed = ConfigMap::clone(&object(name, new, &[]));
        listed.metadata.uid = other_uid.map(str::to_owned).or(listed.metadata.uid);
        if new == 0 {
            listed.metadata.resource_version = Some(String::new());
        }
        let mut commit = writer.begin();
        let replacement = commit.replace(&all, vec![(key(name), Arc::new(listed).into())], Missing::Remove);
        commit.publish();
        assert_eq!(Arc::ptr_eq(&stored, &indexer.get(&key(name)).unwrap()), is_kept);
        assert_eq!(replacement.items[0].outcome.is_unchanged(), is_kept);
        assert!(Arc::ptr_eq(
            &replacement.items[0].outcome.current().get().unwrap(),
            &indexer.get(&key(name)).unwrap()
        ));
    };
    check(5, 5, None, true);
    check(5, 6, None, false);
    check(5, 5, Some("recreated"), false);
    check(5, 0, None, false);
}

#[test]
fn of_a_key_listed_twice_the_last_wins() {
    let (mut writer, indexer) = store::new();
    let items = [("ns/a", 1), ("ns/b", 1), ("ns/a", 2)];
    check(
        &replace(&mut writer, &Scope::All, &items, Missing::Remove),
        &[],
        &["ns/b: Added", "ns/a: Added"],
    );
    assert_eq!(contents(&indexer), ["ns/a@2", "ns/b@1"]);
}

#[test]
fn a_list_of_one_namespace_leaves_the_others_alone() {
    let (mut writer, indexer) = store::new();
    put(
        &mut writer,
        &[
            ("node", &[]),
            ("a/x", &[]),
            ("b/x", &[]),
            ("b/y", &[]),
            ("ba/x", &[]),
        ],
    );
    let replacement = replace(
        &mut writer,
        &Scope::of(Some("b")),
        &[("b/z", 2), ("b/x", 1)],
        Missing::Remove,
    );
    check(&replacement, &["b/y"], &["b/z: Added", "b/x: Unchanged"]);
    assert_eq!(
        contents(&indexer),
        ["node@1", "a/x@1", "b/x@1", "b/z@2", "ba/x@1"]
    );
    check(
        &replace(&mut writer, &Scope::of(Some("b")), &[], Missing::Remove),
        &["b/x", "b/z"],
        &[],
    );
    assert_eq!(contents(&indexer), ["node@1", "a/x@1", "ba/x@1"]);
}

#[test]
fn undecodable_objects_count_as_present() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[]), ("ns/b", &[]), ("ns/c", &[])]);
    let kept = Missing::RemoveExcept(HashSet::from([key("ns/b"), key("ns/never-seen")]));
    check(
        &replace(&mut writer, &Scope::All, &[("ns/a", 1)], kept),
        &["ns/c"],
        &["ns/a: Unchanged"],
    );
    assert_eq!(contents(&indexer), ["ns/a@1", "ns/b@1"]);
    check(&replace(&mut writer, &Scope::All, &[], Missing::Keep), &[], &[]);
    assert_eq!(contents(&indexer), ["ns/a@1", "ns/b@1"]);
}

#[test]
fn a_list_clears_the_stale_marks_of_listed_and_removed_keys() {
    let check = |missing: Missing, expected: &[&str]| {
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        for name in ["ns/listed", "ns/broken", "ns/gone", "other/x"] {
            commit.mark_stale(&key(name), "no such field");
        }
        commit.publish();
        let _ = replace(&mut writer, &Scope::of(Some("ns")), &[("ns/listed", 1)], missing);
        let left: Vec<String> = indexer
            .snapshot()
            .stale()
            .iter()
            .map(|(key, _)| key.to_string())
            .collect();
        assert_eq!(left, expected);
    };
    check(Missing::Remove, &["other/x"]);
    check(
        Missing::RemoveExcept(HashSet::from([key("ns/broken")])),
        &["ns/broken", "other/x"],
    );
    check(Missing::Keep, &["ns/broken", "ns/gone", "other/x"]);
}

/// Another object with the same name was listed and could not be used: the stored one is removed, and
/// nothing else.
#[test]
fn kept_objects_can_be_removed_by_key() {
    let (mut writer, indexer) = store::new();
    let all = &[("ns/a", 1), ("ns/b", 2), ("ns/c", 3)];
    drop(replace(&mut writer, &Scope::All, all, Missing::Remove));
    let recreated = HashSet::from([key("ns/b"), key("ns/unknown")]);
    let second = replace(
        &mut writer,
        &Scope::All,
        &[("ns/a", 1)],
        Missing::KeepExcept(recreated),
    );
    check(&second, &["ns/b"], &["ns/a: Unchanged"]);
    assert_eq!(contents(&indexer), ["ns/a@1", "ns/c@3"]);
}
