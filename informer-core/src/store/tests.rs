//! The store's public behaviour. Tests of behaviour that client-go has name its test.

mod concurrent;
mod indexes;
mod model;
mod reaper;
mod replace;
mod select;
mod surface;
mod uncovered;
mod writes;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Indexer, IndexerWriter};
use crate::key::ObjectKey;

/// An object for tests: its name is `namespace/name`, its UID the key, and its values are in its data.
fn object(key: &str, version: u64, values: &[&str]) -> Arc<ConfigMap> {
    let parsed = self::key(key);
    Arc::new(ConfigMap {
        metadata: ObjectMeta {
            namespace: parsed.namespace().map(str::to_owned),
            name: Some(parsed.name().to_owned()),
            uid: Some(key.to_owned()),
            resource_version: Some(version.to_string()),
            labels: values
                .first()
                .map(|value| [("app".to_owned(), (*value).to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some(
            values
                .iter()
                .map(|value| ((*value).to_owned(), String::new()))
                .collect(),
        ),
        ..ConfigMap::default()
    })
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// The values passed to [`object`].
fn values_of(object: &ConfigMap) -> Vec<String> {
    object.data.iter().flat_map(|data| data.keys().cloned()).collect()
}

fn version_of(object: &ConfigMap) -> &str {
    object.metadata.resource_version.as_deref().unwrap_or_default()
}

fn put(writer: &mut IndexerWriter<ConfigMap>, objects: &[(&str, &[&str])]) {
    let mut commit = writer.begin();
    for (name, values) in objects {
        commit.upsert(key(name), object(name, 1, values));
    }
    commit.publish();
}

fn take(writer: &mut IndexerWriter<ConfigMap>, name: &str) {
    let mut commit = writer.begin();
    commit.remove(&key(name));
    commit.publish();
}

/// The store's contents as `namespace/name@version`, in order.
fn contents(indexer: &Indexer<ConfigMap>) -> Vec<String> {
    let snapshot = indexer.snapshot();
    snapshot
        .iter()
        .map(|(key, object)| format!("{key}@{}", version_of(&object)))
        .collect()
}

/// The names of objects, in their order.
fn names(objects: &[Arc<ConfigMap>]) -> Vec<&str> {
    objects
        .iter()
        .map(|object| object.metadata.name.as_deref().unwrap_or_default())
        .collect()
}
