//! From a request to its answer: which resource, which verb, which part of the server does it.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use crate::discovery;
use crate::encode::{self, Shape, Typed};
use crate::error::ApiError;
use crate::list::{self, Listing};
use crate::object::{Object, Stored};
use crate::registry::{Resource, Scope, Subresource};
use crate::request::{ListOptions, ResourcePath, Verb};
use crate::respond::{self, Body};
use crate::service::Call;
use crate::shared::{BoxError, Shared};
use crate::state::{DeleteRequest, Deleted, Mode, Part, Source, State, Write};
use crate::watch::{Watch, WatchRequest};

/// Answers a request; the error is a connection that fails.
pub(crate) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Response<Body>, BoxError> {
    let Some(path) = call.target.resource.clone() else {
        return Ok(discovery::answer(shared, &call));
    };
    let resource = shared
        .state()
        .registry
        .get(&path.group, &path.version, &path.plural);
    let Some(resource) = resource else {
        return Ok(discovery::unknown(shared, &path));
    };
    let request = ResourceCall {
        shared,
        call: &call,
        path: &path,
        resource: &resource,
    };
    Ok(request.answer().unwrap_or_else(|error| respond::error(&error)))
}

/// A request about a resource that is served.
struct ResourceCall<'a> {
    shared: &'a Arc<Shared>,
    call: &'a Call,
    path: &'a ResourcePath,
    resource: &'a Arc<Resource>,
}

impl ResourceCall<'_> {
    fn answer(&self) -> Result<Response<Body>, ApiError> {
        let verb = self.call.target.verb;
        match self.path.subresource.as_deref() {
            None => {}
            Some("status") if self.resource.status == Subresource::Present => return self.status(),
            Some(_) => return Err(ApiError::no_such_resource()),
        }
        if !self.resource.allows(verb.as_str()) {
            return Err(ApiError::method_not_allowed());
        }
        match verb {
            Verb::Get => self.get(),
            Verb::List => self.list(),
            Verb::Watch => self.watch(),
            Verb::Create => self.create(),
            Verb::Update => self.update(Part::Main),
            Verb::Patch => Err(ApiError::new(
                415,
                "UnsupportedMediaType",
                "patches are not served yet",
            )),
            Verb::Delete => self.delete(),
            Verb::DeleteCollection => self.delete_collection(),
            Verb::Other => Err(ApiError::method_not_allowed()),
        }
    }

    fn status(&self) -> Result<Response<Body>, ApiError> {
        match self.call.target.verb {
            Verb::Get => self.get(),
            Verb::Update => self.update(Part::Status),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    fn namespace(&self) -> &str {
        self.path.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.path.name.as_deref().unwrap_or_default()
    }

    fn shape(&self) -> Result<Shape, ApiError> {
        Shape::negotiate(self.call.accept())
    }

    fn options(&self) -> Result<ListOptions, ApiError> {
        ListOptions::read(&self.call.target, self.resource, self.shared.settings.watch_list)
    }

    fn object(&self, code: u16, stored: &Stored) -> Result<Response<Body>, ApiError> {
        let mut buffer = Vec::new();
        encode::object(&mut buffer, self.resource, stored, self.shape()?, Typed::Named);
        buffer.push(b'\n');
        Ok(respond::answer(code, respond::JSON, respond::whole(buffer)))
    }

    fn get(&self) -> Result<Response<Body>, ApiError> {
        let stored = self
            .shared
            .state()
            .read(self.resource, self.namespace(), self.name())?;
        self.object(200, &stored)
    }

    fn list(&self) -> Result<Response<Body>, ApiError> {
        let (options, shape) = (self.options()?, self.shape()?);
        let answer = self.run_list(&self.shared.state(), &options)?;
        let items = answer.item_bytes(self.resource, shape);
        let bytes = list::assemble(self.resource, shape, &answer.metadata(), &items);
        Ok(respond::document(respond::JSON, bytes, self.call.accepts_gzip()))
    }

    fn run_list(&self, state: &State, options: &ListOptions) -> Result<list::ListAnswer, ApiError> {
        let listing = Listing {
            resource: self.resource,
            namespace: self.namespace(),
            options,
            cache: self.shared.settings.watch_cache,
            newest: state.storage.revision(),
        };
        listing.run(state)
    }

    fn watch(&self) -> Result<Response<Body>, ApiError> {
        let request = WatchRequest {
            resource: self.resource.clone(),
            namespace: self.namespace().to_owned(),
            options: self.options()?,
            shape: self.shape()?,
            accepts_gzip: self.call.accepts_gzip(),
        };
        Ok(respond::watch(Watch::open(self.shared, request)?))
    }

    fn write(&self) -> Result<Write<'_>, ApiError> {
        let manager = match self.call.target.parameter("fieldManager") {
            Some(manager) if !manager.is_empty() => manager,
            _ => self.call.user_agent().split('/').next().unwrap_or_default(),
        };
        Ok(Write {
            resource: self.resource,
            namespace: self.namespace(),
            mode: dry_run(self.call.target.parameter("dryRun"))?,
            source: Source::Request,
            manager: Some(manager),
        })
    }

    fn body(&self) -> Result<Object, ApiError> {
        let content_type = self.call.content_type();
        if !matches!(content_type, "" | "application/json") {
            let message = format!(
                "the body of the request was in an unknown format - accepted media types include: application/json \
                 (got {content_type})"
            );
            return Err(ApiError::new(415, "UnsupportedMediaType", message));
        }
        match serde_json::from_slice(&self.call.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(self.unreadable("json parse error: not an object")),
            Err(error) => {
                Err(self.unreadable(&format!("couldn't get version/kind; json parse error: {error}")))
            }
        }
    }

    fn unreadable(&self, why: &str) -> ApiError {
        let kind = &self.resource.kind;
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why}"
        ))
    }

    fn create(&self) -> Result<Response<Body>, ApiError> {
        if self.path.name.is_some() {
            return Err(ApiError::method_not_allowed());
        }
        if self.resource.scope == Scope::Namespaced && self.namespace().is_empty() {
            return Err(ApiError::bad_request(
                "an empty namespace may not be set during creation",
            ));
        }
        let (write, object) = (self.write()?, self.body()?);
        let stored = self.shared.write(|state| state.create(&write, object))?;
        self.object(201, &stored)
    }

    fn update(&self, part: Part) -> Result<Response<Body>, ApiError> {
        let (write, object) = (self.write()?, self.body()?);
        let stored = self
            .shared
            .write(|state| state.update(&write, self.name(), object, part))?;
        self.object(200, &stored)
    }

    fn delete_options(&self) -> Result<Value, ApiError> {
        if self.call.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.call.body)
            .map_err(|error| ApiError::bad_request(format!("could not read DeleteOptions: {error}")))
    }

    fn delete(&self) -> Result<Response<Body>, ApiError> {
        let options = self.delete_options()?;
        let mut write = self.write()?;
        if let Some(dry) = options["dryRun"].as_array().and_then(|list| list.first()) {
            write.mode = dry_run(dry.as_str())?;
        }
        let request = DeleteRequest::read(&options);
        match self
            .shared
            .write(|state| state.delete(&write, self.name(), &request))?
        {
            Deleted::Kept(stored) => self.object(200, &stored),
            Deleted::Gone(stored) if &*self.resource.id == "pods" => self.object(200, &stored),
            Deleted::Gone(stored) => Ok(respond::json(200, &self.success(&stored))),
        }
    }

    fn success(&self, stored: &Stored) -> Value {
        let mut details = json!({ "name": stored.name, "kind": self.resource.plural, "uid": stored.uid });
        if !self.resource.group.is_empty() {
            details["group"] = self.resource.group.as_str().into();
        }
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
    }

    fn delete_collection(&self) -> Result<Response<Body>, ApiError> {
        let (options, shape, write) = (self.options()?, self.shape()?, self.write()?);
        let request = DeleteRequest::read(&self.delete_options()?);
        let mut answer = self.shared.write(|state| {
            let answer = self.run_list(state, &options)?;
            for item in &answer.items {
                let write = Write {
                    namespace: &item.namespace,
                    ..write
                };
                state.delete(&write, &item.name, &request)?;
            }
            Ok(answer)
        })?;
        answer.version = self.shared.state().version();
        let items = answer.item_bytes(self.resource, shape);
        let bytes = list::assemble(self.resource, shape, &answer.metadata(), &items);
        Ok(respond::document(respond::JSON, bytes, self.call.accepts_gzip()))
    }
}

fn dry_run(value: Option<&str>) -> Result<Mode, ApiError> {
    match value {
        None | Some("") => Ok(Mode::Commit),
        Some("All") => Ok(Mode::DryRun),
        Some(other) => {
            let message =
                format!("Invalid value: {other:?}: dryRun: Unsupported value: supported values: \"All\"");
            Err(ApiError::bad_request(message))
        }
    }
}
