//! Discovery in both forms, version and health.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::openapi::{self, PathScope, ServedKind};
use crate::registry::{Registry, Resource, Scope, Subresource};
use crate::request::ResourcePath;
use crate::respond::{self, Body};
use crate::service::Call;
use crate::shared::Shared;

/// Answers a request that is not for a resource.
pub(crate) fn answer(shared: &Arc<Shared>, call: &Call) -> Response<Body> {
    let registry = shared.state().registry.clone();
    let path = call.path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        ["api"] if wants_aggregated(call) => aggregated(&registry, |group| group.is_empty()),
        ["apis"] if wants_aggregated(call) => aggregated(&registry, |group| !group.is_empty()),
        ["api"] => respond::json(200, &core_versions()),
        ["apis"] => {
            let groups: Vec<Value> = groups(&registry)
                .into_iter()
                .map(|(name, versions)| group(&name, &versions))
                .collect();
            respond::json(
                200,
                &json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }),
            )
        }
        ["apis", name] => match groups(&registry).get(*name) {
            Some(versions) => {
                let mut group = group(name, versions);
                group["kind"] = "APIGroup".into();
                group["apiVersion"] = "v1".into();
                respond::json(200, &group)
            }
            None => no_such_page(),
        },
        ["api", version] => resource_list(&registry, "", version),
        ["apis", group, version] => resource_list(&registry, group, version),
        ["version"] => respond::json(200, &version()),
        ["healthz" | "livez" | "readyz", ..] => respond::text(200, "ok"),
        ["openapi", ..] => open_api(&registry, path, call.accept()),
        _ => no_such_page(),
    }
}

/// Answers a request for a resource that is not served.
pub(crate) fn unknown(shared: &Arc<Shared>, call: &Call, path: &ResourcePath) -> Response<Body> {
    let state = shared.state();
    match state.registry.all().any(|resource| resource.group == path.group) {
        true => respond::error(&ApiError::no_such_resource(), shared.error_format(call.accept())),
        false => no_such_page(),
    }
}

fn no_such_page() -> Response<Body> {
    respond::text(404, "404 page not found\n")
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.1", "gitCommit": "embedded",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc",
        "platform": "in-memory",
    })
}

fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1" }],
    })
}

/// Returns the named groups, each with its versions, the preferred one first.
fn groups(registry: &Registry) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for resource in registry.all().filter(|resource| !resource.group.is_empty()) {
        let versions = groups.entry(resource.group.clone()).or_default();
        if !versions.contains(&resource.version) {
            versions.push(resource.version.clone());
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    groups
}

/// Orders stable before beta before alpha, and higher numbers first; other names come last.
fn priority(version: &str) -> (u8, u32, u32) {
    let number = |text: &str| text.parse::<u32>().ok();
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let staged = |marker: &str, rank: u8| {
        let (major, minor) = rest.split_once(marker)?;
        Some((rank, number(major)?, number(minor)?))
    };
    let stable = number(rest).map(|major| (3, major, 0));
    stable
        .or_else(|| staged("beta", 2))
        .or_else(|| staged("alpha", 1))
        .unwrap_or((0, 0, 0))
}

fn group(name: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    json!({ "name": name, "versions": versions, "preferredVersion": versions.first() })
}

fn served<'r>(registry: &'r Registry, group: &'r str, version: &'r str) -> Vec<&'r Arc<Resource>> {
    registry
        .all()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect()
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Response<Body> {
    let served = served(registry, group, version);
    if served.is_empty() {
        return no_such_page();
    }
    let group_version = served[0].api_version();
    let mut resources = Vec::new();
    for resource in served {
        let namespaced = resource.scope == Scope::Namespaced;
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": namespaced,
            "kind": resource.kind, "verbs": resource.verbs,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = resource.short_names.clone().into();
        }
        if !resource.categories.is_empty() {
            entry["categories"] = resource.categories.clone().into();
        }
        resources.push(entry);
        for (name, kind) in subresources(resource) {
            let mut entry = json!({
                "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": namespaced,
                "kind": kind, "verbs": ["get", "patch", "update"],
            });
            if kind == "Scale" {
                entry["group"] = "autoscaling".into();
                entry["version"] = "v1".into();
            }
            resources.push(entry);
        }
    }
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
    });
    respond::json(200, &list)
}

/// Returns the subresources of a kind, each with its kind.
fn subresources(resource: &Resource) -> Vec<(&'static str, &str)> {
    let status = (resource.status == Subresource::Present).then_some(("status", resource.kind.as_str()));
    let scale = resource.scale.as_ref().map(|_| ("scale", "Scale"));
    scale.into_iter().chain(status).collect()
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn wants_aggregated(call: &Call) -> bool {
    call.accept().split(',').any(|range| {
        let has = |parameter: &str| range.split(';').any(|part| part.trim() == parameter);
        has("as=APIGroupDiscoveryList") && has("v=v2") && has("g=apidiscovery.k8s.io")
    })
}

fn aggregated(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Response<Body> {
    let mut groups = groups(registry);
    groups.insert(String::new(), vec!["v1".into()]);
    let items: Vec<Value> = groups
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, versions)| {
            let metadata = if name.is_empty() {
                json!({})
            } else {
                json!({ "name": name })
            };
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| discovered(registry, name, version))
                .collect();
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items,
    });
    respond::answer(200, AGGREGATED, respond::whole(list.to_string()))
}

fn discovered(registry: &Registry, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = served(registry, group, version)
        .into_iter()
        .map(|r| discovered_resource(r))
        .collect();
    json!({ "version": version, "resources": resources, "freshness": "Current" })
}

fn discovered_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind("", "", &resource.kind),
        "scope": if resource.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.clone().into();
    }
    let subresources: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|(name, of)| {
            let response = if of == "Scale" {
                kind("autoscaling", "v1", of)
            } else {
                kind("", "", of)
            };
            json!({ "subresource": name, "responseKind": response, "verbs": ["get", "patch", "update"] })
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

fn open_api(registry: &Registry, path: &str, accept: &str) -> Response<Body> {
    let kinds: Vec<ServedKind<'_>> = registry
        .all()
        .map(|resource| ServedKind {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            plural: &resource.plural,
            scope: match resource.scope {
                Scope::Namespaced => PathScope::Namespaced,
                Scope::Cluster => PathScope::Cluster,
            },
            schema: resource.open_api.as_deref(),
        })
        .collect();
    match openapi::respond(path, accept, &kinds) {
        Some((content_type, bytes)) => respond::answer(200, content_type, respond::whole(bytes)),
        None => no_such_page(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_before_beta_and_alpha() {
        let mut versions = ["v1alpha1", "v2", "v1beta2", "v1", "v1beta10", "other"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "other"]);
    }
}
