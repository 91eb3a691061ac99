//! Replacement of an object or of its status. Fields that the server owns are protected.

use std::sync::Arc;

use serde_json::Value;

use super::create::{check_type, settle_namespace};
use super::{Source, State, Write, validate};
use crate::error::{ApiError, FieldProblem};
use crate::managed;
use crate::object::{self, Object, Stored, finalizers, metadata_mut, metadata_str};
use crate::registry::{Generation, Origin, Resource, Subresource};

/// Which part of an object an update may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything except the status, if status is a subresource.
    Main,
    Status,
    /// The number of replicas, through the scale subresource. Recorded as such, otherwise like `Main`.
    Scale,
}

/// Fields of metadata that only the server writes.
const SERVER_OWNED: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
];

impl State {
    /// Replaces an object. An update without changes keeps the version and sends no event, as upstream.
    pub(crate) fn update(
        &mut self,
        write: &Write<'_>,
        name: &str,
        mut object: Object,
        part: Part,
    ) -> Result<Arc<Stored>, ApiError> {
        let resource = write.resource;
        check_type(resource, &object)?;
        settle_namespace(write, &mut object)?;
        match metadata_str(&object, "name") {
            "" => {
                let message = format!(
                    "the name of the object ({name} based on URL) was undeterminable: name must be provided"
                );
                return Err(ApiError::bad_request(message));
            }
            given if given != name => {
                let message =
                    format!("the name of the object ({given}) does not match the name on the URL ({name})");
                return Err(ApiError::bad_request(message));
            }
            _ => {}
        }
        let current = self.read(resource, write.namespace, name)?;
        let old = current.object();
        if write.source == Source::Request {
            let version = metadata_str(&object, "resourceVersion");
            if !version.is_empty() && self.versions.parse(version).is_none() {
                let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
                return Err(ApiError::new(500, "", why));
            }
            check_preconditions(resource, name, &old, &object)?;
            validate::metadata(resource, &object)?;
        }
        validate::without_empty_metadata(&mut object);
        let mut new = merge(write, &old, object, part);
        check_finalizers(resource, name, &old, &new)?;
        if let Some(manager) = write.manager {
            managed::record(resource, Some(&old), &mut new, manager, part, &self.clock.stamp());
        }
        if same_but_managed(&old, &new) {
            return Ok(current);
        }
        bump_generation(resource, &old, &mut new);
        if is_released(&new) {
            let sealed = Stored::new(new, current.revision, &resource.selectable);
            if write.mode == super::Mode::DryRun {
                return Ok(Arc::new(sealed));
            }
            self.remove(&resource.id, &sealed);
            self.finish_namespace(write.namespace);
            // The answer has the version before the deletion; the event has that of the deletion.
            return Ok(Arc::new(sealed));
        }
        Ok(self.put(write, new))
    }
}

/// Whether an object is being deleted and has no finalizers left.
fn is_released(object: &Object) -> bool {
    let namespace_held = object.get("spec").and_then(|spec| spec.get("finalizers"));
    let namespace_held = namespace_held
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    !metadata_str(object, "deletionTimestamp").is_empty() && finalizers(object).is_empty() && !namespace_held
}

fn check_preconditions(resource: &Resource, name: &str, old: &Object, new: &Object) -> Result<(), ApiError> {
    let (version, uid) = (metadata_str(new, "resourceVersion"), metadata_str(new, "uid"));
    if !uid.is_empty() && uid != metadata_str(old, "uid") {
        let current = metadata_str(old, "uid");
        let group = if resource.origin == Origin::Custom {
            format!("{}/", resource.group)
        } else {
            String::new()
        };
        let key = object::key(metadata_str(old, "namespace"), name);
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{key}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: \
             {current}",
            resource.plural
        );
        return Err(ApiError::conflict(&resource.plural, &resource.group, name, &why));
    }
    if version.is_empty() && resource.origin == Origin::Custom {
        let problem = FieldProblem {
            field: "metadata.resourceVersion".into(),
            reason: "FieldValueInvalid",
            message: "Invalid value: 0: must be specified for an update".into(),
        };
        return Err(ApiError::invalid(
            &resource.plural,
            &resource.group,
            name,
            &[problem],
        ));
    }
    if !version.is_empty() && version != metadata_str(old, "resourceVersion") {
        return Err(ApiError::modified(&resource.plural, &resource.group, name));
    }
    Ok(())
}

/// Returns the new object: fields that the client may change from `new`, everything else from `old`.
fn merge(write: &Write<'_>, old: &Object, new: Object, part: Part) -> Object {
    let mut merged = match part {
        Part::Main | Part::Scale => new,
        Part::Status => {
            let mut merged = old.clone();
            match new.get("status") {
                Some(status) => merged.insert("status".into(), status.clone()),
                None => merged.remove("status"),
            };
            let given = new
                .get("metadata")
                .and_then(|metadata| metadata.get("managedFields"));
            if let Some(managed) = given {
                metadata_mut(&mut merged).insert("managedFields".into(), managed.clone());
            }
            merged
        }
    };
    merged.remove("apiVersion");
    merged.remove("kind");
    let own_status = part != Part::Status && write.resource.status == Subresource::Present;
    if own_status && write.source == Source::Request {
        match old.get("status") {
            Some(status) => merged.insert("status".into(), status.clone()),
            None => merged.remove("status"),
        };
    }
    let before = old.get("metadata").cloned().unwrap_or_default();
    let metadata = metadata_mut(&mut merged);
    for field in SERVER_OWNED.into_iter().chain(["resourceVersion"]) {
        match before.get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    // If a client does not send managedFields, the server's are kept, so a cache may drop them.
    if !metadata.contains_key("managedFields")
        && let Some(managed) = before.get("managedFields")
    {
        metadata.insert("managedFields".into(), managed.clone());
    }
    merged
}

fn check_finalizers(resource: &Resource, name: &str, old: &Object, new: &Object) -> Result<(), ApiError> {
    if metadata_str(old, "deletionTimestamp").is_empty() {
        return Ok(());
    }
    let before = finalizers(old);
    let added: Vec<&str> = finalizers(new)
        .into_iter()
        .filter(|finalizer| !before.contains(finalizer))
        .collect();
    if added.is_empty() {
        return Ok(());
    }
    let added: Vec<String> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    let problem = FieldProblem::forbidden("metadata.finalizers", &why);
    Err(ApiError::invalid(
        &resource.kind,
        &resource.group,
        name,
        &[problem],
    ))
}

/// Whether two states are equal except for managedFields, whose change alone creates no new version.
fn same_but_managed(old: &Object, new: &Object) -> bool {
    let stripped = |object: &Object| {
        let mut object = object.clone();
        metadata_mut(&mut object).remove("managedFields");
        object
    };
    old == new || (stripped(old) == stripped(new) && same_owners(old, new))
}

/// Whether the recorded owners differ only in their times.
fn same_owners(old: &Object, new: &Object) -> bool {
    let entries = |object: &Object| -> Vec<Value> {
        let list = object
            .get("metadata")
            .and_then(|m| m.get("managedFields"))
            .and_then(Value::as_array);
        let mut entries: Vec<Value> = list.cloned().unwrap_or_default();
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        entries
    };
    entries(old) == entries(new)
}

fn bump_generation(resource: &Resource, old: &Object, new: &mut Object) {
    let changed = match resource.generation {
        Generation::Never => false,
        Generation::Spec => old.get("spec") != new.get("spec"),
        Generation::Everything => {
            let counts = |field: &String| {
                field != "metadata" && !(field == "status" && resource.status == Subresource::Present)
            };
            let content = |object: &Object| -> Vec<(String, Value)> {
                object
                    .iter()
                    .filter(|(k, _)| counts(k))
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect()
            };
            content(old) != content(new)
        }
    };
    if changed {
        let generation = old
            .get("metadata")
            .and_then(|m| m.get("generation"))
            .and_then(Value::as_i64);
        object::set_metadata(new, "generation", (generation.unwrap_or(0) + 1).into());
    }
}
