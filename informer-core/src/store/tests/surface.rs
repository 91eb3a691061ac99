//! Emptiness, counts and visits, and `Debug`, which shows keys and counts but no contents.

use std::ops::Bound;
use std::time::Duration;

use super::*;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::selector::Selector;
use crate::store::{self, IndexDefinition, Missing, TtlStore};

#[test]
fn every_view_of_a_store_reports_whether_it_is_empty() {
    let (mut writer, indexer) = store::new();
    let index = indexer.add_index("value", values_of).unwrap();
    assert_eq!(index.name(), "value");
    let before = indexer.snapshot();
    assert!(indexer.is_empty() && before.is_empty() && index.is_empty() && index.current().is_empty());
    assert_eq!((index.len("x"), index.current().len("x")), (0, 0));
    assert!(before.versions().is_empty());

    let mut commit = writer.begin();
    assert!(commit.len() == 0 && commit.get(&key("ns/a")).is_none());
    commit.upsert(key("ns/a"), object("ns/a", 1, &["x"]));
    commit.upsert(key("ns/b"), object("ns/b", 1, &["x"]));
    commit.set_version(&Scope::All, ResourceVersion::new("5"));
    assert!(commit.get(&key("ns/a")).is_some() && commit.get(&key("ns/c")).is_none());
    let after = commit.publish();

    assert!(!indexer.is_empty() && !after.is_empty() && !index.is_empty() && !index.current().is_empty());
    assert_eq!((index.len("x"), index.current().len("x")), (2, 2));
    assert!(!after.versions().is_empty());
    assert!(before.is_empty(), "a snapshot does not change");
    assert!(after.is_same(&indexer.snapshot()) && !after.is_same(&before));
}

#[test]
fn the_writer_counts_the_snapshots_it_retired() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    assert_eq!(writer.reap().len(), 1);
    assert_eq!(writer.reap().len(), 0);
    let held = indexer.snapshot();
    put(&mut writer, &[("ns/b", &[])]);
    assert_eq!(writer.reap().len(), 0);
    assert_eq!(writer.retired(), 1, "a reader holds it");
    drop(held);
    let retired = writer.reap();
    assert_eq!((retired.len(), writer.retired()), (1, 0));
}

/// Determines where the snapshot is dropped: see `a_retired_snapshot_counts_its_changes`.
#[test]
fn removals_and_replacements_count_as_changes_too() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[]), ("ns/b", &[]), ("ns/c", &[])]);
    drop(writer.reap());
    take(&mut writer, "ns/c");
    assert_eq!(writer.reap().changes(), 1);
    let held = indexer.snapshot();
    let listed: Vec<_> = ["ns/a", "ns/b"]
        .map(|name| (key(name), object(name, 2, &[]).into()))
        .into();
    let mut commit = writer.begin();
    let replacement = commit.replace(&Scope::All, listed, Missing::Remove);
    assert_eq!(replacement.items.len(), 2);
    commit.publish();
    drop(held);
    assert_eq!(writer.reap().changes(), 2, "each object was replaced");
}

#[test]
fn a_visit_sees_the_selected_objects_of_its_namespace_in_order() {
    let (mut writer, indexer) = store::new();
    put(
        &mut writer,
        &[
            ("ns/b", &["x"]),
            ("ns/a", &["x"]),
            ("ns/c", &["y"]),
            ("other/d", &["x"]),
        ],
    );
    let check = |namespace: &str, selector: &str, expected: &[&str]| {
        let selector: Selector = selector.parse().unwrap();
        let mut seen = Vec::new();
        indexer.for_each_in_namespace(namespace, &selector, |object| seen.push(object.clone()));
        assert_eq!(names(&seen), expected, "{namespace} {selector}");
    };
    check("ns", "app=x", &["a", "b"]);
    check("ns", "", &["a", "b", "c"]);
    check("other", "app=y", &[]);
    check("none", "", &[]);
}

/// Objects may be Secrets: the output of `{:?}` must not contain their contents.
#[test]
fn debug_shows_keys_and_counts_but_no_contents() {
    static BY_VALUE: IndexDefinition<ConfigMap, String> = IndexDefinition::new("by value", values_of);
    let (mut writer, indexer) = store::new();
    let index = indexer.index(&BY_VALUE).unwrap();
    let mut commit = writer.begin();
    commit.upsert(key("ns/a"), object("ns/a", 1, &["secret"]));
    commit.mark_stale(&key("ns/b"), "no number");
    commit.set_version(&Scope::All, ResourceVersion::new("5"));
    let check = |debug: String, expected: &str| {
        assert!(debug.starts_with(expected), "{debug}");
        assert!(!debug.contains("secret"), "{debug}");
    };
    check(format!("{commit:?}"), "Commit { len: 1, versions: ");
    let listed = vec![(key("ns/a"), object("ns/a", 2, &["secret"]).into())];
    let replacement = commit.replace(&Scope::All, listed, Missing::Remove);
    check(
        format!("{replacement:?}"),
        "Replacement { removed: [], items: [ns/a: Updated] }",
    );
    commit.mark_stale(&key("ns/b"), "no number");
    let snapshot = commit.publish();
    check(format!("{snapshot:?}"), "Snapshot { len: 1, versions: ");
    check(format!("{indexer:?}"), "Indexer { len: 1, versions: ");
    check(format!("{writer:?}"), "IndexerWriter { indexer: Indexer { len: 1");
    check(format!("{BY_VALUE:?}"), "IndexDefinition { name: \"by value\"");
    check(format!("{index:?}"), "Index { name: ");
    check(format!("{:?}", index.current()), "IndexView");
    check(format!("{:?}", snapshot.iter()), "Entries");
    let selector: Selector = "app=secret-not-shown".parse().unwrap();
    assert!(format!("{:?}", snapshot.select(&selector)).starts_with("Selected("));
    check(format!("{:?}", snapshot.stale()), "{");
    let (key_ref, object_ref) = snapshot.iter().next().unwrap();
    check(format!("{key_ref:?}"), "KeyRef(ns/a)");
    check(format!("{object_ref:?}"), "ObjectRef");
    check(format!("{:?}", writer.reap()), "Retired(");
    let ttl = TtlStore::new(Some(Duration::from_secs(60)));
    ttl.upsert(key("ns/a"), object("ns/a", 1, &["secret"]));
    check(format!("{ttl:?}"), "TtlStore { ttl: Some(60s), keys: [");
}

#[test]
fn keys_are_read_in_pages() {
    let (mut writer, indexer) = store::new();
    put(
        &mut writer,
        &[("a/x", &[]), ("a/y", &[]), ("b/x", &[]), ("node", &[])],
    );
    let check = |start: Bound<&str>, limit: usize, expected: &[&str]| {
        let start = start.map(|text| match text.strip_suffix('/') {
            Some(namespace) => ObjectKey::namespaced(namespace, ""),
            None => key(text),
        });
        let found = indexer.snapshot().keys_from(start.as_ref(), limit);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{start:?}, {limit}");
    };
    check(Bound::Unbounded, 2, &["node", "a/x"]);
    check(Bound::Excluded("a/x"), 2, &["a/y", "b/x"]);
    check(Bound::Excluded("a/xx"), 9, &["a/y", "b/x"]);
    check(Bound::Included("a/y"), 1, &["a/y"]);
    check(Bound::Included("b/"), 9, &["b/x"]);
    check(Bound::Excluded("b/x"), 9, &[]);
    check(Bound::Unbounded, 0, &[]);
}
