//! JSON patch (RFC 6902) and JSON merge patch (RFC 7386).

use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;

use super::PatchError;

/// The most operations a JSON patch may have, as in the API server.
const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Applies a JSON patch (RFC 6902). A `test` that fails refuses the whole patch with 422.
///
/// As on a real server, `test` for null succeeds for a missing value, and `replace` may add a field to an
/// object. Unlike the real server, negative indexes and `copy` from a missing value are refused.
pub(crate) fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::BadRequest(
            "error decoding patch: a JSON patch is a list of operations".to_owned(),
        ));
    };
    if operations.len() > MAX_JSON_PATCH_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_JSON_PATCH_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut patched = object.clone();
    for operation in operations {
        let operation = serde_json::from_value(operation.clone()).map_err(|_| rejected())?;
        if let Some(operation) = as_the_server_reads_it(operation, &patched) {
            json_patch::patch(&mut patched, &[operation]).map_err(|_| rejected())?;
        }
    }
    Ok(patched)
}

/// The API server does not report which operation failed, or why.
fn rejected() -> PatchError {
    PatchError::Unprocessable("the server rejected our request due to an error in our request".to_owned())
}

/// Returns the operation to run, or `None` if it has no effect.
fn as_the_server_reads_it(operation: PatchOperation, object: &Value) -> Option<PatchOperation> {
    match operation {
        PatchOperation::Test(test)
            if test.value.is_null() && object.pointer(test.path.as_str()).is_none() =>
        {
            None
        }
        PatchOperation::Replace(replace) if object.pointer(replace.path.as_str()).is_none() => {
            let parent = replace.path.as_str().rsplit_once('/').map(|(parent, _)| parent);
            match parent.and_then(|parent| object.pointer(parent)) {
                Some(Value::Object(_)) => Some(PatchOperation::Add(AddOperation {
                    path: replace.path,
                    value: replace.value,
                })),
                _ => Some(PatchOperation::Replace(replace)),
            }
        }
        other => Some(other),
    }
}

/// Applies a JSON merge patch (RFC 7386): objects merge, null removes, everything else replaces.
pub(crate) fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::BadRequest(
            "error decoding patch: a merge patch is an object".to_owned(),
        ));
    }
    let mut patched = object.clone();
    json_patch::merge(&mut patched, patch);
    Ok(patched)
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
