//! The kinds that the server serves: the built-in ones and those of posted CustomResourceDefinitions.

mod builtin;
mod crd;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;

pub(crate) use crd::{Definition, established};

/// The API group of CustomResourceDefinitions.
pub(crate) const CRD_GROUP: &str = "apiextensions.k8s.io";

/// Identifies a table of the store: one per resource, for all versions.
pub(crate) type ResourceId = Arc<str>;

/// Whether a kind is namespaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

/// Where a kind comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    /// Served because of a CustomResourceDefinition.
    Custom,
}

/// The paths of the numbers in `/scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

/// When `metadata.generation` is incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    Never,
    /// On a change of `spec`.
    Spec,
    /// On a change outside `metadata` and `status`, as for custom resources.
    Everything,
}

/// One kind in one version of its group.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) id: ResourceId,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) scope: Scope,
    pub(crate) origin: Origin,
    pub(crate) verbs: &'static [&'static str],
    pub(crate) status: Subresource,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) generation: Generation,
    /// Field paths, besides name and namespace, that field selectors support.
    pub(crate) selectable: Vec<String>,
    /// The structural schema of a custom kind.
    pub(crate) open_api: Option<Arc<Value>>,
}

/// Whether a kind has a subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource {
    Present,
    Absent,
}

/// All verbs of an ordinary resource, in the order of discovery.
pub(crate) const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

impl Resource {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns how the fields of the kind merge. A kind that Kubernetes 1.37 no longer has merges field by
    /// field.
    pub(crate) fn schema(&self) -> Schema {
        match self.origin {
            Origin::BuiltIn => {
                Schema::builtin(&self.api_version(), &self.kind).unwrap_or_else(|| Schema::custom(None))
            }
            Origin::Custom => Schema::custom(self.open_api.as_deref()),
        }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Checks the paths of a field selector, with upstream's two error messages.
    pub(crate) fn check_field(&self, path: &str) -> Result<(), String> {
        let common =
            path == "metadata.name" || (path == "metadata.namespace" && self.scope == Scope::Namespaced);
        let common = common || (path == "metadata.namespace" && self.selectable.is_empty());
        if common || self.selectable.iter().any(|known| known == path) {
            return Ok(());
        }
        if self.selectable.is_empty() && self.origin == Origin::BuiltIn {
            let known = "only \"metadata.name\", \"metadata.namespace\"";
            return Err(format!("{path:?} is not a known field selector: {known}"));
        }
        Err(format!("field label not supported: {path}"))
    }
}

/// The table of served kinds.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    /// By group, version and plural.
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
}

impl Registry {
    /// The built-in kinds.
    pub(crate) fn built_in() -> Self {
        let mut registry = Self {
            resources: BTreeMap::new(),
        };
        for resource in builtin::resources() {
            registry.insert(resource);
        }
        registry
    }

    fn insert(&mut self, resource: Resource) {
        let key = (
            resource.group.clone(),
            resource.version.clone(),
            resource.plural.clone(),
        );
        self.resources.insert(key, Arc::new(resource));
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        // Three short strings per request cost less than maintaining a second index.
        self.resources
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
            .cloned()
    }

    /// Returns the kind of a manifest.
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.resources
            .values()
            .find(|r| r.group == group && r.version == version && r.kind == kind)
            .cloned()
    }

    /// Returns any version of a resource of the store.
    pub(crate) fn by_id(&self, id: &str) -> Option<Arc<Resource>> {
        self.resources.values().find(|r| &*r.id == id).cloned()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// Serves the versions of a definition, replacing those it had before.
    pub(crate) fn define(&mut self, definition: &Definition) {
        self.remove(&definition.id);
        for resource in &definition.versions {
            self.insert(resource.clone());
        }
    }

    /// Stops serving every version of a custom resource.
    pub(crate) fn remove(&mut self, id: &str) {
        self.resources.retain(|_, resource| &*resource.id != id);
    }
}
