//! The objects of a run: parents, children and settings, and what the children should be.

use std::collections::{BTreeMap, BTreeSet};

use informer_core::ObjectKey;
use informer_core::controller::controller_of;
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::plan::{CHILDREN, PARENTS};

pub(super) const NAMESPACE: &str = "default";

/// What an object is, in its label `role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Parent,
    Child,
    Setting,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::Child => "child",
            Self::Setting => "setting",
        }
    }

    pub(super) fn selector(self) -> String {
        format!("role={}", self.name())
    }
}

pub(super) fn parent_name(parent: usize) -> String {
    format!("p{parent}")
}

pub(super) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced(NAMESPACE, name)
}

fn object(role: Role, name: String, data: [(&str, String); 2]) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some(BTreeMap::from([("role".to_owned(), role.name().to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(data.map(|(field, value)| (field.to_owned(), value)).into()),
        ..ConfigMap::default()
    }
}

pub(super) fn parent(number: usize, children: u32, value: u32) -> ConfigMap {
    let data = [("children", children.to_string()), ("value", value.to_string())];
    object(Role::Parent, parent_name(number), data)
}

pub(super) fn setting(number: usize, parents: u32, value: u32) -> ConfigMap {
    let data = [("parents", parents.to_string()), ("value", value.to_string())];
    object(Role::Setting, format!("s{number}"), data)
}

pub(super) fn child_name(parent: &str, child: usize) -> String {
    format!("{parent}-{child}")
}

/// A child of a parent as the server returned it.
pub(super) fn child(parent: &ConfigMap, name: String, value: u64) -> ConfigMap {
    let parent_name = parent.metadata.name.clone().unwrap_or_default();
    let data = [("parent", parent_name.clone()), ("value", value.to_string())];
    let mut child = object(Role::Child, name, data);
    child.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: parent_name,
        uid: uid(parent).to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    }]);
    child
}

pub(super) fn name(object: &ConfigMap) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

pub(super) fn uid(object: &ConfigMap) -> &str {
    object.metadata.uid.as_deref().unwrap_or_default()
}

pub(super) fn version(object: &ConfigMap) -> u64 {
    let version = object.metadata.resource_version.as_deref().unwrap_or_default();
    version.parse().unwrap_or_default()
}

pub(super) fn text<'a>(object: &'a ConfigMap, field: &str) -> &'a str {
    let data = object.data.as_ref();
    data.and_then(|data| data.get(field)).map_or("", String::as_str)
}

pub(super) fn number(object: &ConfigMap, field: &str) -> u64 {
    text(object, field).parse().unwrap_or_default()
}

/// The UID of the parent that owns a child.
pub(super) fn owner(child: &ConfigMap) -> &str {
    controller_of(&child.metadata).map_or("", |owner| owner.uid.as_str())
}

/// The parents to which a setting applies.
pub(super) fn parents_of(setting: &ConfigMap) -> Vec<String> {
    let bits = number(setting, "parents");
    let numbers = (0..PARENTS).filter(|parent| bits & (1 << parent) != 0);
    numbers.map(parent_name).collect()
}

/// The children that a parent should have, by name, with their values.
pub(super) fn desired<'a>(
    parent: &ConfigMap,
    settings: impl Iterator<Item = &'a ConfigMap>,
) -> BTreeMap<String, u64> {
    let parent_name = name(parent);
    let applied = settings.filter(|setting| parents_of(setting).iter().any(|name| name == parent_name));
    let sum: u64 = applied.map(|setting| number(setting, "value")).sum();
    let (bits, value) = (number(parent, "children"), number(parent, "value"));
    let children = (0..CHILDREN).filter(|child| bits & (1 << child) != 0);
    children
        .map(|child| (child_name(parent_name, child), value + 1_000 * sum))
        .collect()
}

/// All objects on the server.
pub(super) struct Everything(Vec<ConfigMap>);

impl Everything {
    pub(super) fn on(server: &ApiServer) -> Self {
        Self(server.objects())
    }

    pub(super) fn with(&self, role: Role) -> impl Iterator<Item = &ConfigMap> {
        let has_role = move |object: &&ConfigMap| {
            let labels = object.metadata.labels.as_ref();
            labels
                .and_then(|labels| labels.get("role"))
                .is_some_and(|label| label == role.name())
        };
        self.0.iter().filter(has_role)
    }

    pub(super) fn find(&self, wanted: &str) -> Option<ConfigMap> {
        self.0.iter().find(|object| name(object) == wanted).cloned()
    }

    /// The children whose parent was deleted, which Kubernetes' garbage collector would delete.
    pub(super) fn orphans(&self) -> impl Iterator<Item = &ConfigMap> {
        let parents: BTreeSet<&str> = self.with(Role::Parent).map(uid).collect();
        self.with(Role::Child)
            .filter(move |child| !parents.contains(owner(child)))
    }

    /// A difference between the children and what they should be.
    pub(super) fn difference(&self) -> Option<String> {
        for parent in self.with(Role::Parent) {
            let wanted = desired(parent, self.with(Role::Setting));
            let owned = self.with(Role::Child).filter(|child| owner(child) == uid(parent));
            let actual: BTreeMap<String, u64> = owned
                .map(|child| (name(child).to_owned(), number(child, "value")))
                .collect();
            if actual != wanted {
                return Some(format!("{}: wanted {wanted:?}, is {actual:?}", name(parent)));
            }
        }
        self.orphans()
            .next()
            .map(|child| format!("{}: its parent was deleted", name(child)))
    }
}
