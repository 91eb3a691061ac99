//! Listers over a store that was filled by hand.

use std::sync::Arc;

use informer_core::store::{self, IndexerWriter};
use informer_core::{Object, ObjectKey, Selector};
use k8s_openapi::api::core::v1::{ConfigMap, Node};

use crate::Lister;

/// A lister over objects of these keys, and the writer to change them.
fn filled<K: Object + Default>(keys: &[&str]) -> (IndexerWriter<K>, Lister<K>) {
    let (mut writer, indexer) = store::new();
    let mut commit = writer.begin();
    for key in keys {
        let key: ObjectKey = key.parse().unwrap();
        let mut object = K::default();
        object.meta_mut().namespace = key.namespace().map(str::to_owned);
        object.meta_mut().name = Some(key.name().to_owned());
        commit.upsert(key, Arc::new(object));
    }
    commit.publish();
    (writer, Lister::new(indexer))
}

fn check<K: Object>(objects: impl IntoIterator<Item = Arc<K>>, expected: &[&str]) {
    let keys: Vec<String> = objects
        .into_iter()
        .map(|object| ObjectKey::of(object.meta()).unwrap().to_string())
        .collect();
    assert_eq!(keys, expected);
}

#[test]
fn a_lister_lists_everything_in_order() {
    let (_writer, maps) = filled::<ConfigMap>(&["web/b", "db/a", "web/a"]);
    check(maps.list(&Selector::everything()), &["db/a", "web/a", "web/b"]);
    assert_eq!((maps.len(), maps.is_empty()), (3, false));
}

#[test]
fn a_namespace_lister_sees_its_namespace_only() {
    let (_writer, maps) = filled::<ConfigMap>(&["web/b", "db/a", "web/a", "web-2/a"]);
    let web = maps.namespace("web");
    assert_eq!(web.name(), "web");
    check(web.list(&Selector::everything()), &["web/a", "web/b"]);
    check(web.get("a"), &["web/a"]);
    check(web.get("c"), &[]);
    check(maps.namespace("none").list(&Selector::everything()), &[]);
}

#[test]
fn a_key_finds_objects_of_any_scope() {
    let (_writer, maps) = filled::<ConfigMap>(&["web/a"]);
    check(maps.get_key(&"web/a".parse().unwrap()), &["web/a"]);
    check(maps.get_key(&"a".parse().unwrap()), &[]);

    let (_writer, nodes) = filled::<Node>(&["node-1"]);
    check(nodes.get_key(&"node-1".parse().unwrap()), &["node-1"]);
    check(nodes.get("node-1"), &["node-1"]);
    check(nodes.get("node-2"), &[]);
}

#[test]
fn a_lister_shows_commits_and_a_snapshot_does_not() {
    let (mut writer, nodes) = filled::<Node>(&["node-1"]);
    let before = nodes.snapshot();
    let mut commit = writer.begin();
    commit.remove(&"node-1".parse().unwrap());
    commit.publish();
    assert_eq!((before.len(), nodes.len()), (1, 0));
}

#[test]
fn a_lister_outlives_the_writer() {
    let (writer, nodes) = filled::<Node>(&["node-1"]);
    drop(writer);
    check(nodes.clone().list(&Selector::everything()), &["node-1"]);
}
