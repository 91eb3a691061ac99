//! Parses a request: its path, its verb and its list options.

use std::time::Duration;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::error::{ApiError, FieldProblem};
use crate::registry::Resource;
use crate::selectors::{FieldSelector, LabelSelector, Selectors};

/// What a request does, as named in Kubernetes' authorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Watches a collection or one object.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes a part of an object, including server-side apply.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Any request that is not for a resource: discovery, health, version, OpenAPI.
    Other,
}

impl Verb {
    /// Returns the verb as authorisation and discovery spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }
}

/// The parts of a resource's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    /// Absent for cluster-scoped resources and for requests for all namespaces.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// The parsed path and query of a request.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) verb: Verb,
    /// Absent for requests that are not for a resource, such as discovery.
    pub(crate) resource: Option<ResourcePath>,
    pub(crate) query: Vec<(String, String)>,
}

impl Target {
    pub(crate) fn read(method: &Method, path: &str, query: &str) -> Self {
        let query: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let Some((resource, watch_path)) = ResourcePath::read(path) else {
            return Self {
                verb: Verb::Other,
                resource: None,
                query,
            };
        };
        let watch = watch_path == WatchPath::Legacy || flag(&query, "watch").unwrap_or(false);
        let single = resource.name.is_some();
        let verb = match *method {
            // As upstream, `watch=true` on the path of a single object is ignored.
            Method::GET if single && watch_path == WatchPath::Plain => Verb::Get,
            Method::GET if watch => Verb::Watch,
            Method::GET => Verb::List,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if single => Verb::Delete,
            Method::DELETE => Verb::DeleteCollection,
            _ => Verb::Other,
        };
        Self {
            verb,
            resource: Some(resource),
            query,
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        parameter(&self.query, name)
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        flag(&self.query, name)
    }
}

/// Whether a path is one of the old `/watch/` ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchPath {
    Plain,
    Legacy,
}

impl ResourcePath {
    fn read(path: &str) -> Option<(Self, WatchPath)> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(decode)
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (rest, watch) = match rest {
            ["watch", rest @ ..] => (rest, WatchPath::Legacy),
            rest => (rest, WatchPath::Plain),
        };
        let (namespace, rest) = match rest {
            // `namespaces/x/status` and `finalize` are subresources of the namespace.
            ["namespaces", name, "status" | "finalize"] => (None, ["namespaces", *name, rest[2]].to_vec()),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest.to_vec()),
            rest => (None, rest.to_vec()),
        };
        let (plural, name, subresource) = match rest.as_slice() {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource, ..] => (*plural, Some(*name), Some(*subresource)),
            [] => return None,
        };
        let path = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        };
        Some((path, watch))
    }
}

pub(crate) fn parameter<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    query
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// Parses a boolean as upstream does: everything except `false` and `0` is true, also an empty value.
fn flag(query: &[(String, String)], name: &str) -> Option<bool> {
    parameter(query, name).map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
}

/// How `resourceVersion` is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    NotOlderThan,
    Exact,
}

/// The options of a list or a watch.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) selectors: Selectors,
    pub(crate) resource_version: String,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) timeout: Option<Duration>,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
}

/// Whether the server supports streaming the initial state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchList {
    /// `sendInitialEvents` is supported, as in Kubernetes since 1.34. The default.
    #[default]
    On,
    /// `sendInitialEvents` is refused with 422, as an older server does, and a watch from `""` or `"0"` still
    /// sends the existing objects first, without an end bookmark.
    Off,
}

impl ListOptions {
    /// Reads and validates the options as upstream does.
    pub(crate) fn read(
        target: &Target,
        resource: &Resource,
        watch_list: WatchList,
    ) -> Result<Self, ApiError> {
        let text = |name: &str| target.parameter(name).unwrap_or_default();
        let number = |name: &str| match text(name) {
            "" => Ok(0),
            value => value.parse::<i64>().map_err(|_| {
                ApiError::bad_request(format!("strconv.ParseInt: parsing {value:?}: invalid syntax"))
            }),
        };
        let labels = LabelSelector::parse(text("labelSelector")).map_err(ApiError::bad_request)?;
        let mut fields = FieldSelector::parse(text("fieldSelector")).map_err(ApiError::bad_request)?;
        for path in fields.paths() {
            resource.check_field(path).map_err(ApiError::bad_request)?;
        }
        if let Some(name) = target.resource.as_ref().and_then(|path| path.name.as_deref()) {
            fields = fields.and(FieldSelector::name(name));
        }
        let watch = target.verb == Verb::Watch;
        let send_initial_events = target.flag("sendInitialEvents");
        let version_match = text("resourceVersionMatch");
        let problems = match watch {
            true => watch_problems(
                version_match,
                send_initial_events,
                text("continue"),
                text("resourceVersion"),
                watch_list,
            ),
            false => list_problems(
                version_match,
                send_initial_events,
                text("continue"),
                text("resourceVersion"),
            ),
        };
        if !problems.is_empty() {
            return Err(ApiError::invalid("ListOptions", "meta.k8s.io", "", &problems));
        }
        let limit = number("limit")?;
        let timeout = number("timeoutSeconds")?;
        Ok(Self {
            selectors: Selectors { labels, fields },
            resource_version: text("resourceVersion").to_owned(),
            version_match: match version_match {
                "Exact" => Some(VersionMatch::Exact),
                "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                _ => None,
            },
            limit: usize::try_from(limit).unwrap_or(0),
            continue_token: text("continue").to_owned(),
            timeout: u64::try_from(timeout)
                .ok()
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            bookmarks: target.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events,
        })
    }
}

const MATCH: &str = "resourceVersionMatch";

fn list_problems(
    version_match: &str,
    send_initial_events: Option<bool>,
    continue_token: &str,
    version: &str,
) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    if !version_match.is_empty() {
        if version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            problems.push(FieldProblem::forbidden(MATCH, why));
        }
        if !continue_token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            problems.push(FieldProblem::forbidden(MATCH, why));
        }
        if !matches!(version_match, "Exact" | "NotOlderThan") {
            problems.push(FieldProblem::unsupported(
                MATCH,
                version_match,
                &["Exact", "NotOlderThan", ""],
            ));
        }
        if version_match == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            problems.push(FieldProblem::forbidden(MATCH, why));
        }
    }
    if send_initial_events.is_some() {
        let why = "sendInitialEvents is forbidden for list";
        problems.push(FieldProblem::forbidden("sendInitialEvents", why));
    }
    problems
}

fn watch_problems(
    version_match: &str,
    send_initial_events: Option<bool>,
    continue_token: &str,
    version: &str,
    watch_list: WatchList,
) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    if send_initial_events.is_some() {
        if version_match != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            problems.push(FieldProblem::forbidden(MATCH, why));
        }
        if watch_list == WatchList::Off {
            let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            problems.push(FieldProblem::forbidden("sendInitialEvents", why));
        }
    }
    if !version_match.is_empty() {
        if send_initial_events.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            problems.push(FieldProblem::forbidden(MATCH, why));
        }
        if version_match != "NotOlderThan" {
            problems.push(FieldProblem::unsupported(MATCH, version_match, &["NotOlderThan"]));
        }
    }
    // If initial events are supported, a watch of the current state gets a match before it is checked.
    let is_given_match =
        watch_list == WatchList::On && send_initial_events.is_none() && matches!(version, "" | "0");
    if !continue_token.is_empty() && (is_given_match || !version_match.is_empty()) {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        problems.push(FieldProblem::forbidden(MATCH, why));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, uri: &str, verb: Verb, expected: Option<&str>) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let target = Target::read(&method, path, query);
        let found = target.resource.map(|r| {
            let part = |part: Option<String>| part.unwrap_or_else(|| "-".into());
            let rest = [part(r.namespace), part(r.name), part(r.subresource)].join(" ");
            format!("{}/{} {} {rest}", r.group, r.version, r.plural)
        });
        assert_eq!(
            (target.verb, found.as_deref()),
            (verb, expected),
            "{method} {uri}"
        );
    }

    #[test]
    fn paths_are_taken_apart() {
        check(Method::GET, "/api/v1/pods", Verb::List, Some("/v1 pods - - -"));
        check(
            Method::GET,
            "/api/v1/namespaces/web/pods?watch=1",
            Verb::Watch,
            Some("/v1 pods web - -"),
        );
        check(
            Method::GET,
            "/api/v1/namespaces/web",
            Verb::Get,
            Some("/v1 namespaces - web -"),
        );
        check(
            Method::PUT,
            "/api/v1/namespaces/web/status",
            Verb::Update,
            Some("/v1 namespaces - web status"),
        );
        check(
            Method::PATCH,
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            Verb::Patch,
            Some("apps/v1 deployments a d scale"),
        );
        check(
            Method::DELETE,
            "/apis/x.io/v1/widgets",
            Verb::DeleteCollection,
            Some("x.io/v1 widgets - - -"),
        );
        check(
            Method::GET,
            "/api/v1/watch/namespaces/a/pods/p",
            Verb::Watch,
            Some("/v1 pods a p -"),
        );
        check(
            Method::GET,
            "/api/v1/namespaces/a/pods/p?watch=true",
            Verb::Get,
            Some("/v1 pods a p -"),
        );
        check(Method::GET, "/apis/apps/v1", Verb::Other, None);
        check(Method::GET, "/healthz", Verb::Other, None);
    }
}
