//! Steps that write to the server; each write is recorded in the history.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::World;
use crate::history::Key;
use crate::plan::{Write, WriteKind, key_of};

impl World<'_> {
    pub(super) fn write(&self, write: Write) {
        self.put(write);
    }

    /// Writes, and returns the object as the server has it; `None` after a deletion.
    pub(super) fn put(&self, write: Write) -> Option<ConfigMap> {
        let object = object(write);
        if write.kind != WriteKind::Put && self.server.delete(&object).is_ok() {
            self.history().deleted(&Key::of(&object), self.server.revision());
        }
        if write.kind == WriteKind::Delete {
            return None;
        }
        let stored = self
            .server
            .create(&object)
            .or_else(|_| self.server.update(&object))
            .expect("a ConfigMap with a name can be created or changed");
        self.history().put(&stored);
        Some(stored)
    }
}

/// Returns the object of a write. Its text has characters of more than one byte, for faults that cut within
/// one.
fn object(write: Write) -> ConfigMap {
    let (namespace, name) = key_of(write.place);
    let tier = if write.value.is_multiple_of(3) { "b" } else { "a" };
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([("tier".to_owned(), tier.to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(
            "value".to_owned(),
            format!("größe-{}", write.value),
        )])),
        ..ConfigMap::default()
    }
}
