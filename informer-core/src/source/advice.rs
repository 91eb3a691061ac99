//! What to do about a refused request: the rule to grant, or what is not installed.

use std::time::Duration;

use http::header::{ACCEPT, HeaderMap};
use kube::client::Body;
use serde::Deserialize;
use tokio::time::Instant;

use super::answer;
use super::{ServerStatus, SourceError};
use crate::scope::Scope;
use crate::sync::Mutex;

/// How long the discovery after a 404 may take.
const DISCOVERY_DEADLINE: Duration = Duration::from_secs(5);

/// The largest response of discovery that is read.
const DISCOVERY_BYTES: usize = 1024 * 1024;

/// How long the result of a discovery is used: an informer without its resource is refused every few seconds.
const VALIDITY: Duration = Duration::from_secs(60);

/// How many versions of a group are named.
const NAMED: usize = 10;

/// The resource of a source, and what was found out about it.
pub(super) struct Adviser {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) scope: Scope,
    discovered: Mutex<Option<(Instant, String)>>,
}

/// `APIGroup`, as far as it is needed.
#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<GroupVersion>,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

/// `APIResourceList`, as far as it is needed.
#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    #[serde(default)]
    namespaced: bool,
}

impl Adviser {
    pub(super) fn new(group: String, version: String, plural: String, scope: Scope) -> Self {
        Self {
            group,
            version,
            plural,
            scope,
            discovered: Mutex::default(),
        }
    }

    /// Adds what to do to the error of a request with this verb.
    pub(super) async fn explain(
        &self,
        client: &kube::Client,
        verb: &str,
        mut error: SourceError,
    ) -> SourceError {
        let hint = match &error {
            error if error.is_forbidden() => self.forbidden(verb),
            error if error.is_not_found() => self.missing(client).await,
            error if error.is_unauthorized() => String::new(),
            _ => return error,
        };
        if let SourceError::Status { status } = &mut error
            && status.hint.is_empty()
        {
            status.hint = hint;
        }
        error
    }

    fn resource(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The rule that allows what was refused. It has both verbs, because an informer needs both.
    fn forbidden(&self, verb: &str) -> String {
        let Self { group, plural, .. } = self;
        let resource = self.resource();
        let rule =
            format!(r#"{{apiGroups: ["{group}"], resources: ["{plural}"], verbs: ["list", "watch"]}}"#);
        match &self.scope {
            Scope::All => format!(
                "this account may not {verb} {resource} in the whole cluster; add the rule {rule} to a \
                 ClusterRole that is bound to it"
            ),
            Scope::Namespace(namespace) => format!(
                "this account may not {verb} {resource} in namespace {namespace}; add the rule {rule} to \
                 a Role \
                 in {namespace} that is bound to it"
            ),
        }
    }

    /// Asks the server what is missing. The answer is kept for a minute; empty if nothing was found out.
    async fn missing(&self, client: &kube::Client) -> String {
        let now = Instant::now();
        if let Some((at, hint)) = &*self.discovered.lock()
            && now.saturating_duration_since(*at) < VALIDITY
        {
            return hint.clone();
        }
        let discovery = tokio::time::timeout(DISCOVERY_DEADLINE, self.discover(client));
        let hint = discovery.await.ok().flatten().unwrap_or_default();
        *self.discovered.lock() = Some((now, hint.clone()));
        hint
    }

    async fn discover(&self, client: &kube::Client) -> Option<String> {
        let Self {
            group,
            version,
            plural,
            ..
        } = self;
        let root = match group.as_str() {
            "" => format!("/api/{version}"),
            group => {
                let found: Group = match get(client, &format!("/apis/{group}")).await? {
                    Found::Nothing => {
                        return Some(format!(
                            "the server has no API group {group}; install its CustomResourceDefinitions, or \
                             correct the group"
                        ));
                    }
                    Found::Document(found) => found,
                };
                let served = found.versions.into_iter().map(|served| served.version);
                let served: Vec<String> = served.take(NAMED).collect();
                if !served.contains(version) {
                    return Some(format!(
                        "the API group {group} has no version {version}; it serves {}: use one of these, or \
                         install a CustomResourceDefinition that serves {version}",
                        served.join(", ")
                    ));
                }
                format!("/apis/{group}/{version}")
            }
        };
        let resources: Resources = match get(client, &root).await? {
            Found::Nothing => return Some(format!("the server does not serve {}", &root[1..])),
            Found::Document(resources) => resources,
        };
        let found = resources
            .resources
            .iter()
            .find(|resource| resource.name == *plural);
        Some(match (found, &self.scope) {
            (None, _) if group.is_empty() => format!("the server has no resource {plural} in {version}"),
            (None, _) => format!(
                "the API group {group} has no resource {plural} in {version}; install the \
                 CustomResourceDefinition {plural}.{group}"
            ),
            (Some(found), Scope::Namespace(_)) if !found.namespaced => {
                format!("{} are cluster-scoped; leave the namespace out", self.resource())
            }
            (Some(_), _) => format!(
                "{} exist by now; the next attempt should succeed",
                self.resource()
            ),
        })
    }
}

/// The answer of discovery.
enum Found<T> {
    Document(T),
    /// 404.
    Nothing,
}

/// Reads a document of discovery; `None` if it cannot be read.
async fn get<T: for<'de> Deserialize<'de>>(client: &kube::Client, path: &str) -> Option<Found<T>> {
    let request = http::Request::get(path).header(ACCEPT, "application/json");
    let request = request.body(Body::empty()).ok()?;
    let no_details = |_: &HeaderMap, _: &[u8]| -> Option<ServerStatus> { None };
    match answer::send(client, request, DISCOVERY_DEADLINE, &no_details).await {
        Ok(mut found) => {
            let body = found.body.read_up_to(DISCOVERY_BYTES).await;
            serde_json::from_slice(&body).ok().map(Found::Document)
        }
        Err(error) if error.is_not_found() => Some(Found::Nothing),
        Err(_) => None,
    }
}
