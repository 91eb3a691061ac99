//! PATCH over HTTP: the four content types, on an object or on its status.

use std::sync::Arc;

use http::Response;
use serde_json::Value;

use super::ResourceCall;
use crate::error::{ApiError, FieldProblem};
use crate::managed::{part_of, with_type};
use crate::object::{Object, Stored, metadata_str};
use crate::patch::{self, Apply, OnConflict};
use crate::registry::Resource;
use crate::respond::Body;
use crate::state::{Part, State, Write};

/// The ways to patch, by their content types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(super) fn read(content_type: &str) -> Result<Self, ApiError> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(ApiError::unknown_patch()),
        }
    }

    /// Applies a patch of any type except server-side apply.
    pub(super) fn run(self, resource: &Resource, object: &Value, patch: &Value) -> Result<Value, ApiError> {
        Ok(match self {
            Self::Json => patch::json_patch(object, patch)?,
            Self::Merge => patch::merge_patch(object, patch)?,
            Self::Strategic | Self::Apply => patch::strategic_merge(&resource.schema(), object, patch)?,
        })
    }
}

impl ResourceCall<'_> {
    pub(super) fn patch(&self, part: Part) -> Result<Response<Body>, ApiError> {
        let kind = PatchType::read(self.call.content_type())?;
        self.check_options(kind)?;
        let body = self.patch_body()?;
        let manager = self.manager();
        let (code, stored) = match kind {
            PatchType::Apply => {
                // Server-side apply records the field owners itself.
                let write = self.writing(None)?;
                self.shared
                    .write(|state| self.apply(state, &write, &manager, &body, part))?
            }
            _ => {
                let write = self.writing(Some(&manager))?;
                let stored = self.shared.write(|state| {
                    let current = state.read(self.resource, self.namespace(), self.name())?;
                    let current = with_type(self.resource, current.object());
                    let patched = into_object(kind.run(self.resource, &current, &body)?)?;
                    self.check_uid(&current, &patched)?;
                    state.update(&write, self.name(), patched, part)
                })?;
                (200, stored)
            }
        };
        self.object(code, &stored)
    }

    /// A patch cannot change the UID. (A replacement with another UID is a failed precondition instead.)
    fn check_uid(&self, current: &Value, patched: &Object) -> Result<(), ApiError> {
        let uid = metadata_str(patched, "uid");
        if uid.is_empty() || current["metadata"]["uid"] == uid {
            return Ok(());
        }
        let problem = FieldProblem::invalid("metadata.uid", uid, "field is immutable");
        let resource = self.resource;
        Err(ApiError::invalid(
            &resource.kind,
            &resource.group,
            self.name(),
            &[problem],
        ))
    }

    pub(super) fn patch_body(&self) -> Result<Value, ApiError> {
        // Every client sends JSON, also under the content type that names YAML.
        serde_json::from_slice(self.body_bytes()).map_err(|_| ApiError::bad_request("invalid JSON patch"))
    }

    fn check_options(&self, kind: PatchType) -> Result<(), ApiError> {
        let given = |name: &str| {
            self.call
                .target
                .parameter(name)
                .is_some_and(|value| !value.is_empty())
        };
        let problem = match kind {
            PatchType::Apply if !given("fieldManager") => Some(FieldProblem::required(
                "fieldManager",
                "is required for apply patch",
            )),
            PatchType::Apply => None,
            _ if self.call.target.flag("force").is_some() => Some(FieldProblem::forbidden(
                "force",
                "may not be specified for non-apply patch",
            )),
            _ => None,
        };
        match problem {
            Some(problem) => Err(ApiError::invalid("PatchOptions", "meta.k8s.io", "", &[problem])),
            None => Ok(()),
        }
    }

    /// Server-side apply. Creates the object if it does not exist.
    fn apply(
        &self,
        state: &mut State,
        write: &Write<'_>,
        manager: &str,
        config: &Value,
        part: Part,
    ) -> Result<(u16, Arc<Stored>), ApiError> {
        let live = match state.read(self.resource, self.namespace(), self.name()) {
            Ok(live) => Some(with_type(self.resource, live.object())),
            Err(_) if part == Part::Main => None,
            Err(error) => return Err(error),
        };
        let now = state.clock.stamp();
        let api_version = self.resource.api_version();
        let part_name = part_of(self.resource, part);
        let request = Apply {
            kind: &self.resource.kind,
            write: patch::Write {
                api_version: &api_version,
                manager,
                part: part_name,
                time: &now,
            },
            on_conflict: match self.call.target.flag("force") {
                Some(true) => OnConflict::Force,
                _ => OnConflict::Refuse,
            },
        };
        let applied = patch::apply(&self.resource.schema(), live.as_ref(), config, &request)?;
        let mut applied = into_object(applied)?;
        match live {
            Some(_) => Ok((200, state.update(write, self.name(), applied, part)?)),
            None => {
                let given = crate::object::metadata_str(&applied, "name");
                if !given.is_empty() && given != self.name() {
                    let name = self.name();
                    let message = format!(
                        "the name of the object ({given}) does not match the name on the URL ({name})"
                    );
                    return Err(ApiError::bad_request(message));
                }
                crate::object::set_metadata(&mut applied, "name", self.name().into());
                Ok((201, state.create(write, applied)?))
            }
        }
    }
}

fn into_object(value: Value) -> Result<Object, ApiError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(ApiError::new(
            422,
            "Invalid",
            "the patch does not leave an object",
        )),
    }
}
