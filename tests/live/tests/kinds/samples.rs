//! The smallest object of each kind that a server accepts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use informer_gen::inventory::Resource;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json};

/// A sample of a kind in a namespace: its name, and all but `metadata`. Names differ between versions, which
/// share their objects.
pub(crate) fn sample(row: &Resource, namespace: &str) -> (String, Value) {
    (name(row, namespace), body(row, namespace))
}

/// Most kinds accept any name; the names of the others have a meaning.
fn name(row: &Resource, namespace: &str) -> String {
    let version = &row.version;
    match row.kind.as_str() {
        "APIService" => "v1.live.example.org".to_owned(),
        "ClusterTrustBundle" => format!("example.com:none:{version}"),
        "CustomResourceDefinition" => "samples.live.example.com".to_owned(),
        "IPAddress" => "10.0.0.77".to_owned(),
        "StorageVersion" => "live.example.com.samples".to_owned(),
        _ => format!("{namespace}-{version}"),
    }
}

/// What a pod, or a template of one, is made of.
fn pod() -> Value {
    json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]})
}

/// A template of a pod that never ends, with a label to select it by.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "none"}}, "spec": {"containers": [{"name": "main",
        "image": "none"}]}})
}

fn selector() -> Value {
    json!({"matchLabels": {"app": "none"}})
}

/// A rule that matches nothing that is ever written here.
fn match_nothing() -> Value {
    let rule = json!({"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["none"]});
    json!({"resourceRules": [rule]})
}

fn body(row: &Resource, namespace: &str) -> Value {
    match row.group.as_str() {
        "" | "apps" | "batch" | "autoscaling" | "policy" => workload(row, namespace),
        "resource.k8s.io" | "scheduling.k8s.io" | "lifecycle.k8s.io" => scheduling(row),
        "certificates.k8s.io" => certificate(row),
        _ => other(row, namespace),
    }
}

fn workload(row: &Resource, namespace: &str) -> Value {
    match row.kind.as_str() {
        "CronJob" => {
            json!({"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": pod()}}}}})
        }
        "DaemonSet" | "Deployment" | "ReplicaSet" => {
            json!({"spec": {"selector": selector(), "template": template()}})
        }
        "StatefulSet" => {
            json!({"spec": {"serviceName": "none", "selector": selector(), "template": template()}})
        }
        "ControllerRevision" => json!({"revision": 1, "data": {}}),
        "Event" => json!({"involvedObject": {"namespace": namespace}, "reason": "None"}),
        "HorizontalPodAutoscaler" => {
            json!({"spec": {"maxReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1",
                "kind": "Deployment", "name": "none"}}})
        }
        "Job" => json!({"spec": {"template": {"spec": pod()}}}),
        "LimitRange" => json!({"spec": {"limits": []}}),
        "PersistentVolume" => json!({"spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"},
        }}),
        "PersistentVolumeClaim" => json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }}),
        "Pod" => json!({"spec": pod()}),
        "PodDisruptionBudget" => json!({"spec": {"minAvailable": 1, "selector": selector()}}),
        "PodTemplate" => json!({"template": template()}),
        "ReplicationController" => json!({"spec": {"selector": {"app": "none"}, "template": template()}}),
        "Service" => json!({"spec": {"ports": [{"port": 80}]}}),
        _ => json!({}),
    }
}

fn scheduling(row: &Resource) -> Value {
    let policy = json!({"basic": {}});
    match row.kind.as_str() {
        "CompositePodGroup" => json!({"spec": {
            "schedulingPolicy": policy, "workloadRef": {"workloadName": "none", "templateName": "none"},
        }}),
        "DeviceTaintRule" => json!({"spec": {
            "deviceSelector": {"driver": "none.example.com"}, "taint": {"key": "none",
            "effect": "NoSchedule"},
        }}),
        "Eviction" => json!({"spec": {"target": {"pod": {"name": "none", "uid": UID}}}}),
        "EvictionRequest" => json!({"spec": {
            "intent": "Eviction", "requester": "example.com/none", "target": {"pod": {"name": "none",
            "uid": UID}},
        }}),
        "PodGroup" => json!({"spec": {"schedulingPolicy": policy}}),
        "PriorityClass" => json!({"value": 1}),
        "ResourceClaim" => json!({"spec": {"devices": {}}}),
        "ResourceClaimTemplate" => json!({"spec": {"spec": {"devices": {}}}}),
        "ResourcePoolStatusRequest" => json!({"spec": {"driver": "none.example.com"}}),
        "ResourceSlice" => json!({"spec": {
            "driver": "none.example.com", "allNodes": true,
            "pool": {"name": "none", "generation": 1, "resourceSliceCount": 1},
        }}),
        "Workload" => json!({"spec": {"podGroupTemplates": [{"name": "none", "schedulingPolicy": policy}]}}),
        _ => json!({"spec": {}}),
    }
}

/// The UID of an object that does not exist.
const UID: &str = "11111111-2222-3333-4444-555555555555";

fn certificate(row: &Resource) -> Value {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::default();
    let request = parameters.serialize_request(&key).unwrap();
    match row.kind.as_str() {
        "CertificateSigningRequest" => json!({"spec": {
            "request": BASE64.encode(request.pem().unwrap()), "signerName": "example.com/none",
            "usages": ["client auth"],
        }}),
        "ClusterTrustBundle" => {
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let authority = parameters.self_signed(&key).unwrap();
            json!({"spec": {"signerName": "example.com/none", "trustBundle": authority.pem()}})
        }
        _ => json!({"spec": {
            "signerName": "example.com/none", "stubPKCS10Request": BASE64.encode(request.der()),
            "podName": "none", "podUID": UID, "serviceAccountName": "none", "serviceAccountUID": UID,
            "nodeName": "none", "nodeUID": UID,
        }}),
    }
}

fn other(row: &Resource, namespace: &str) -> Value {
    match row.kind.as_str() {
        "APIService" => json!({"spec": {
            "group": "live.example.org", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
        }}),
        "CSINode" => json!({"spec": {"drivers": []}}),
        "CSIDriver" => json!({"spec": {}}),
        "CSIStorageCapacity" => json!({"storageClassName": "none"}),
        "ClusterRoleBinding" => role_ref("ClusterRole"),
        "CustomResourceDefinition" => json!({"spec": {
            "group": "live.example.com", "scope": "Namespaced", "names": {"plural": "samples",
            "kind": "Sample"},
            "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}],
        }}),
        "EndpointSlice" => json!({"addressType": "IPv4", "endpoints": []}),
        "Event" => json!({
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/none",
            "reportingInstance": "none",
            "action": "None", "reason": "None", "type": "Normal", "regarding": {"namespace": namespace},
        }),
        "FlowSchema" => {
            json!({"spec": {"priorityLevelConfiguration": {"name": "none"}, "matchingPrecedence": 9999}})
        }
        "IPAddress" => {
            json!({"spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": "none"}}})
        }
        "Ingress" => {
            json!({"spec": {"defaultBackend": {"service": {"name": "none", "port": {"number": 80}}}}})
        }
        "IngressClass" => json!({"spec": {"controller": "example.com/none"}}),
        "LeaseCandidate" => json!({"spec": {
            "leaseName": "none", "binaryVersion": "1.0.0", "emulationVersion": "1.0.0",
            "strategy": "OldestEmulationVersion",
        }}),
        "MutatingAdmissionPolicy" => json!({"spec": {
            "matchConstraints": match_nothing(), "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": "Object{}"}}],
        }}),
        "MutatingAdmissionPolicyBinding" => json!({"spec": {"policyName": "none"}}),
        "NetworkPolicy" => json!({"spec": {"podSelector": {}}}),
        "PriorityLevelConfiguration" => {
            json!({"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}})
        }
        "RoleBinding" => role_ref("Role"),
        "RuntimeClass" => json!({"handler": "none"}),
        "ServiceCIDR" => json!({"spec": {"cidrs": ["10.77.0.0/24"]}}),
        "StorageClass" => json!({"provisioner": "example.com/none"}),
        "StorageVersion" => json!({"spec": {}, "status": {}}),
        "StorageVersionMigration" => {
            json!({"spec": {"resource": {"group": "", "version": "v1", "resource": "configmaps"}}})
        }
        "ValidatingAdmissionPolicy" => json!({"spec": {
            "matchConstraints": match_nothing(), "validations": [{"expression": "true"}],
        }}),
        "ValidatingAdmissionPolicyBinding" => {
            json!({"spec": {"policyName": "none", "validationActions": ["Deny"]}})
        }
        "VolumeAttachment" => json!({"spec": {
            "attacher": "example.com", "nodeName": "none", "source": {"persistentVolumeName": "none"},
        }}),
        "VolumeAttributesClass" => json!({"driverName": "example.com", "parameters": {"none": "none"}}),
        _ => json!({}),
    }
}

fn role_ref(kind: &str) -> Value {
    json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "none"}})
}
