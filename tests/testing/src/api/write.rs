//! Create, replace and delete over HTTP.

use http::Response;
use serde_json::{Value, json};

use super::{ResourceCall, items};
use crate::encode::MediaTypes;
use crate::error::{ApiError, FieldProblem};
use crate::faults::Plan;
use crate::object::{Object, Stored};
use crate::patch::manager_of;
use crate::protobuf::{self, TypeNames};
use crate::registry::{Origin, Scope};
use crate::request::Verb;
use crate::respond::Body;
use crate::state::{DeleteRequest, Deleted, Mode, Part, Source, Write, check_manager};

/// Kinds whose deletion upstream answers with the object instead of a status.
const ANSWERED_WITH_OBJECT: &[&str] = &[
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "deviceclasses.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "storageclasses.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
];

impl ResourceCall<'_> {
    /// Returns the field manager: the parameter, or the name in the User-Agent.
    pub(super) fn manager(&self) -> String {
        match self.call.target.parameter("fieldManager") {
            Some(manager) if !manager.is_empty() => manager.to_owned(),
            _ => manager_of(self.call.user_agent()),
        }
    }

    pub(super) fn writing<'w>(&'w self, manager: Option<&'w str>) -> Result<Write<'w>, ApiError> {
        let given = self.call.target.parameter("fieldManager").unwrap_or_default();
        check_manager(self.options_kind(), given)?;
        Ok(Write {
            resource: self.resource,
            namespace: self.namespace(),
            mode: self.mode(self.call.target.parameter("dryRun"))?,
            source: Source::Request,
            manager,
        })
    }

    /// The kind of the options of a write.
    fn options_kind(&self) -> &'static str {
        match self.call.target.verb {
            Verb::Create => "CreateOptions",
            Verb::Patch => "PatchOptions",
            Verb::Delete | Verb::DeleteCollection => "DeleteOptions",
            _ => "UpdateOptions",
        }
    }

    /// Whether a write takes effect.
    fn mode(&self, dry_run: Option<&str>) -> Result<Mode, ApiError> {
        match dry_run {
            None | Some("") => Ok(Mode::Commit),
            Some("All") => Ok(Mode::DryRun),
            Some(other) => {
                let problem = FieldProblem::unsupported_list("dryRun", other, &["All"]);
                Err(ApiError::invalid(
                    self.options_kind(),
                    "meta.k8s.io",
                    "",
                    &[problem],
                ))
            }
        }
    }

    pub(super) fn body(&self) -> Result<Object, ApiError> {
        let content_type = self.call.content_type();
        if content_type == protobuf::MEDIA_TYPE && self.takes_protobuf() {
            let why = |error| self.unreadable(&format!("{error}"));
            return protobuf::read_body(self.body_bytes()).map_err(why);
        }
        if !matches!(content_type, "" | "application/json") {
            let message = "the body of the request was in an unknown format - accepted media types include: \
                           application/json";
            return Err(ApiError::new(415, "UnsupportedMediaType", message));
        }
        match serde_json::from_slice(self.body_bytes()) {
            Ok(Value::Object(object)) => match object.get("kind") {
                // For built-in kinds the path determines the kind.
                None if self.resource.origin == Origin::Custom => {
                    let text = String::from_utf8_lossy(self.body_bytes());
                    Err(self.unreadable(&format!("Object 'Kind' is missing in '{text}' ({text})")))
                }
                _ => Ok(object),
            },
            Ok(_) => Err(self.unreadable("json parse error: not an object")),
            Err(error) => {
                Err(self.unreadable(&format!("couldn't get version/kind; json parse error: {error}")))
            }
        }
    }

    fn takes_protobuf(&self) -> bool {
        self.shared.settings.media_types == MediaTypes::All && self.resource.origin == Origin::BuiltIn
    }

    fn unreadable(&self, why: &str) -> ApiError {
        let kind = &self.resource.kind;
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why}"
        ))
    }

    pub(super) fn create(&self) -> Result<Response<Body>, ApiError> {
        let nowhere = self.resource.scope == Scope::Namespaced && self.namespace().is_empty();
        if self.path.name.is_some() || nowhere {
            return Err(ApiError::method_not_allowed());
        }
        let (manager, object) = (self.manager(), self.body()?);
        let write = self.writing(Some(&manager))?;
        let stored = self.shared.write(|state| state.create(&write, object))?;
        self.object(201, &stored)
    }

    pub(super) fn update(&self, part: Part) -> Result<Response<Body>, ApiError> {
        let (manager, object) = (self.manager(), self.body()?);
        let write = self.writing(Some(&manager))?;
        let stored = self
            .shared
            .write(|state| state.update(&write, self.name(), object, part))?;
        self.object(200, &stored)
    }

    fn delete_options(&self) -> Result<Value, ApiError> {
        let unreadable =
            |error: String| ApiError::bad_request(format!("could not read DeleteOptions: {error}"));
        let is_protobuf = self.call.content_type() == protobuf::MEDIA_TYPE && self.takes_protobuf();
        let mut options = match self.body_bytes() {
            body if body.is_empty() => Value::Null,
            body if is_protobuf => {
                protobuf::read_delete_options(body).map_err(|error| unreadable(error.to_string()))?
            }
            body => serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))?,
        };
        let policy = options["propagationPolicy"]
            .as_str()
            .or_else(|| self.call.target.parameter("propagationPolicy"))
            .map(str::to_owned);
        let problem = match policy.as_deref() {
            None | Some("") => None,
            Some(policy) if !options["orphanDependents"].is_null() => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                Some(FieldProblem::invalid("propagationPolicy", policy, why))
            }
            Some("Foreground" | "Background" | "Orphan") => None,
            Some(policy) => Some(FieldProblem::unsupported(
                "propagationPolicy",
                policy,
                &["Foreground", "Background", "Orphan", "nil"],
            )),
        };
        match problem {
            Some(problem) => Err(ApiError::invalid("DeleteOptions", "meta.k8s.io", "", &[problem])),
            None => {
                if let Some(policy) = policy {
                    options["propagationPolicy"] = policy.into();
                }
                Ok(options)
            }
        }
    }

    pub(super) fn delete(&self) -> Result<Response<Body>, ApiError> {
        let options = self.delete_options()?;
        let mut write = self.writing(None)?;
        if let Some(dry) = options["dryRun"].as_array().and_then(|list| list.first()) {
            write.mode = self.mode(dry.as_str())?;
        }
        let request = DeleteRequest::read(&options);
        match self
            .shared
            .write(|state| state.delete(&write, self.name(), &request))?
        {
            Deleted::Kept(stored) => self.object(200, &stored),
            Deleted::Gone(stored) if ANSWERED_WITH_OBJECT.contains(&&*self.resource.id) => {
                self.object(200, &stored)
            }
            Deleted::Gone(stored) => Ok(self.other(&TypeNames::status(), &self.success(&stored))),
        }
    }

    fn success(&self, stored: &Stored) -> Value {
        let mut details = json!({ "name": stored.name, "kind": self.resource.plural, "uid": stored.uid });
        if !self.resource.group.is_empty() {
            details["group"] = self.resource.group.as_str().into();
        }
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details })
    }

    pub(super) fn delete_collection(&self) -> Result<Response<Body>, ApiError> {
        let (options, form, write) = (self.options()?, self.form()?, self.writing(None)?);
        let request = DeleteRequest::read(&self.delete_options()?);
        let answer = self.shared.write(|state| {
            let mut answer = self.run_list(state, &options, &Plan::default())?;
            for item in &answer.items {
                let write = Write {
                    namespace: &item.namespace,
                    ..write
                };
                state.delete(&write, &item.name, &request)?;
            }
            answer.version = state.version();
            Ok::<_, ApiError>(answer)
        })?;
        let view = self.view(form);
        let bytes = view.list(&answer.metadata(self.resource.origin), &items(&view, &answer));
        Ok(self.damaged(bytes, form, &Plan::default()))
    }
}
