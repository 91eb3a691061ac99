//! The kinds of a server that can be listed and watched.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::core::GroupVersionResource;
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};

use crate::chain;

/// How long discovery may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// A kind that can be listed and watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Group, version and plural.
    pub(crate) resource: GroupVersionResource,
    /// Where its objects are.
    pub(crate) scope: Scope,
    /// What else `kubectl get` calls it: `deployment`, `deploy`.
    pub(crate) aliases: Vec<String>,
}

/// Where the objects of a kind are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In namespaces.
    Namespaced,
    /// In none.
    Cluster,
}

/// The kinds to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// In the order of the server.
    pub(crate) kinds: Vec<Kind>,
    /// How many more exist.
    pub(crate) left_out: usize,
}

impl Kind {
    /// The name: `pods`, `deployments.apps`.
    pub(crate) fn name(&self) -> String {
        match self.resource.group.as_str() {
            "" => self.resource.resource.clone(),
            group => format!("{}.{group}", self.resource.resource),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let is_alias = || self.aliases.iter().any(|alias| alias == name);
        name == self.resource.resource || name == self.name() || is_alias()
    }
}

/// Requests the kinds of a server.
///
/// # Errors
/// If the server does not answer within 30 s, or not with a list of kinds.
pub(crate) async fn discover(
    client: &kube::Client,
) -> Result<Vec<Kind>, Box<dyn std::error::Error + Send + Sync>> {
    let groups = async {
        let core = client.list_core_api_versions_aggregated().await?;
        let rest = client.list_api_groups_aggregated().await?;
        Ok::<_, kube::Error>(core.items.into_iter().chain(rest.items).collect::<Vec<_>>())
    };
    match tokio::time::timeout(DEADLINE, groups).await {
        Ok(Ok(groups)) => Ok(watchable(&groups)),
        Ok(Err(error)) => Err(format!("cannot list the kinds of the server: {}", chain(&error)).into()),
        Err(_) => Err("cannot list the kinds of the server: no answer within 30 seconds".into()),
    }
}

/// The kinds that can be listed and watched, each in the version that the server prefers.
fn watchable(groups: &[APIGroupDiscovery]) -> Vec<Kind> {
    let mut known = BTreeSet::new();
    let mut kinds = Vec::new();
    for group in groups {
        let metadata = group.metadata.as_ref();
        let name = metadata
            .and_then(|metadata| metadata.name.as_deref())
            .unwrap_or_default();
        // The same objects as those of the core group.
        if name == "events.k8s.io" {
            continue;
        }
        for version in &group.versions {
            let of = version.version.as_deref().unwrap_or_default();
            for resource in version.resources.iter().filter(|resource| is_watchable(resource)) {
                let plural = resource.resource.as_deref().unwrap_or_default();
                if plural.is_empty() || !known.insert((name.to_owned(), plural.to_owned())) {
                    continue;
                }
                kinds.push(Kind {
                    resource: GroupVersionResource::gvr(name, of, plural),
                    scope: match resource.scope.as_deref() {
                        Some("Cluster") => Scope::Cluster,
                        _ => Scope::Namespaced,
                    },
                    aliases: aliases(resource),
                });
            }
        }
    }
    kinds
}

fn aliases(resource: &APIResourceDiscovery) -> Vec<String> {
    let singular = resource.singular_resource.iter();
    singular.chain(&resource.short_names).cloned().collect()
}

fn is_watchable(resource: &APIResourceDiscovery) -> bool {
    let can = |verb: &str| resource.verbs.iter().any(|able| able == verb);
    can("list") && can("watch")
}

/// Returns the first name that no kind has.
pub(crate) fn unknown<'n>(found: &[Kind], names: &'n [String]) -> Option<&'n str> {
    let is_unknown = |name: &&String| !found.iter().any(|kind| kind.is_called(name));
    names.iter().find(is_unknown).map(String::as_str)
}

/// Chooses kinds by name, if names are given, and at most `most` of them. With namespaces, only namespaced
/// kinds.
pub(crate) fn choose(found: Vec<Kind>, names: &[String], namespaces: &[String], most: usize) -> Chosen {
    let is_wanted = |kind: &Kind| names.is_empty() || names.iter().any(|name| kind.is_called(name));
    let is_reachable = |kind: &Kind| namespaces.is_empty() || kind.scope == Scope::Namespaced;
    let mut kinds: Vec<Kind> = found
        .into_iter()
        .filter(|kind| is_wanted(kind) && is_reachable(kind))
        .collect();
    let left_out = kinds.len().saturating_sub(most);
    kinds.truncate(most);
    Chosen { kinds, left_out }
}

#[cfg(test)]
mod tests {
    use informer_testing::ApiServer;

    use super::*;

    #[tokio::test]
    async fn each_watchable_kind_of_a_server_is_found_once() {
        let server = ApiServer::start();
        let kinds = discover(&server.client()).await.unwrap();
        let names: Vec<String> = kinds.iter().map(Kind::name).collect();
        for name in ["pods", "nodes", "deployments.apps", "events"] {
            assert_eq!(
                names.iter().filter(|own| *own == name).count(),
                1,
                "{name} in {names:?}"
            );
        }
        assert!(
            !names
                .iter()
                .any(|name| name.contains('/') || name == "events.events.k8s.io")
        );
        assert!(
            !names.contains(&"componentstatuses".to_owned()),
            "it cannot be watched"
        );
        let all = kinds.len();

        let of = |names: &[&str], namespaces: &[&str], most| {
            let strings = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            let chosen = choose(kinds.clone(), &strings(names), &strings(namespaces), most);
            let names: Vec<String> = chosen.kinds.iter().map(Kind::name).collect();
            (names, chosen.left_out)
        };
        assert_eq!(
            of(&["deployments", "po"], &[], 100).0,
            ["pods", "deployments.apps"]
        );
        assert_eq!(of(&["deploy"], &[], 100), of(&["deployments.apps"], &[], 100));
        let names = ["pod", "unicorns"].map(str::to_owned);
        assert_eq!(unknown(&kinds, &names), Some("unicorns"));
        assert_eq!(
            of(&["nodes"], &["web"], 100).0,
            Vec::<String>::new(),
            "nodes are in no namespace"
        );
        assert_eq!((of(&[], &[], 7).0.len(), of(&[], &[], 7).1), (7, all - 7));
    }
}
