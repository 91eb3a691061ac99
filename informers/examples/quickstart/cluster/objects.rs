//! The objects of the little cluster, as their controllers would write them.
//!
//! Deployments and replica sets are JSON: the type of their `spec` is not the same in every version of k8s-openapi.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

/// Holds a deleted pod until the little cluster lets it go, as a kubelet does during the grace period.
const GRACE: &str = "quickstart.example/grace";

pub(super) fn node(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } })
}

pub(super) fn deployment(namespace: &str, name: &str, replicas: usize) -> Value {
    let labels = json!({ "app": name });
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "namespace": namespace, "name": name, "labels": labels },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "app" }] },
            },
        },
    });
    set_revision(&mut deployment, 1);
    deployment
}

/// Changes the image of a deployment, which is what starts a rollout.
pub(super) fn set_revision(deployment: &mut Value, revision: u32) {
    let image = format!("registry.example/{}:v{revision}", name(deployment));
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
}

pub(super) fn set_replicas(deployment: &mut Value, replicas: usize) {
    deployment["spec"]["replicas"] = replicas.into();
}

pub(super) fn set_deployment_status(deployment: &mut Value, pods: usize, ready: usize, updated: usize) {
    deployment["status"] = json!({
        "replicas": pods,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "updatedReplicas": updated,
    });
}

/// The replica set of a deployment's present template.
pub(super) fn replica_set(deployment: &Value, hash: &str) -> Value {
    let mut labels = deployment["metadata"]["labels"].clone();
    labels["pod-template-hash"] = hash.into();
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"] = labels.clone();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "namespace": deployment["metadata"]["namespace"],
            "name": format!("{}-{hash}", name(deployment)),
            "labels": labels,
            "ownerReferences": [owner(deployment)],
        },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": template },
    })
}

pub(super) fn set_replica_set_status(set: &mut Value, pods: usize, ready: usize) {
    set["spec"]["replicas"] = pods.into();
    set["status"] = json!({ "replicas": pods, "readyReplicas": ready, "availableReplicas": ready });
}

/// A new pod of a replica set: pending, on no node.
pub(super) fn pod(set: &Value, suffix: &str) -> Pod {
    let labels = set["metadata"]["labels"].as_object().into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
    Pod {
        metadata: ObjectMeta {
            namespace: set["metadata"]["namespace"].as_str().map(str::to_owned),
            name: Some(format!("{}-{suffix}", name(set))),
            labels: Some(labels.collect()),
            owner_references: Some(vec![owner(set)]),
            finalizers: Some(vec![GRACE.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "app".to_owned(),
                image: image.as_str().map(str::to_owned),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: Some("Pending".to_owned()),
            ..PodStatus::default()
        }),
    }
}

/// Puts a pod on a node.
pub(super) fn schedule(pod: &mut Pod, node: &str) {
    if let Some(spec) = &mut pod.spec {
        spec.node_name = Some(node.to_owned());
    }
}

/// Starts the containers of a pod.
pub(super) fn run(pod: &mut Pod) {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers = containers.map(|container| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        ready: true,
        started: Some(true),
        ..ContainerStatus::default()
    });
    pod.status = Some(PodStatus {
        phase: Some("Running".to_owned()),
        container_statuses: Some(containers.collect()),
        ..PodStatus::default()
    });
}

/// Restarts the containers of a pod.
pub(super) fn restart(pod: &mut Pod) {
    let status = pod.status.iter_mut();
    for container in status.flat_map(|status| &mut status.container_statuses).flatten() {
        container.restart_count += 1;
    }
}

/// Ends the grace period of a deleted pod.
pub(super) fn release(pod: &mut Pod) {
    pod.metadata.finalizers = None;
}

fn owner(object: &Value) -> OwnerReference {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    OwnerReference {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
        name: text(&object["metadata"]["name"]),
        uid: text(&object["metadata"]["uid"]),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
