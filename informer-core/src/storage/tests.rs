//! What is decoded when, what is shared, and what happens to objects that cannot be packed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};

use super::dictionary::SAMPLES;
use super::packer::Packer;
use super::packing::Arrival;
use super::stored::Stored;
use crate::key::ObjectKey;
use crate::store::{self, Indexer, IndexerWriter};
use crate::sync::Offload;

const PODS: usize = 40;

fn object(number: usize, version: u64) -> ConfigMap {
    let label = |name: &str, value: String| (name.to_owned(), value);
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(format!("ns-{}", number % 2)),
            name: Some(format!("object-{number:04}")),
            uid: Some(format!("6f1c2f5e-52f0-4c6a-9d3e-{number:012}")),
            resource_version: Some(version.to_string()),
            labels: Some(BTreeMap::from([
                label("app", format!("app-{}", number % 4)),
                label("tier", "backend".to_owned()),
            ])),
            ..ObjectMeta::default()
        },
        data: Some(
            (0..8)
                .map(|entry| {
                    (
                        format!("setting-{entry}"),
                        format!("the value {entry} of {}", number % 7),
                    )
                })
                .collect(),
        ),
        ..ConfigMap::default()
    }
}

fn packer(hot_objects: usize) -> Arc<Packer<ConfigMap>> {
    Arc::new(Packer::new(hot_objects, Offload::Inline))
}

/// A store of packed objects.
fn filled(
    hot_objects: usize,
) -> (
    Arc<Packer<ConfigMap>>,
    IndexerWriter<ConfigMap>,
    Indexer<ConfigMap>,
) {
    let packer = packer(hot_objects);
    let (mut writer, indexer) = store::new();
    let mut commit = writer.begin();
    for number in 0..PODS {
        let stored = packer.pack(Arc::new(object(number, 1)), 1, Arrival::Listed);
        assert!(stored.is_packed());
        commit.upsert(stored.key().expect("it has a name"), stored);
    }
    commit.publish();
    (packer, writer, indexer)
}

/// How many objects `read` decodes.
fn decodes<T>(packer: &Packer<ConfigMap>, read: impl FnOnce() -> T) -> usize {
    let before = packer.codec.decodes.load(Ordering::Relaxed);
    let result = read();
    let after = packer.codec.decodes.load(Ordering::Relaxed);
    drop(result);
    after - before
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::of(&object(number, 1).metadata).expect("it has a name")
}

#[test]
fn a_packed_object_equals_its_source_and_shows_its_identity() {
    let stored = packer(0).pack(Arc::new(object(7, 12)), 1, Arrival::Listed);
    assert_eq!(*stored.get().unwrap(), object(7, 12));
    assert_eq!(stored.key(), Some(key(7)));
    assert_eq!(stored.uid(), Some("6f1c2f5e-52f0-4c6a-9d3e-000000000007"));
    assert_eq!(stored.version().unwrap().to_string(), "12");
    assert_eq!((stored.label("app"), stored.label("none")), (Some("app-3"), None));
    assert_eq!(format!("{stored:?}"), "ns-1/object-0007@12");
}

#[test]
fn keys_counts_and_labels_are_read_without_decoding() {
    let (packer, _writer, indexer) = filled(0);
    let read = || {
        indexer.add_label_index("app").unwrap();
        let web = indexer.label_index("app").unwrap();
        (
            indexer.keys(),
            indexer.len(),
            indexer.contains(&key(3)),
            web.keys("app-1"),
            web.len("app-2"),
        )
    };
    assert_eq!(decodes(&packer, read), 0);
}

#[test]
fn a_look_up_by_index_decodes_only_what_it_returns() {
    let (packer, _writer, indexer) = filled(0);
    let index = indexer.add_index("version", |object: &ConfigMap| object.metadata.namespace.clone());
    let index = index.unwrap();
    assert_eq!(decodes(&packer, || index.keys("ns-1")), 0);
    assert_eq!(decodes(&packer, || index.get("ns-1")), PODS / 2);
    assert_eq!(decodes(&packer, || index.get("none")), 0);
}

#[test]
fn a_selector_decodes_only_what_it_selects() {
    let (packer, _writer, indexer) = filled(0);
    let few = "app=app-1,tier!=frontend".parse().unwrap();
    assert_eq!(decodes(&packer, || indexer.select(&few)), PODS / 4);
    assert_eq!(decodes(&packer, || indexer.for_each(&few, |_| {})), PODS / 4);
    let none = "app notin (app-0,app-1,app-2,app-3)".parse().unwrap();
    assert_eq!(decodes(&packer, || indexer.select(&none)), 0);
    indexer.add_label_index("app").unwrap();
    assert_eq!(
        decodes(&packer, || indexer.snapshot().select(&few).count()),
        PODS / 4
    );
}

#[test]
fn an_object_is_decoded_once_while_somebody_holds_it() {
    let (packer, _writer, indexer) = filled(0);
    let held = indexer.get(&key(5)).unwrap();
    let again = decodes(&packer, || {
        assert!(Arc::ptr_eq(&held, &indexer.get(&key(5)).unwrap()));
        assert!(Arc::ptr_eq(&held, &indexer.snapshot().peek(&key(5)).unwrap()));
        let listed = indexer.list_namespace("ns-1");
        assert!(listed.iter().any(|object| Arc::ptr_eq(object, &held)));
    });
    assert_eq!(again, PODS / 2 - 1, "the others of the namespace");
    drop(held);
    assert_eq!(decodes(&packer, || indexer.get(&key(5))), 1);
}

#[test]
fn hot_objects_are_decoded_once_and_a_scan_does_not_displace_them() {
    let (packer, _writer, indexer) = filled(4);
    let hot = decodes(&packer, || (0..100).for_each(|_| drop(indexer.get(&key(5)))));
    assert_eq!(hot, 1);
    indexer.for_each(&"tier=backend".parse().unwrap(), |_| {});
    assert_eq!(decodes(&packer, || indexer.get(&key(5))), 0);
}

#[test]
fn a_change_is_not_decoded_for_indexes_and_handlers() {
    let (packer, mut writer, indexer) = filled(4);
    indexer
        .add_index("name", |object: &ConfigMap| object.metadata.name.clone())
        .unwrap();
    let change = decodes(&packer, || {
        let mut commit = writer.begin();
        let stored = packer.pack(Arc::new(object(5, 2)), 1, Arrival::Changed);
        commit.upsert(key(5), stored.clone());
        commit.publish();
        stored.into_object()
    });
    assert_eq!(change, 0);
}

#[test]
fn later_objects_are_compressed_with_what_the_first_have_in_common() {
    let packer = packer(0);
    let pack = |number| packer.pack(Arc::new(object(number, 1)), 1, Arrival::Listed);
    let size = |stored: &Stored<ConfigMap>| stored.packed_size().expect("it is packed");
    let first: Vec<_> = (0..SAMPLES).map(pack).collect();
    let later: Vec<_> = (SAMPLES..2 * SAMPLES).map(pack).collect();
    let [first_size, later_size] = [&first, &later].map(|objects| objects.iter().map(size).sum::<usize>());
    assert!(later_size * 2 < first_size, "{later_size} and {first_size} bytes");
    for (number, stored) in first.iter().chain(&later).enumerate() {
        assert_eq!(*stored.get().unwrap(), object(number, 1));
    }
}

#[test]
fn a_dictionary_is_renewed_when_objects_change_and_the_number_of_them_is_bounded() {
    let packer = packer(0);
    let mut kept = Vec::new();
    let mut pack = |style: usize, number: usize| {
        let mut object = object(number, 1);
        let word = |entry: usize| ((style * 31 + entry) * 0x9e37_79b9).to_string();
        object.data = Some(
            (0..20)
                .map(|entry| (word(entry), word(entry + 100).repeat(2)))
                .collect(),
        );
        let stored = packer.pack(Arc::new(object.clone()), 1, Arrival::Listed);
        let size = stored.packed_size().expect("it is packed");
        if number.is_multiple_of(500) {
            kept.push((stored, object));
        }
        size
    };
    for style in 0..8 {
        let sizes: Vec<usize> = (0..3_000).map(|number| pack(style, number)).collect();
        let [early, late] = [&sizes[200..300], &sizes[2_900..]].map(|sizes| sizes.iter().sum::<usize>());
        match style {
            1 => assert!(late * 2 < early, "renewed: {late} after {early} bytes"),
            7 => assert!(
                late * 2 > early,
                "kept, there are enough of them: {late} after {early} bytes"
            ),
            _ => {}
        }
    }
    for (stored, object) in &kept {
        assert_eq!(*stored.get().unwrap(), *object);
    }
}

/// Its serialization loses a field.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lossy {
    metadata: ObjectMeta,
    #[serde(rename(serialize = "out", deserialize = "in"), default)]
    value: u32,
}

impl Resource for Lossy {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "Lossy".into()
    }

    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "example.com".into()
    }

    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "lossies".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[test]
fn objects_of_a_type_that_does_not_read_what_it_writes_stay_decoded() {
    let packer = Arc::new(Packer::<Lossy>::new(0, Offload::Inline));
    for value in [7, 8] {
        let metadata = object(1, 1).metadata;
        let stored = packer.pack(Arc::new(Lossy { metadata, value }), 1, Arrival::Listed);
        assert!(!stored.is_packed());
        assert_eq!(stored.get().unwrap().value, value);
    }
}

#[test]
fn an_object_that_cannot_be_decoded_counts_as_absent() {
    let packer = packer(0);
    let (mut writer, indexer) = store::new();
    let index = indexer
        .add_index("name", |object: &ConfigMap| object.metadata.name.clone())
        .unwrap();
    let mut commit = writer.begin();
    for number in 0..3 {
        let mut stored = packer.pack(Arc::new(object(number, 1)), 1, Arrival::Listed);
        if number == 1 {
            stored = stored.damaged();
        }
        commit.upsert(key(number), stored);
    }
    commit.publish();
    assert!(indexer.get(&key(1)).is_none());
    assert_eq!(indexer.list().len(), 2);
    assert_eq!(indexer.snapshot().iter().count(), 2);
    assert_eq!((index.values().len(), indexer.index_status()[0].failing), (2, 1));
    assert_eq!(indexer.keys().len(), 3, "the key is known");
}
