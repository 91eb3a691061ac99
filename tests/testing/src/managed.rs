//! The interface to `patch`: adds and removes the type of objects, and records field owners after ordinary
//! writes.

use serde_json::Value;

use crate::error::ApiError;
use crate::object::Object;
use crate::patch::{self, PatchError};
use crate::registry::{Resource, Subresource};
use crate::state::Part;

/// Returns an object as `patch` expects it: with the type of the request.
pub(crate) fn with_type(resource: &Resource, mut object: Object) -> Value {
    object.insert("apiVersion".into(), resource.api_version().into());
    object.insert("kind".into(), resource.kind.as_str().into());
    object.into()
}

/// Returns the part of the object that an endpoint owns, as `patch` names it.
pub(crate) fn part_of(resource: &Resource, part: Part) -> patch::Part {
    match part {
        Part::Status => patch::Part::Status,
        Part::Scale => patch::Part::Scale,
        Part::Main if resource.status == Subresource::Present => patch::Part::AllButStatus,
        Part::Main => patch::Part::Whole,
    }
}

/// Records in managedFields the fields that a create, an update or a patch set.
pub(crate) fn record(
    resource: &Resource,
    old: Option<&Object>,
    new: &mut Object,
    manager: &str,
    part: Part,
    now: &str,
) {
    let before = old.map(|old| with_type(resource, old.clone()));
    let after = with_type(resource, std::mem::take(new));
    let api_version = resource.api_version();
    let write = patch::Write {
        api_version: &api_version,
        manager,
        part: part_of(resource, part),
        time: now,
    };
    if let Value::Object(mut recorded) =
        patch::record_update(&resource.schema(), before.as_ref(), &after, &write)
    {
        recorded.remove("apiVersion");
        recorded.remove("kind");
        *new = recorded;
    }
}

impl From<PatchError> for ApiError {
    fn from(error: PatchError) -> Self {
        let status = error.to_status();
        let refusal = Self::new(
            error.code(),
            error.reason().unwrap_or_default(),
            error.to_string(),
        );
        match status.get("details").and_then(|details| details.get("causes")) {
            Some(causes) => refusal.with_detail("causes", causes.clone()),
            None if error.code() == 422 => refusal.with_empty_details(),
            None => refusal,
        }
    }
}
