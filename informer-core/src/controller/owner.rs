//! Owner references: from an object to the key of the object that controls it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::key::ObjectKey;
use crate::object::{Object, controller_of, is_cluster_scoped};

/// The group and kind of owners, to recognise references to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerKind {
    group: String,
    kind: String,
    reach: OwnerReach,
}

/// Where the owner of a namespaced object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnerReach {
    /// In the namespace of the object.
    SameNamespace,
    /// In no namespace.
    Cluster,
}

impl OwnerKind {
    /// The group and kind of `K`.
    pub fn of<K: Object>(dynamic_type: &K::DynamicType) -> Self {
        Self {
            group: K::group(dynamic_type).into_owned(),
            kind: K::kind(dynamic_type).into_owned(),
            reach: match is_cluster_scoped::<K>() {
                true => OwnerReach::Cluster,
                false => OwnerReach::SameNamespace,
            },
        }
    }

    /// Returns the key and the UID of the object's controller, if the controller is of this group and kind.
    /// The version is not compared: a reference keeps the version of the time it was written.
    pub fn controller_key(&self, meta: &ObjectMeta) -> Option<(ObjectKey, String)> {
        let reference = controller_of(meta)?;
        if !self.matches(reference) || reference.name.is_empty() {
            return None;
        }
        let key = match (self.reach, meta.namespace.as_deref()) {
            (OwnerReach::SameNamespace, Some(namespace)) => {
                ObjectKey::namespaced(namespace, reference.name.as_str())
            }
            // An object in no namespace can only have owners in no namespace.
            (OwnerReach::Cluster, _) | (OwnerReach::SameNamespace, None) => {
                ObjectKey::cluster(reference.name.as_str())
            }
        };
        Some((key, reference.uid.clone()))
    }

    fn matches(&self, reference: &OwnerReference) -> bool {
        let group = match reference.api_version.split_once('/') {
            Some((group, _version)) => group,
            None => "",
        };
        group == self.group && reference.kind == self.kind
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Node;

    use super::*;

    fn owned(api_version: &str, kind: &str, controller: Option<bool>) -> ObjectMeta {
        ObjectMeta {
            namespace: Some("web".to_owned()),
            owner_references: Some(vec![OwnerReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: "front".to_owned(),
                uid: "one".to_owned(),
                controller,
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        }
    }

    fn check(kind: &OwnerKind, meta: &ObjectMeta, expected: Option<&str>) {
        let key = kind.controller_key(meta).map(|(key, uid)| format!("{key} {uid}"));
        assert_eq!(key.as_deref(), expected, "{meta:?}");
    }

    #[test]
    fn a_reference_names_the_owner_only_with_its_group_kind_and_controller_mark() {
        let sets = OwnerKind::of::<ReplicaSet>(&());
        check(
            &sets,
            &owned("apps/v1", "ReplicaSet", Some(true)),
            Some("web/front one"),
        );
        check(
            &sets,
            &owned("apps/v1beta2", "ReplicaSet", Some(true)),
            Some("web/front one"),
        );
        check(&sets, &owned("v1", "ReplicaSet", Some(true)), None);
        check(&sets, &owned("apps.example/v1", "ReplicaSet", Some(true)), None);
        check(&sets, &owned("apps/v1", "Deployment", Some(true)), None);
        check(&sets, &owned("apps/v1", "ReplicaSet", Some(false)), None);
        check(&sets, &owned("apps/v1", "ReplicaSet", None), None);
        check(&sets, &ObjectMeta::default(), None);
    }

    #[test]
    fn the_owner_of_a_cluster_scoped_kind_has_no_namespace() {
        let nodes = OwnerKind::of::<Node>(&());
        check(&nodes, &owned("v1", "Node", Some(true)), Some("front one"));
    }
}
