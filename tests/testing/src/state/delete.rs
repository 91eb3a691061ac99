//! Deletion: preconditions, finalizers, whole namespaces.

use std::sync::Arc;

use serde_json::{Value, json};

use super::garbage::{GarbageCollection, Propagation};
use super::{Mode, Source, State, Write};
use crate::error::ApiError;
use crate::object::{self, Stored, finalizers, metadata_mut, metadata_str, set_metadata};
use crate::registry::{Resource, Scope};

/// The preconditions of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// The options of a deletion.
///
/// Grace periods are accepted and ignored, because there is no kubelet. Without garbage collection,
/// propagation policies are accepted and ignored: dependents stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteRequest {
    pub(crate) preconditions: Preconditions,
    pub(crate) propagation: Option<Propagation>,
}

impl DeleteRequest {
    /// Reads a `DeleteOptions` body.
    pub(crate) fn read(options: &Value) -> Self {
        let text = |field: &str| options["preconditions"][field].as_str().map(str::to_owned);
        let preconditions = Preconditions {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        };
        Self {
            preconditions,
            propagation: Propagation::read(options),
        }
    }
}

/// How a deletion ended.
#[derive(Clone, Debug)]
pub(crate) enum Deleted {
    /// The object was deleted; its last content.
    Gone(Arc<Stored>),
    /// Finalizers delay it: the object has a deletionTimestamp now.
    Kept(Arc<Stored>),
}

impl State {
    pub(crate) fn delete(
        &mut self,
        write: &Write<'_>,
        name: &str,
        request: &DeleteRequest,
    ) -> Result<Deleted, ApiError> {
        let resource = write.resource;
        let current = self.read(resource, write.namespace, name)?;
        let mut object = current.object();
        check(
            resource,
            name,
            &request.preconditions,
            &current,
            metadata_str(&object, "resourceVersion"),
        )?;
        let is_remarked = match request.propagation {
            Some(policy) if self.garbage == GarbageCollection::On => policy.mark(&mut object),
            _ => false,
        };
        let held = match &*resource.id {
            "namespaces" => true,
            _ => !finalizers(&object).is_empty(),
        };
        if !held {
            if write.mode == Mode::DryRun {
                return Ok(Deleted::Gone(current));
            }
            let gone = self.remove(&resource.id, &current);
            self.finish_namespace(write.namespace);
            return Ok(Deleted::Gone(gone));
        }
        let marked = if metadata_str(&object, "deletionTimestamp").is_empty() {
            self.mark(write, object)
        } else if is_remarked {
            self.put(write, object)
        } else {
            current
        };
        if write.mode == Mode::Commit && &*resource.id == "namespaces" {
            self.empty_namespace(name);
            self.finish_namespace(name);
        }
        Ok(Deleted::Kept(marked))
    }

    /// Sets the deletionTimestamp.
    fn mark(&mut self, write: &Write<'_>, mut object: object::Object) -> Arc<Stored> {
        let now = self.clock.stamp();
        set_metadata(&mut object, "deletionTimestamp", now.into());
        if &*write.resource.id == "namespaces" {
            object.insert("status".into(), json!({ "phase": "Terminating" }));
        } else {
            let metadata = metadata_mut(&mut object);
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                metadata.insert("generation".into(), (generation + 1).into());
            }
        }
        self.put(write, object)
    }

    /// Deletes everything in a namespace; objects with finalizers stay, with a deletionTimestamp.
    fn empty_namespace(&mut self, namespace: &str) {
        for id in self.storage.resources() {
            let Some(resource) = self.registry.by_id(&id) else {
                continue;
            };
            if resource.scope == Scope::Cluster {
                continue;
            }
            let revision = self.storage.revision();
            let content = self
                .storage
                .snapshot(&id, &format!("{namespace}/"), "", revision)
                .unwrap_or_default();
            for object in content {
                let write = Write {
                    resource: &resource,
                    namespace,
                    mode: Mode::Commit,
                    source: Source::Direct,
                    manager: None,
                };
                // The object was listed under this lock, so it exists, and no precondition can fail.
                let _deleted = self.delete(&write, &object.name, &DeleteRequest::default());
            }
        }
    }

    /// Removes a namespace that is being deleted and is empty.
    pub(super) fn finish_namespace(&mut self, name: &str) {
        let Some(namespace) = self.storage.get("namespaces", name) else {
            return;
        };
        let object = namespace.object();
        if metadata_str(&object, "deletionTimestamp").is_empty() || !finalizers(&object).is_empty() {
            return;
        }
        let prefix = format!("{name}/");
        let empty = self.storage.resources().iter().all(|id| {
            let namespaced = |resource: Arc<Resource>| resource.scope == Scope::Namespaced;
            !self.registry.by_id(id).is_none_or(namespaced) || !self.storage.has_any(id, &prefix)
        });
        if empty {
            self.remove(&"namespaces".into(), &namespace);
        }
    }
}

fn check(
    resource: &Resource,
    name: &str,
    wanted: &Preconditions,
    current: &Stored,
    version: &str,
) -> Result<(), ApiError> {
    let conflict = |why: String| Err(ApiError::conflict(&resource.kind, &resource.group, name, &why));
    if let Some(uid) = wanted.uid.as_ref().filter(|uid| **uid != current.uid) {
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might \
             have been deleted and then recreated",
            current.uid
        ));
    }
    if let Some(asked) = wanted.resource_version.as_ref().filter(|asked| *asked != version) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        ));
    }
    Ok(())
}
