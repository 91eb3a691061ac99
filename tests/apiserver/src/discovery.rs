//! Discovery, version and health.

use std::sync::Arc;

use http::Response;
use serde_json::json;

use crate::error::ApiError;
use crate::request::ResourcePath;
use crate::respond::{self, Body};
use crate::service::Call;
use crate::shared::Shared;

/// Answers a request that is not about a resource.
pub(crate) fn answer(_shared: &Arc<Shared>, call: &Call) -> Response<Body> {
    match call.path.trim_end_matches('/') {
        "/version" => respond::json(
            200,
            &json!({ "major": "1", "minor": "37", "gitVersion": "v1.37.1" }),
        ),
        "/healthz" | "/livez" | "/readyz" => respond::text(200, "ok"),
        _ => respond::text(404, "404 page not found\n"),
    }
}

/// Answers a request about a resource that is not served.
pub(crate) fn unknown(shared: &Arc<Shared>, path: &ResourcePath) -> Response<Body> {
    let state = shared.state();
    let mut group_versions = state
        .registry
        .all()
        .map(|resource| (&resource.group, &resource.version));
    match group_versions.any(|served| served == (&path.group, &path.version)) {
        true => respond::error(&ApiError::no_such_resource()),
        false => respond::text(404, "404 page not found\n"),
    }
}
