//! Creation: defaults of the real server, names, UID and timestamps.

use std::sync::Arc;

use serde_json::Value;

use super::{Part, Source, State, Write};
use super::{defaults, names, validate};
use crate::error::{ApiError, FieldProblem};
use crate::managed;
use crate::object::{self, Object, Stored, metadata_mut, metadata_str, set_metadata};
use crate::registry::{Generation, Origin, Resource, Scope, Subresource};

/// Attempts at a free generated name, as upstream.
const GENERATE_ATTEMPTS: usize = 8;

impl State {
    /// Stores a new object.
    pub(crate) fn create(&mut self, write: &Write<'_>, mut object: Object) -> Result<Arc<Stored>, ApiError> {
        let resource = write.resource;
        check_type(resource, &object)?;
        settle_namespace(write, &mut object)?;
        if write.source == Source::Request && !metadata_str(&object, "resourceVersion").is_empty() {
            return Err(ApiError::new(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let name = self.settle_name(write, &mut object)?;
        if write.source == Source::Request {
            validate::metadata(resource, &object)?;
        }
        validate::without_empty_metadata(&mut object);
        self.check_namespace(write, &name)?;
        if self
            .storage
            .get(&resource.id, &object::key(write.namespace, &name))
            .is_some()
        {
            return Err(ApiError::already_exists(&resource.plural, &resource.group, &name));
        }
        if write.source == Source::Request && resource.status == Subresource::Present {
            object.remove("status");
        }
        defaults::owned(resource, &name, &mut object);
        self.first_stamp(resource, &mut object);
        if let Some(manager) = write.manager {
            managed::record(
                resource,
                None,
                &mut object,
                manager,
                Part::Main,
                &self.clock.stamp(),
            );
        }
        defaults::unowned(resource, &mut object);
        Ok(self.put(write, object))
    }

    fn settle_name(&mut self, write: &Write<'_>, object: &mut Object) -> Result<String, ApiError> {
        let resource = write.resource;
        let refuse =
            |name: &str, problem| ApiError::invalid(&resource.kind, &resource.group, name, &[problem]);
        let given = metadata_str(object, "name").to_owned();
        if !given.is_empty() {
            return match names::problem(resource, &given) {
                Some(problem) => Err(refuse(&given, problem)),
                None => Ok(given),
            };
        }
        let base: String = metadata_str(object, "generateName")
            .chars()
            .take(names::MAX_GENERATED_BASE)
            .collect();
        if base.is_empty() {
            let problem = FieldProblem::required("metadata.name", "name or generateName is required");
            return Err(refuse("", problem));
        }
        let mut name = String::new();
        for _ in 0..GENERATE_ATTEMPTS {
            name = format!("{base}{}", self.rng.name_suffix());
            if self
                .storage
                .get(&resource.id, &object::key(write.namespace, &name))
                .is_none()
            {
                break;
            }
        }
        if let Some(problem) = names::problem(resource, &name) {
            return Err(refuse(&name, problem));
        }
        set_metadata(object, "name", name.as_str().into());
        Ok(name)
    }

    fn first_stamp(&mut self, resource: &Resource, object: &mut Object) {
        let (uid, now) = (self.rng.uid(), self.clock.stamp());
        let counted = match resource.generation {
            Generation::Never => false,
            Generation::Spec => object.contains_key("spec"),
            Generation::Everything => true,
        };
        let metadata = metadata_mut(object);
        for field in [
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), now.into());
        // For kinds without generations the server keeps the value that the client sent.
        if counted {
            metadata.insert("generation".into(), 1.into());
        }
    }
}

/// Checks that the type in the body, if present, is the type of the path.
pub(super) fn check_type(resource: &Resource, object: &Object) -> Result<(), ApiError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    if let Some(given) = text("apiVersion").filter(|given| *given != resource.api_version()) {
        let expected = resource.api_version();
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({expected})"
        )));
    }
    let Some(given) = text("kind").filter(|given| *given != resource.kind) else {
        return Ok(());
    };
    let (version, expected) = (&resource.version, &resource.kind);
    if resource.origin == Origin::Custom {
        let problem = FieldProblem::invalid("kind", given, &format!("must be {expected}"));
        let name = metadata_str(object, "name");
        return Err(ApiError::invalid(given, &resource.group, name, &[problem]));
    }
    let internal = resource
        .group
        .split('.')
        .next()
        .filter(|group| !group.is_empty())
        .unwrap_or("core");
    Err(ApiError::bad_request(format!(
        "{given} in version {version:?} cannot be handled as a {expected}: converting ({version}.{given}) to \
         ({internal}.{expected}): unknown conversion"
    )))
}

/// Sets the namespace of the request in the object, which must not have another one.
pub(super) fn settle_namespace(write: &Write<'_>, object: &mut Object) -> Result<(), ApiError> {
    if write.resource.scope == Scope::Cluster {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    let given = metadata_str(object, "namespace");
    if !given.is_empty() && given != write.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    set_metadata(object, "namespace", write.namespace.into());
    Ok(())
}
