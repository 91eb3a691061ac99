//! Inserts, removals, versions and stale keys of single commits.

use std::sync::Arc;

use super::*;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Stored;
use crate::store::versions::VersionChange;
use crate::store::{self, Progress};

/// Upstream: TestCache.
#[test]
fn objects_are_inserted_read_updated_and_removed() {
    let (mut writer, indexer) = store::new();
    let mut commit = writer.begin();
    assert!(commit.upsert(key("ns/a"), object("ns/a", 1, &[])).is_none());
    assert!(commit.upsert(key("ns/b"), object("ns/b", 1, &[])).is_none());
    let old = commit.upsert(key("ns/a"), object("ns/a", 2, &[])).unwrap();
    assert_eq!(old.version_text(), Some("1"));
    assert_eq!((commit.len(), commit.get(&key("ns/a")).is_some()), (2, true));
    commit.publish();
    assert_eq!(contents(&indexer), ["ns/a@2", "ns/b@1"]);
    assert_eq!(version_of(&indexer.get(&key("ns/a")).unwrap()), "2");
    assert!(indexer.contains(&key("ns/b")) && !indexer.contains(&key("ns/c")));
    assert_eq!(
        (indexer.len(), indexer.keys()),
        (2, vec![key("ns/a"), key("ns/b")])
    );

    let mut commit = writer.begin();
    assert_eq!(commit.remove(&key("ns/a")).unwrap().version_text(), Some("2"));
    assert!(commit.remove(&key("ns/a")).is_none());
    assert!(commit.get(&key("ns/a")).is_none());
    commit.publish();
    assert_eq!(contents(&indexer), ["ns/b@1"]);
}

#[test]
fn lists_are_ordered_by_namespace_then_name_with_cluster_scoped_objects_first() {
    let (mut writer, indexer) = store::new();
    put(
        &mut writer,
        &[
            ("b/x", &[]),
            ("a-b/y", &[]),
            ("a/z", &[]),
            ("node", &[]),
            ("a/a", &[]),
        ],
    );
    assert_eq!(
        contents(&indexer),
        ["node@1", "a/a@1", "a/z@1", "a-b/y@1", "b/x@1"]
    );
    assert_eq!(names(&indexer.list()), ["node", "a", "z", "y", "x"]);
    assert_eq!(names(&indexer.list_namespace("a")), ["a", "z"]);
    assert_eq!(names(&indexer.list_namespace("a-")), [""; 0]);
    assert_eq!(names(&indexer.list_namespace("")), ["node"]);
    let snapshot = indexer.snapshot();
    assert_eq!(snapshot.namespaces(), ["a", "a-b", "b"]);
    let mut visited = Vec::new();
    snapshot.for_each(|key, _| visited.push(key.to_key()));
    assert_eq!(visited, snapshot.keys());
    assert_eq!(snapshot.namespace("a").count(), 2);
}

#[test]
fn a_dropped_commit_changes_nothing() {
    let (mut writer, indexer) = store::new();
    let by_value = indexer.add_index("value", values_of).unwrap();
    put(&mut writer, &[("ns/a", &["x"])]);
    let before = indexer.snapshot();
    let mut commit = writer.begin();
    commit.upsert(key("ns/b"), object("ns/b", 1, &["x"]));
    commit.remove(&key("ns/a"));
    commit.set_version(&Scope::All, ResourceVersion::new("9"));
    commit.mark_stale(&key("ns/c"), "broken");
    drop(commit);
    assert!(indexer.snapshot().is_same(&before));
    assert_eq!(by_value.keys("x"), [key("ns/a")]);
    put(&mut writer, &[("ns/c", &[])]);
    assert_eq!(contents(&indexer), ["ns/a@1", "ns/c@1"]);
    assert_eq!(indexer.resource_version(), None);
}

/// Upstream: TestThreadSafeStoreRV. There an inserted object moves the version; here the caller does,
/// because an object of an initial stream must not.
#[test]
fn the_version_only_moves_forward() {
    let (mut writer, indexer) = store::new::<ConfigMap>();
    let mut check = |text: &str, expected: VersionChange, now: &str| {
        let mut commit = writer.begin();
        assert_eq!(
            commit.set_version(&Scope::All, ResourceVersion::new(text)),
            expected
        );
        commit.publish();
        assert_eq!(indexer.resource_version(), Some(ResourceVersion::new(now)));
    };
    check("1", VersionChange::Moved, "1");
    check("1", VersionChange::Same, "1");
    check("10", VersionChange::Moved, "10");
    check("9", VersionChange::Refused, "10");

    put(&mut writer, &[("ns/a", &[])]);
    take(&mut writer, "ns/a");
    assert_eq!(indexer.resource_version(), Some(ResourceVersion::new("10")));

    let mut commit = writer.begin();
    commit.rewind_version(&Scope::All, ResourceVersion::new("3"));
    commit.publish();
    assert_eq!(indexer.resource_version(), Some(ResourceVersion::new("3")));
}

#[test]
fn each_namespace_has_a_version_and_all_must_reach_it() {
    let (mut writer, indexer) = store::new::<ConfigMap>();
    let (web, db) = (Scope::of(Some("web")), Scope::of(Some("db")));
    let mut commit = writer.begin();
    commit.announce_scope(&web);
    commit.announce_scope(&db);
    commit.set_version(&web, ResourceVersion::new("20"));
    commit.publish();
    let wanted = ResourceVersion::new("15");
    assert_eq!(indexer.versions().is_at_least(&wanted), Progress::Behind);
    assert_eq!(indexer.resource_version(), None);

    let mut commit = writer.begin();
    commit.set_version(&db, ResourceVersion::new("15"));
    let snapshot = commit.publish();
    assert_eq!(snapshot.versions().is_at_least(&wanted), Progress::Reached);
    assert_eq!(snapshot.versions().get(&web), Some(&ResourceVersion::new("20")));
    assert_eq!(snapshot.resource_version(), None);
}

#[test]
fn a_key_is_stale_until_it_is_inserted_or_removed() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    let mut commit = writer.begin();
    for name in ["ns/a", "ns/absent", "ns/other"] {
        commit.mark_stale(&key(name), "no such field");
    }
    commit.publish();
    let marked = indexer.snapshot();
    assert_eq!(marked.stale().get(&key("ns/a")), Some("no such field"));
    assert!(marked.contains(&key("ns/a")) && !marked.contains(&key("ns/absent")));

    put(&mut writer, &[("ns/a", &[])]);
    take(&mut writer, "ns/absent");
    let now = indexer.snapshot();
    assert_eq!(
        now.stale()
            .iter()
            .map(|(key, _)| key.to_string())
            .collect::<Vec<_>>(),
        ["ns/other"]
    );
    assert_eq!((now.stale().len(), marked.stale().len()), (1, 3));
}

#[test]
fn readers_outlive_the_writer() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &["x"])]);
    drop(writer);
    let by_value = indexer.add_index("value", values_of).unwrap();
    assert_eq!(by_value.keys("x"), [key("ns/a")]);
    assert_eq!(indexer.len(), 1);
}

#[test]
fn debug_output_shows_no_object() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &["secret"])]);
    let text = format!("{:?} {:?} {:?}", indexer, indexer.snapshot(), writer.begin());
    assert!(!text.contains("secret"), "{text}");
}

/// The object, its version, the tag of its UID, and the size of its encoding.
#[test]
fn a_stored_object_is_four_words_wide() {
    assert_eq!(size_of::<Stored<ConfigMap>>(), 4 * size_of::<Arc<ConfigMap>>());
}
