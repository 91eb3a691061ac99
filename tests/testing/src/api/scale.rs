//! The scale subresource: the number of replicas, seen as an `autoscaling/v1` Scale.

use http::Response;
use serde_json::{Value, json};

use super::ResourceCall;
use super::patch::PatchType;
use crate::error::ApiError;
use crate::object::{Object, lookup, metadata_str};
use crate::protobuf::TypeNames;
use crate::registry::ScalePaths;
use crate::request::Verb;
use crate::respond::Body;
use crate::state::Part;

impl ResourceCall<'_> {
    pub(super) fn scale(&self) -> Result<Response<Body>, ApiError> {
        let Some(paths) = &self.resource.scale else {
            return Err(ApiError::no_such_resource());
        };
        match self.call.target.verb {
            Verb::Get => {
                let stored = self
                    .shared
                    .state()
                    .read(self.resource, self.namespace(), self.name())?;
                Ok(self.other(&scale_names(), &scale_of(&stored.object(), paths)))
            }
            Verb::Update => {
                let wanted = Value::Object(self.body()?);
                self.rescale(paths, |_| Ok(wanted))
            }
            Verb::Patch => {
                let kind = PatchType::read(self.call.content_type())?;
                // A Scale has no lists, so strategic merge and apply are plain merges.
                let kind = if kind == PatchType::Json {
                    kind
                } else {
                    PatchType::Merge
                };
                let body = self.patch_body()?;
                self.rescale(paths, |scale| kind.run(self.resource, scale, &body))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    fn rescale(
        &self,
        paths: &ScalePaths,
        change: impl FnOnce(&Value) -> Result<Value, ApiError>,
    ) -> Result<Response<Body>, ApiError> {
        let manager = self.manager();
        let write = self.writing(Some(&manager))?;
        let stored = self.shared.write(|state| {
            let mut object = state.read(self.resource, self.namespace(), self.name())?.object();
            let wanted = change(&scale_of(&object, paths))?;
            let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or(0);
            if replicas < 0 {
                let message = "spec.replicas: Invalid value: must be greater than or equal to 0";
                return Err(ApiError::new(422, "Invalid", message));
            }
            set(&mut object, &paths.spec_replicas, replicas.into());
            let version = wanted["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            if !version.is_empty() {
                crate::object::set_metadata(&mut object, "resourceVersion", version.into());
            }
            state.update(&write, self.name(), object, Part::Scale)
        })?;
        Ok(self.other(&scale_names(), &scale_of(&stored.object(), paths)))
    }
}

fn scale_names() -> TypeNames {
    TypeNames::new("autoscaling/v1", "Scale")
}

fn scale_of(object: &Object, paths: &ScalePaths) -> Value {
    let number = |path: &str| lookup(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata_str(object, "name"),
            "namespace": metadata_str(object, "namespace"),
            "uid": metadata_str(object, "uid"),
            "resourceVersion": metadata_str(object, "resourceVersion"),
            "creationTimestamp": metadata_str(object, "creationTimestamp"),
        },
        "spec": { "replicas": number(&paths.spec_replicas) },
        "status": { "replicas": number(&paths.status_replicas) },
    });
    let selector = paths
        .selector
        .as_ref()
        .and_then(|path| lookup(object, path))
        .and_then(Value::as_str);
    if let Some(selector) = selector.map(str::to_owned).or_else(|| match_labels(object)) {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// Returns the label selector of a built-in workload, as text.
fn match_labels(object: &Object) -> Option<String> {
    let labels = lookup(object, "spec.selector.matchLabels")?.as_object()?;
    let pairs = labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    Some(pairs.collect::<Vec<_>>().join(","))
}

/// Sets the value at a dotted path, creating the objects in between.
fn set(object: &mut Object, path: &str, value: Value) {
    let mut steps: Vec<&str> = path.split('.').collect();
    let Some(last) = steps.pop() else { return };
    let mut place = object;
    for step in steps {
        let next = place.entry(step).or_insert_with(|| json!({}));
        let Some(next) = next.as_object_mut() else { return };
        place = next;
    }
    place.insert(last.to_owned(), value);
}
