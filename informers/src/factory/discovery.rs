//! Discovery: asks the server for its resources, and finds one by any of its names.

use std::time::Duration;

use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery, APIVersionDiscovery};
use kube::core::{ApiResource, GroupVersionResource};

use super::LookupError;
use super::builder::Reach;
use super::error::check_resource;

/// How long discovery may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// A resource of the server that can be watched.
pub(super) struct Found {
    pub(super) api_resource: ApiResource,
    pub(super) reach: Reach,
}

impl Found {
    pub(super) fn resource(&self) -> GroupVersionResource {
        let ApiResource {
            group,
            version,
            plural,
            ..
        } = &self.api_resource;
        GroupVersionResource::gvr(group, version, plural)
    }
}

/// Finds a resource by any name that `kubectl get` accepts.
pub(super) async fn look_up(client: &kube::Client, name: &str) -> Result<Found, LookupError> {
    let discovery = async {
        let core = client.list_core_api_versions_aggregated().await?;
        let rest = client.list_api_groups_aggregated().await?;
        Ok(core.items.into_iter().chain(rest.items).collect::<Vec<_>>())
    };
    match tokio::time::timeout(DEADLINE, discovery).await {
        Ok(groups) => choose(
            &groups.map_err(|error| LookupError::Discovery(Box::new(error)))?,
            name,
        ),
        Err(_) => Err(LookupError::Timeout { after: DEADLINE }),
    }
}

/// What a user may write: `deploy`, `deployments.apps`, `deployments.v1.apps`, `ingresses.networking`.
struct Wanted<'a> {
    name: &'a str,
    group: Group<'a>,
    version: Option<&'a str>,
}

/// The groups that match.
enum Group<'a> {
    Any,
    This(&'a str),
    /// As kubectl does if no group has this name.
    Prefix(&'a str),
}

impl<'a> Wanted<'a> {
    /// Returns every interpretation of a name, the most exact first: `a.v1.b` may mean group `v1.b`, version
    /// `v1` of group `b`, or a prefix of either.
    fn interpretations(text: &'a str) -> Vec<Self> {
        let Some((name, rest)) = text.split_once('.') else {
            return vec![Self {
                name: text,
                group: Group::Any,
                version: None,
            }];
        };
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        let wanted = |group, version| Self { name, group, version };
        vec![
            wanted(Group::This(rest), None),
            wanted(Group::This(group), Some(version)),
            wanted(Group::Prefix(rest), None),
            wanted(Group::Prefix(group), Some(version)),
        ]
    }

    fn matches(&self, group: &str, version: &str, resource: &APIResourceDiscovery) -> bool {
        let is_name = |text: &Option<String>| {
            text.as_deref()
                .is_some_and(|text| text.eq_ignore_ascii_case(self.name))
        };
        let is_group = match self.group {
            Group::Any => true,
            Group::This(wanted) => group == wanted,
            Group::Prefix(wanted) => !wanted.is_empty() && group.starts_with(wanted),
        };
        let kind = resource.response_kind.as_ref();
        is_group
            && self.version.is_none_or(|wanted| wanted == version)
            && (is_name(&resource.resource)
                || is_name(&resource.singular_resource)
                || resource
                    .short_names
                    .iter()
                    .any(|short| short.eq_ignore_ascii_case(self.name))
                || kind.is_some_and(|kind| is_name(&kind.kind)))
    }
}

/// Returns the first resource of that name in the server's order of groups and versions, which is its order
/// of preference. Resources that can be watched take precedence.
fn choose(groups: &[APIGroupDiscovery], name: &str) -> Result<Found, LookupError> {
    let versions: Vec<(&str, &APIVersionDiscovery)> = groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| (group_name(group), version)))
        .collect();
    let mut refused = None;
    for wanted in Wanted::interpretations(name) {
        for &(group, version) in &versions {
            let version_name = version.version.as_deref().unwrap_or_default();
            let mut resources = version.resources.iter();
            let Some(resource) = resources.find(|resource| wanted.matches(group, version_name, resource))
            else {
                continue;
            };
            match found(group, version_name, resource) {
                Err(error @ LookupError::NotWatchable { .. }) => refused = refused.or(Some(error)),
                outcome => return outcome,
            }
        }
    }
    let is_unavailable = |version: &APIVersionDiscovery| {
        version.freshness.as_deref() == Some("Stale") && version.resources.is_empty()
    };
    Err(refused.unwrap_or_else(|| LookupError::Unknown {
        name: name.to_owned(),
        unavailable: versions
            .iter()
            .filter(|(_, version)| is_unavailable(version))
            .map(|(group, version)| format!("{group}/{}", version.version.as_deref().unwrap_or_default()))
            .collect(),
    }))
}

fn group_name(group: &APIGroupDiscovery) -> &str {
    let metadata = group.metadata.as_ref();
    metadata
        .and_then(|metadata| metadata.name.as_deref())
        .unwrap_or_default()
}

fn found(group: &str, version: &str, resource: &APIResourceDiscovery) -> Result<Found, LookupError> {
    let plural = resource.resource.as_deref().unwrap_or_default();
    if !["list", "watch"]
        .iter()
        .all(|verb| resource.verbs.iter().any(|able| able == verb))
    {
        return Err(LookupError::NotWatchable {
            resource: match group {
                "" => plural.to_owned(),
                group => format!("{plural}.{group}"),
            },
            verbs: resource.verbs.clone(),
        });
    }
    check_resource(group, version, plural)?;
    let kind = resource.response_kind.as_ref();
    Ok(Found {
        api_resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: match group {
                "" => version.to_owned(),
                group => format!("{group}/{version}"),
            },
            kind: kind.and_then(|kind| kind.kind.clone()).unwrap_or_default(),
            plural: plural.to_owned(),
        },
        reach: match resource.scope.as_deref() {
            Some("Cluster") => Reach::Cluster,
            _ => Reach::Configured,
        },
    })
}
