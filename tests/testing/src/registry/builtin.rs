//! The built-in kinds, from the checked-in inventory, with properties that the inventory does not have: short
//! names, categories, subresources and selectable fields.

use informer_gen::inventory::{self, Watchable};

use super::{ALL_VERBS, Generation, Origin, Resource, ScalePaths, Scope, Subresource};

/// Returns every kind of the inventory, of all releases: a test may use a kind that a later release removed.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    inventory::builtin().iter().map(|row| {
        let group = row.group.as_str();
        let plural = row.plural.as_str();
        let id = if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        };
        let has_status = WITH_STATUS.contains(&id.as_str());
        Resource {
            group: row.group.clone(),
            version: row.version.clone(),
            kind: row.kind.clone(),
            list_kind: format!("{}List", row.kind),
            plural: row.plural.clone(),
            singular: row.kind.to_lowercase(),
            short_names: short_names(&id).iter().map(|name| (*name).to_owned()).collect(),
            categories: categories(&id).map(str::to_owned).into_iter().collect(),
            scope: match row.scope {
                inventory::Scope::Namespaced => Scope::Namespaced,
                inventory::Scope::Cluster => Scope::Cluster,
            },
            origin: Origin::BuiltIn,
            verbs: verbs(&id, row.watchable),
            status: if has_status {
                Subresource::Present
            } else {
                Subresource::Absent
            },
            scale: scale(&id),
            generation: if WITHOUT_GENERATION.contains(&id.as_str()) {
                Generation::Never
            } else {
                Generation::Spec
            },
            selectable: selectable(&id).iter().map(|path| (*path).to_owned()).collect(),
            open_api: None,
            id: id.into(),
        }
    })
}

fn verbs(id: &str, watchable: Watchable) -> &'static [&'static str] {
    match (id, watchable) {
        (_, Watchable::ListOnly) => &["get", "list"],
        // A namespace is emptied before it is deleted, so upstream does not delete them in bulk.
        ("namespaces", _) => &["create", "delete", "get", "list", "patch", "update", "watch"],
        _ => ALL_VERBS,
    }
}

const WITH_STATUS: &[&str] = &[
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "services",
    "apiservices.apiregistration.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
    "cronjobs.batch",
    "csinodes.storage.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "daemonsets.apps",
    "deployments.apps",
    "devicetaintrules.resource.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "horizontalpodautoscalers.autoscaling",
    "ingresses.networking.k8s.io",
    "jobs.batch",
    "podcertificaterequests.certificates.k8s.io",
    "poddisruptionbudgets.policy",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "replicasets.apps",
    "resourceclaims.resource.k8s.io",
    "servicecidrs.networking.k8s.io",
    "statefulsets.apps",
    "storageversionmigrations.storagemigration.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// Kinds with a `spec` whose changes do not increment the generation upstream.
const WITHOUT_GENERATION: &[&str] = &[
    "limitranges",
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "resourcequotas",
    "services",
    "leases.coordination.k8s.io",
    "apiservices.apiregistration.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "horizontalpodautoscalers.autoscaling",
    "volumeattachments.storage.k8s.io",
];

fn short_names(id: &str) -> &'static [&'static str] {
    match id {
        "componentstatuses" => &["cs"],
        "configmaps" => &["cm"],
        "endpoints" => &["ep"],
        "events" | "events.events.k8s.io" => &["ev"],
        "limitranges" => &["limits"],
        "namespaces" => &["ns"],
        "nodes" => &["no"],
        "persistentvolumeclaims" => &["pvc"],
        "persistentvolumes" => &["pv"],
        "pods" => &["po"],
        "replicationcontrollers" => &["rc"],
        "resourcequotas" => &["quota"],
        "serviceaccounts" => &["sa"],
        "services" => &["svc"],
        "certificatesigningrequests.certificates.k8s.io" => &["csr"],
        "cronjobs.batch" => &["cj"],
        "customresourcedefinitions.apiextensions.k8s.io" => &["crd", "crds"],
        "daemonsets.apps" => &["ds"],
        "deployments.apps" => &["deploy"],
        "horizontalpodautoscalers.autoscaling" => &["hpa"],
        "ingresses.networking.k8s.io" => &["ing"],
        "ipaddresses.networking.k8s.io" => &["ip"],
        "networkpolicies.networking.k8s.io" => &["netpol"],
        "poddisruptionbudgets.policy" => &["pdb"],
        "priorityclasses.scheduling.k8s.io" => &["pc"],
        "replicasets.apps" => &["rs"],
        "statefulsets.apps" => &["sts"],
        "storageclasses.storage.k8s.io" => &["sc"],
        "volumeattributesclasses.storage.k8s.io" => &["vac"],
        _ => &[],
    }
}

fn categories(id: &str) -> Option<&'static str> {
    match id {
        "pods"
        | "replicationcontrollers"
        | "services"
        | "cronjobs.batch"
        | "daemonsets.apps"
        | "deployments.apps"
        | "horizontalpodautoscalers.autoscaling"
        | "jobs.batch"
        | "replicasets.apps"
        | "statefulsets.apps" => Some("all"),
        "apiservices.apiregistration.k8s.io" | "customresourcedefinitions.apiextensions.k8s.io" => {
            Some("api-extensions")
        }
        other if other.ends_with(".admissionregistration.k8s.io") => Some("api-extensions"),
        _ => None,
    }
}

fn scale(id: &str) -> Option<ScalePaths> {
    match id {
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "replicationcontrollers" => {
            Some(ScalePaths {
                spec_replicas: "spec.replicas".into(),
                status_replicas: "status.replicas".into(),
                selector: None,
            })
        }
        _ => None,
    }
}

fn selectable(id: &str) -> &'static [&'static str] {
    match id {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "namespaces" => &["status.phase"],
        "nodes" => &["spec.unschedulable"],
        "secrets" => &["type"],
        "services" => &["spec.clusterIP", "spec.type"],
        "replicationcontrollers" | "replicasets.apps" => &["status.replicas"],
        "jobs.batch" => &["status.successful"],
        "certificatesigningrequests.certificates.k8s.io" => &["spec.signerName"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_these_tables_is_in_the_inventory() {
        let ids: Vec<String> = resources().map(|resource| resource.id.to_string()).collect();
        for id in WITH_STATUS.iter().chain(WITHOUT_GENERATION) {
            assert!(ids.iter().any(|known| known == id), "{id} is not a built-in kind");
        }
    }

    #[test]
    fn pods_have_a_status_and_component_statuses_cannot_be_watched() {
        let find = |id: &str| resources().find(|resource| &*resource.id == id).unwrap();
        assert_eq!(find("pods").status, Subresource::Present);
        assert!(!find("componentstatuses").allows("watch"));
    }
}
