//! The projections that most tests use, and objects to be projected.

use std::collections::BTreeMap;

use informers::{Informer, Projection};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodSpec, PodStatus, Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

/// The node and the addresses of a pod.
#[derive(Informer, Clone, Debug, Default, PartialEq)]
#[informer(of = Pod, accessor = "pods_on_nodes")]
#[informer(index(name = "node", by = "spec.node_name"))]
#[informer(index(name = "ip", by = "status.pod_ip"))]
pub(crate) struct PodOnNode {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Option<OnNode>,
    pub(crate) status: Option<Addresses>,
}

/// A part of a pod's spec.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = PodSpec)]
pub(crate) struct OnNode {
    pub(crate) node_name: Option<String>,
    // The full type has an `Option` here; both are supported.
    pub(crate) node_selector: BTreeMap<String, String>,
}

/// A part of a pod's status.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = PodStatus)]
pub(crate) struct Addresses {
    pub(crate) phase: Option<Box<str>>,
    pub(crate) pod_ip: Option<String>,
    pub(crate) host_ip: Option<String>,
    pub(crate) container_statuses: Vec<Restarts>,
}

/// A part of the status of a container: a nested projection in a list.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = ContainerStatus)]
pub(crate) struct Restarts {
    pub(crate) name: String,
    pub(crate) restart_count: i32,
}

/// The address of a service.
#[derive(Informer, Debug)]
#[informer(of = "k8s_openapi::api::core::v1::Service", accessor = "service_addresses")]
pub(crate) struct ServiceAddress {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Option<ClusterAddress>,
}

/// A part of a service's spec.
#[derive(Projection, Debug)]
#[projection(of = ServiceSpec)]
pub(crate) struct ClusterAddress {
    pub(crate) cluster_ip: Option<String>,
    pub(crate) cluster_ips: Option<Vec<String>>,
    pub(crate) external_ips: Box<[Box<str>]>,
}

/// A pod with more fields than the projections.
pub(crate) fn pod_json(namespace: &str, name: &str, node: &str, ip: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "nodeSelector": {"disk": "ssd"},
            "containers": [{"name": "main", "image": "busybox", "env": [{"name": "A", "value": "b"}]}],
        },
        "status": {
            "phase": "Running",
            "podIP": ip,
            "hostIP": "10.0.0.1",
            "podIPs": [{"ip": ip}],
            "containerStatuses": [{
                "name": "main", "restartCount": 3, "ready": true, "image": "busybox", "imageID": "sha256:1",
            }],
        },
    })
}

pub(crate) fn pod(namespace: &str, name: &str, node: &str, ip: &str) -> Pod {
    serde_json::from_value(pod_json(namespace, name, node, ip)).unwrap()
}

pub(crate) fn service(name: &str, ip: &str) -> Service {
    let object = json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"clusterIP": ip, "clusterIPs": [ip], "externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]},
    });
    serde_json::from_value(object).unwrap()
}
