//! Validation and normalisation of the metadata of objects.

use serde_json::Value;

use crate::error::{ApiError, FieldProblem};
use crate::object::{Object, finalizers, metadata_mut, metadata_str};
use crate::registry::Resource;
use crate::selectors::{label_key_problem, label_value_problem};

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// Refuses labels and finalizers that the real server refuses.
pub(super) fn metadata(resource: &Resource, object: &Object) -> Result<(), ApiError> {
    let mut problems = Vec::new();
    let labels = object
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let field = "metadata.labels";
        problems.extend(label_key_problem(key).map(|why| FieldProblem::invalid(field, key, &why)));
        problems.extend(label_value_problem(value).map(|why| FieldProblem::invalid(field, value, &why)));
    }
    for (place, finalizer) in finalizers(object).into_iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            let field = format!("metadata.finalizers[{place}]");
            problems.push(FieldProblem::invalid(&field, finalizer, why));
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(
            &resource.kind,
            &resource.group,
            metadata_str(object, "name"),
            &problems,
        )),
    }
}

/// Removes empty fields, as the real server does when it decodes and encodes metadata.
pub(super) fn without_empty_metadata(object: &mut Object) {
    let metadata = metadata_mut(object);
    for field in ["annotations", "finalizers", "labels", "ownerReferences"] {
        let is_empty = match metadata.get(field) {
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Array(entries)) => entries.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if is_empty {
            metadata.remove(field);
        }
    }
}

/// The longest name of a field manager, in bytes.
const MAX_MANAGER: usize = 128;

/// Refuses a field manager whose name is too long. `options` names the kind of the request's options.
pub(crate) fn manager(options: &str, manager: &str) -> Result<(), ApiError> {
    if manager.len() <= MAX_MANAGER {
        return Ok(());
    }
    let problem = FieldProblem {
        field: "fieldManager".into(),
        reason: "FieldValueTooLong",
        message: format!("Too long: may not be more than {MAX_MANAGER} bytes"),
    };
    Err(ApiError::invalid(options, "meta.k8s.io", "", &[problem]))
}
