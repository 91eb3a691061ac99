//! Routes a request by its resource and verb to the part of the server that answers it.

mod patch;
mod scale;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::discovery;
use crate::encode::{Form, IncludeObject, Shape, Typed, View};
use crate::error::ApiError;
use crate::faults::{Fault, Plan};
use crate::list::{self, ListAnswer, Listing};
use crate::object::Stored;
use crate::protobuf::TypeNames;
use crate::registry::{Resource, Subresource};
use crate::request::{ListOptions, ResourcePath, Verb};
use crate::respond::{self, Body};
use crate::service::Call;
use crate::shared::Shared;
use crate::state::{Part, State};
use crate::watch::{Watch, WatchRequest};

/// Answers a request.
pub(crate) fn answer(shared: &Arc<Shared>, call: &Call, plan: Plan) -> Response<Body> {
    let Some(path) = &call.target.resource else {
        return discovery::answer(shared, call);
    };
    let resource = shared
        .state()
        .registry
        .get(&path.group, &path.version, &path.plural);
    let Some(resource) = resource else {
        return discovery::unknown(shared, call, path);
    };
    let request = ResourceCall {
        shared,
        call,
        path,
        resource: &resource,
    };
    request
        .answer(plan)
        .unwrap_or_else(|error| respond::error(&error, shared.error_format(call.accept())))
}

/// A request for a served resource.
struct ResourceCall<'a> {
    shared: &'a Arc<Shared>,
    call: &'a Call,
    path: &'a ResourcePath,
    resource: &'a Arc<Resource>,
}

impl ResourceCall<'_> {
    fn answer(&self, plan: Plan) -> Result<Response<Body>, ApiError> {
        let verb = self.call.target.verb;
        match self.path.subresource.as_deref() {
            None => {}
            Some("status") if self.resource.status == Subresource::Present => return self.status(),
            Some("scale") if self.resource.scale.is_some() => return self.scale(),
            Some(_) => return Err(ApiError::no_such_resource()),
        }
        let nameless = matches!(verb, Verb::Update | Verb::Patch) && self.path.name.is_none();
        if nameless || !self.resource.allows(verb.as_str()) {
            return Err(ApiError::method_not_allowed());
        }
        match verb {
            Verb::Get => self.get(),
            Verb::List => self.list(&plan),
            Verb::Watch => self.watch(plan),
            Verb::Create => self.create(),
            Verb::Update => self.update(Part::Main),
            Verb::Patch => self.patch(Part::Main),
            Verb::Delete => self.delete(),
            Verb::DeleteCollection => self.delete_collection(),
            Verb::Other => Err(ApiError::method_not_allowed()),
        }
    }

    fn status(&self) -> Result<Response<Body>, ApiError> {
        match self.call.target.verb {
            Verb::Get => self.get(),
            Verb::Update => self.update(Part::Status),
            Verb::Patch => self.patch(Part::Status),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    fn namespace(&self) -> &str {
        self.path.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.path.name.as_deref().unwrap_or_default()
    }

    fn form(&self) -> Result<Form, ApiError> {
        let media_types = self.shared.settings.media_types;
        let mut form = Form::negotiate(self.call.accept(), media_types, self.resource.origin)?;
        if let Shape::Table(include) = &mut form.shape {
            *include = IncludeObject::read(self.call.target.parameter("includeObject"));
        }
        Ok(form)
    }

    fn view(&self, form: Form) -> View<'_> {
        View {
            resource: self.resource,
            form,
            now: self.shared.clock.now(),
        }
    }

    fn options(&self) -> Result<ListOptions, ApiError> {
        ListOptions::read(&self.call.target, self.resource, self.shared.settings.watch_list)
    }

    fn object(&self, code: u16, stored: &Stored) -> Result<Response<Body>, ApiError> {
        let mut buffer = Vec::new();
        let view = self.view(self.form()?);
        view.object(&mut buffer, stored, Typed::Named);
        let format = view.form.format;
        let body = format.body(&view.names(), buffer);
        Ok(respond::answer(code, format.content_type(), respond::whole(body)))
    }

    /// Answers with an object that is not of the resource's kind.
    fn other(&self, names: &TypeNames, value: &Value) -> Response<Body> {
        let format = self.shared.error_format(self.call.accept());
        respond::object(200, format, names, value)
    }

    fn get(&self) -> Result<Response<Body>, ApiError> {
        let state = self.shared.state();
        let asked = self.call.target.parameter("resourceVersion").unwrap_or_default();
        let newest = state.storage.revision();
        if state.versions.parse(asked).is_some_and(|asked| asked > newest) {
            return Err(ApiError::too_large_version(asked, &state.versions.print(newest)));
        }
        let stored = state.read(self.resource, self.namespace(), self.name())?;
        drop(state);
        self.object(200, &stored)
    }

    fn list(&self, plan: &Plan) -> Result<Response<Body>, ApiError> {
        let (options, mut form) = (self.options()?, self.form()?);
        if plan.has(&Fault::ExpireToken) {
            let after = list::token_key(&options.continue_token).unwrap_or_default();
            return Err(list::expired_token(&after));
        }
        let mut answer = self.run_list(&self.shared.state(), &options, plan)?;
        if plan.has(&Fault::EndlessPages) && answer.continue_token.is_none() {
            let mut state = self.shared.state();
            let revision = state.versions.parse(&answer.version).unwrap_or_default();
            answer.continue_token = Some(list::token_past_the_end(revision, state.rng.next()));
        }
        if let Some(version) = plan.replaced_version() {
            answer.version = version.to_owned();
        }
        if plan.has(&Fault::OmitListVersion) {
            answer.version.clear();
        }
        if plan.has(&Fault::Table) {
            form = Form::forced_table();
        }
        let view = self.view(form);
        let mut items = items(&view, &answer);
        plan.add_foreign(&mut items);
        plan.garble_items(&mut items);
        let bytes = view.list(&answer.metadata(self.resource.origin), &items);
        Ok(self.damaged(bytes, form, plan))
    }

    /// Returns the body of a list, with the faults applied.
    fn damaged(&self, mut bytes: Vec<u8>, form: Form, plan: &Plan) -> Response<Body> {
        if let Some(limit) = plan.truncate_bytes() {
            bytes.truncate(limit);
        }
        let document = respond::Document::new(bytes, form.format, self.call.accepts_gzip());
        let piece = plan.fragment().unwrap_or(respond::CHUNK);
        document.answer(piece, plan.cut_bytes())
    }

    fn run_list(&self, state: &State, options: &ListOptions, plan: &Plan) -> Result<ListAnswer, ApiError> {
        let newest = state.storage.revision();
        let listing = Listing {
            resource: self.resource,
            namespace: self.namespace(),
            options,
            cache: self.shared.settings.watch_cache,
            newest: plan.stale().map_or(newest, |(_, revision)| newest.min(revision)),
        };
        listing.run(state)
    }

    fn watch(&self, plan: Plan) -> Result<Response<Body>, ApiError> {
        let form = match plan.has(&Fault::Table) {
            true => Form::forced_table(),
            false => self.form()?,
        };
        let request = WatchRequest {
            resource: self.resource.clone(),
            namespace: self.namespace().to_owned(),
            options: self.options()?,
            form,
            accepts_gzip: self.call.accepts_gzip(),
        };
        Ok(respond::watch(Watch::open(self.shared, request, plan)?))
    }

    fn body_bytes(&self) -> &Bytes {
        &self.call.body
    }
}

/// Returns the items of a list, each encoded.
fn items(view: &View<'_>, answer: &ListAnswer) -> Vec<Vec<u8>> {
    answer.items.iter().map(|stored| view.item(stored)).collect()
}
