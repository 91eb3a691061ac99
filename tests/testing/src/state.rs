//! The state of the cluster: served kinds, objects, clock and random generator. Everything here is
//! synchronous and protected by one lock.

mod create;
mod defaults;
mod delete;
mod garbage;
mod names;
mod update;
mod validate;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::clock::RunningClock;
use crate::error::ApiError;
use crate::object::{self, Object, Stored};
use crate::registry::{CRD_GROUP, Definition, Registry, Resource, ResourceId, Scope, established};
use crate::rng::Rng;
use crate::storage::Storage;
use crate::version::VersionFormat;

pub(crate) use delete::{DeleteRequest, Deleted};
pub(crate) use garbage::GarbageCollection;
pub(crate) use update::Part;
pub(crate) use validate::manager as check_manager;

/// The state, protected by the server's lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) storage: Storage,
    pub(crate) rng: Rng,
    pub(crate) clock: RunningClock,
    pub(crate) versions: VersionFormat,
    pub(crate) garbage: GarbageCollection,
}

/// Whether a write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Commit,
    DryRun,
}

/// The origin of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A client: the rules of the API hold.
    Request,
    /// The test itself: status is stored as given, versions are not compared, missing namespaces are created.
    Direct,
}

/// The parameters that all writes have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) mode: Mode,
    pub(crate) source: Source,
    /// The field manager recorded in managedFields; nothing is recorded without one.
    pub(crate) manager: Option<&'a str>,
}

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl State {
    pub(crate) fn new(storage: Storage, seed: u64, clock: RunningClock, versions: VersionFormat) -> Self {
        let registry = Registry::built_in();
        let mut state = Self {
            registry,
            storage,
            rng: Rng::new(seed),
            clock,
            versions,
            garbage: GarbageCollection::Off,
        };
        for name in NAMESPACES {
            state.ensure_namespace(name);
        }
        state
    }

    /// Returns the current version as clients see it.
    pub(crate) fn version(&self) -> String {
        self.versions.print(self.storage.revision())
    }

    pub(crate) fn read(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<Stored>, ApiError> {
        let key = object::key(namespace, name);
        self.storage
            .get(&resource.id, &key)
            .ok_or_else(|| ApiError::not_found(&resource.plural, &resource.group, name))
    }

    /// Creates a namespace if it does not exist. The kind Namespace is always registered.
    pub(crate) fn ensure_namespace(&mut self, name: &str) {
        if self.storage.get("namespaces", name).is_some() {
            return;
        }
        if let Some(resource) = self.registry.get("", "v1", "namespaces") {
            let write = Write {
                resource: &resource,
                namespace: "",
                mode: Mode::Commit,
                source: Source::Direct,
                manager: None,
            };
            let object = json!({ "metadata": { "name": name } });
            let object = object.as_object().cloned().unwrap_or_default();
            // With an invalid name no namespace is created, and the write that needs it reports the error.
            let _made = self.create(&write, object);
        }
    }

    /// Sets the version of an object and stores it; a dry run does not store it.
    fn put(&mut self, write: &Write<'_>, mut object: Object) -> Arc<Stored> {
        if write.resource.group == CRD_GROUP && write.resource.plural == "customresourcedefinitions" {
            let now = self.clock.stamp();
            let mut status = established(&object, &now);
            keep_transition_times(&mut status, object.get("status"));
            object.insert("status".into(), status);
        }
        let revision = self.storage.revision() + 1;
        if write.mode == Mode::DryRun {
            return Arc::new(Stored::new(object, revision, &write.resource.selectable));
        }
        let version = self.versions.print(revision);
        object::set_metadata(&mut object, "resourceVersion", version.into());
        let definition = match write.resource.plural.as_str() {
            "customresourcedefinitions" if write.resource.group == CRD_GROUP => Definition::read(&object),
            _ => None,
        };
        let sealed = Stored::new(object, revision, &write.resource.selectable);
        let stored = self.storage.put(&write.resource.id, sealed);
        if let Some(definition) = definition {
            self.registry.define(&definition);
        }
        stored
    }

    /// Removes an object and writes its tombstone.
    fn remove(&mut self, resource: &ResourceId, last: &Stored) -> Arc<Stored> {
        let revision = self.storage.revision() + 1;
        let version = self.versions.print(revision);
        let gone = self.storage.delete(resource, last.restamped(revision, &version));
        if &**resource == "customresourcedefinitions.apiextensions.k8s.io" {
            self.drop_definition(&gone);
        }
        gone
    }

    fn drop_definition(&mut self, crd: &Stored) {
        let Some(definition) = Definition::read(&crd.object()) else {
            return;
        };
        let revision = self.storage.revision();
        let orphans = self
            .storage
            .snapshot(&definition.id, "", "", revision)
            .unwrap_or_default();
        for orphan in orphans {
            self.remove(&definition.id, &orphan);
        }
        self.registry.remove(&definition.id);
    }

    fn check_namespace(&mut self, write: &Write<'_>, name: &str) -> Result<(), ApiError> {
        if write.resource.scope == Scope::Cluster {
            return Ok(());
        }
        if write.source == Source::Direct {
            self.ensure_namespace(write.namespace);
        }
        let namespace = self
            .storage
            .get("namespaces", write.namespace)
            .ok_or_else(|| ApiError::not_found("namespaces", "", write.namespace))?;
        if object::metadata_str(&namespace.object(), "deletionTimestamp").is_empty() {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {} because it is being terminated",
            write.namespace
        );
        let cause = json!([{
            "reason": "NamespaceTerminating", "field": "metadata.namespace",
            "message": format!("namespace {} is being terminated", write.namespace),
        }]);
        let resource = write.resource;
        Err(ApiError::forbidden(&resource.plural, &resource.group, name, &why).with_detail("causes", cause))
    }
}

/// An existing condition keeps its transition time.
fn keep_transition_times(status: &mut Value, old: Option<&Value>) {
    let old = old
        .and_then(|old| old.get("conditions"))
        .and_then(Value::as_array);
    let Some(new) = status.get_mut("conditions").and_then(Value::as_array_mut) else {
        return;
    };
    for condition in new {
        let before = old
            .into_iter()
            .flatten()
            .find(|before| before["type"] == condition["type"]);
        if let Some(since) = before.and_then(|before| before.get("lastTransitionTime")) {
            condition["lastTransitionTime"] = since.clone();
        }
    }
}
