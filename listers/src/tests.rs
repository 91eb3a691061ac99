//! Tests of listers on a store with fixed objects.

mod expansions;
mod selecting;

use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::{Object, ObjectKey};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;

use crate::{Lister, NotFound};

/// Returns a lister of objects with these keys.
fn filled<K: Object + Default>(keys: &[&str]) -> Lister<K> {
    Lister::from_objects(keys.iter().map(|key| {
        let key: ObjectKey = key.parse().unwrap();
        let mut object = K::default();
        object.meta_mut().namespace = key.namespace().map(str::to_owned);
        object.meta_mut().name = Some(key.name().to_owned());
        object
    }))
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
    let maps = filled::<ConfigMap>(&["web/b", "db/a", "web/a"]);
    check(maps.list(&Selector::everything()), &["db/a", "web/a", "web/b"]);
    assert_eq!((maps.len(), maps.is_empty()), (3, false));
}

#[test]
fn a_namespace_lister_sees_its_namespace_only() {
    let maps = filled::<ConfigMap>(&["web/b", "db/a", "web/a", "web-2/a"]);
    let web = maps.namespace("web");
    assert_eq!(web.name(), "web");
    check(web.list(&Selector::everything()), &["web/a", "web/b"]);
    check(web.get("a"), &["web/a"]);
    check(web.get("c"), &[]);
    check(maps.namespace("none").list(&Selector::everything()), &[]);
}

#[test]
fn a_key_finds_objects_of_any_scope() {
    let maps = filled::<ConfigMap>(&["web/a"]);
    check(maps.get_key(&"web/a".parse().unwrap()), &["web/a"]);
    check(maps.get_key(&"a".parse().unwrap()), &[]);

    let nodes = filled::<Node>(&["node-1"]);
    check(nodes.get_key(&"node-1".parse().unwrap()), &["node-1"]);
    check(nodes.get("node-1"), &["node-1"]);
    check(nodes.get("node-2"), &[]);
}

/// Checks the error of a `require` method.
fn check_missing<T: std::fmt::Debug>(found: Result<T, NotFound>, kind: &str, key: &str) {
    let error = found.expect_err("the object is missing");
    let parsed: ObjectKey = key.parse().unwrap();
    assert_eq!(error.kind(), kind);
    assert_eq!(
        (error.namespace(), error.name()),
        (parsed.namespace(), parsed.name())
    );
    assert_eq!(
        error.to_string(),
        format!("{kind} {key} is not in the cache; the server may have it")
    );
}

#[test]
fn require_reports_a_missing_object_by_name() {
    let maps = filled::<ConfigMap>(&["web/a"]);
    check(maps.require_key(&"web/a".parse().unwrap()), &["web/a"]);
    check(maps.namespace("web").require("a"), &["web/a"]);
    check_missing(maps.namespace("web").require("b"), "ConfigMap", "web/b");
    check_missing(maps.require_key(&"db/a".parse().unwrap()), "ConfigMap", "db/a");

    let nodes = filled::<Node>(&["node-1"]);
    check(nodes.require("node-1"), &["node-1"]);
    check_missing(nodes.require("node-2"), "Node", "node-2");
}

/// The type has no kind, and without an informer the resource is unknown.
#[test]
fn require_names_a_dynamic_object_without_an_informer_object() {
    let objects = Lister::<DynamicObject>::from_objects([]);
    check_missing(objects.require_key(&"web/a".parse().unwrap()), "object", "web/a");
}

fn map(key: &str) -> ConfigMap {
    let key: ObjectKey = key.parse().unwrap();
    let mut map = ConfigMap::default();
    map.metadata.namespace = key.namespace().map(str::to_owned);
    map.metadata.name = Some(key.name().to_owned());
    map
}

#[test]
fn from_objects_creates_a_lister() {
    let maps = Lister::from_objects(["web/b", "web/a", "db/a"].map(map));
    check(maps.list(&Selector::everything()), &["db/a", "web/a", "web/b"]);
    let by_name = maps
        .indexer()
        .add_index("name", |map: &ConfigMap| map.metadata.name.clone())
        .unwrap();
    check(by_name.get("a"), &["db/a", "web/a"]);
    check(maps.snapshot().index(&by_name).get("b"), &["web/b"]);
    assert!(Lister::<ConfigMap>::from_objects([]).is_empty());
}

#[test]
#[should_panic(expected = "the object at index 1 has no name")]
fn from_objects_panics_on_an_object_without_a_name() {
    Lister::from_objects([map("web/a"), ConfigMap::default()]);
}

#[test]
#[should_panic(expected = "two objects have the key web/a")]
fn from_objects_panics_on_a_repeated_key() {
    Lister::from_objects(["web/a", "db/a", "web/a"].map(map));
}

#[test]
fn the_objects_of_a_namespace_are_counted() {
    let maps = filled::<ConfigMap>(&["web/b", "db/a", "web/a", "web-2/a"]);
    let count = |namespace: &str| {
        let lister = maps.namespace(namespace);
        (lister.len(), lister.is_empty())
    };
    assert_eq!(count("web"), (2, false));
    assert_eq!(count("none"), (0, true));
}

#[test]
fn owned_objects_are_found_by_the_uid_of_their_controller() {
    let owner = |uid: &str, controller: bool| OwnerReference {
        uid: uid.to_owned(),
        controller: Some(controller),
        ..OwnerReference::default()
    };
    let object = |name: &str, owners: Vec<OwnerReference>| {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("web".to_owned());
        object.metadata.name = Some(name.to_owned());
        object.metadata.owner_references = Some(owners);
        object
    };
    let lister = Lister::from_objects([
        object("b", vec![owner("other", false), owner("one", true)]),
        object("a", vec![owner("one", true)]),
        object("not-controlled", vec![owner("one", false)]),
        object("of-another", vec![owner("two", true)]),
        object("orphan", Vec::new()),
    ]);
    let mut node = Node::default();
    check(lister.owned_by(&node), &[]);
    node.metadata.uid = Some("one".to_owned());
    check(lister.owned_by(&node), &["web/a", "web/b"]);
    check(lister.owned_by(&node), &["web/a", "web/b"]);
    assert_eq!(
        lister.indexer().index_status().len(),
        1,
        "the index is added once"
    );
}
