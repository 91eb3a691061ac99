//! Pods of a busy cluster: about 12 KB of JSON each, almost half of it managedFields.

use serde_json::{Value, json};

/// The digest of every image.
const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A Pod of a Deployment with a sidecar, as the server sends it.
pub(crate) fn json(number: usize) -> String {
    let app = format!("checkout-{}", number % 40);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(number, &app),
        "spec": spec(number, &app),
        "status": status(number, &app),
    })
    .to_string()
}

/// The same Pod with metadata only.
pub(crate) fn metadata_json(number: usize) -> String {
    let app = format!("checkout-{}", number % 40);
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": metadata(number, &app),
    })
    .to_string()
}

pub(crate) fn metadata(number: usize, app: &str) -> Value {
    json!({
        "name": format!("{app}-6d4cf56db9-{number:05}"),
        "generateName": format!("{app}-6d4cf56db9-"),
        "namespace": format!("team-{}", number % 25),
        "uid": format!("6f1c2f5e-52f0-4c6a-9d3e-{number:012}"),
        "resourceVersion": (1_000_000 + number).to_string(),
        "creationTimestamp": "2026-05-04T09:31:17Z",
        "labels": {
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": app,
            "app.kubernetes.io/version": "4.17.2",
            "app.kubernetes.io/managed-by": "Helm",
            "pod-template-hash": "6d4cf56db9",
            "tier": "backend",
        },
        "annotations": {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "9090",
            "kubectl.kubernetes.io/restartedAt": "2026-05-04T09:31:16Z",
            "checksum/config": "0a4d55a8d778e5022fab701977c5d840bbc486d0c1b2f3a4d5e6f708192a3b4c",
        },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-6d4cf56db9"),
            "uid": "0b8a3c1e-7d5f-4f09-8c58-3b2a1d0e9f87", "controller": true, "blockOwnerDeletion": true,
        }],
        "managedFields": [controller_fields(), kubelet_fields()],
    })
}

fn spec(number: usize, app: &str) -> Value {
    let secret = |name: &str, key: &str| {
        json!({"name": name, "valueFrom": {"secretKeyRef": {"name": app,
        "key": key}}})
    };
    json!({
        "nodeName": node(number),
        "serviceAccountName": app, "serviceAccount": app,
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30, "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": true,
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532},
        "containers": [
            {
                "name": "app",
                "image": "registry.example.com/team/checkout:4.17.2",
                "imagePullPolicy": "IfNotPresent",
                "args": ["serve", "--config=/etc/checkout/config.yaml", "--log-format=json"],
                "ports": [
                    {"name": "http", "containerPort": 8080, "protocol": "TCP"},
                    {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
                ],
                "env": [
                    env("LOG_LEVEL", "info"),
                    env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel-collector.observability:4317"),
                    env("CACHE_URL", "redis://redis.checkout.svc.cluster.local:6379/0"),
                    secret("DATABASE_URL", "database-url"),
                    secret("PAYMENT_API_KEY", "payment-api-key"),
                    field("POD_NAME", "metadata.name"),
                    field("POD_NAMESPACE", "metadata.namespace"),
                    field("NODE_NAME", "spec.nodeName"),
                ],
                "resources": {
                    "requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"},
                },
                "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [
                    {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
                    {"name": "tmp", "mountPath": "/tmp"},
                    token_mount(),
                ],
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            },
            {
                "name": "proxy",
                "image": "registry.example.com/mesh/proxy:1.29.1",
                "imagePullPolicy": "IfNotPresent",
                "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
                "ports": [{"name": "proxy", "containerPort": 15090, "protocol": "TCP"}],
                "env": [
                    field("POD_NAME", "metadata.name"),
                    field("POD_NAMESPACE", "metadata.namespace"),
                    field("INSTANCE_IP", "status.podIP"),
                    env("PROXY_CONFIG", "{\"concurrency\":2}"),
                ],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "readinessProbe": probe("/proxy/ready"),
                "volumeMounts": [{"name": "proxy-run", "mountPath": "/var/run/proxy"}, token_mount()],
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            },
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": app, "defaultMode": 420}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "proxy-run", "emptyDir": {"medium": "Memory"}},
            token_volume(),
        ],
        "tolerations": tolerations(),
    })
}

/// The node where a Pod runs.
pub(crate) fn node(number: usize) -> String {
    format!(
        "ip-10-0-{}-{}.eu-central-1.compute.internal",
        number % 16,
        number % 200
    )
}

/// A variable with a value.
pub(crate) fn env(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// A variable with a field of the Pod.
pub(crate) fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}})
}

/// Those that the server adds to every Pod.
pub(crate) fn tolerations() -> Value {
    let toleration = |key: &str| {
        json!({
            "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        })
    };
    json!([
        toleration("node.kubernetes.io/not-ready"),
        toleration("node.kubernetes.io/unreachable"),
    ])
}

/// The volume with the token of the service account.
pub(crate) fn token_volume() -> Value {
    json!({"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}})
}

pub(crate) fn probe(path: &str) -> Value {
    json!({
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "initialDelaySeconds": 5, "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1,
        "failureThreshold": 3,
    })
}

pub(crate) fn token_mount() -> Value {
    json!({
        "name": "kube-api-access-x7k2p", "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    })
}

fn status(number: usize, app: &str) -> Value {
    status_of(
        number,
        &[
            ("app", &format!("registry.example.com/team/{app}:4.17.2")),
            ("proxy", "registry.example.com/mesh/proxy:1.29.1"),
        ],
    )
}

/// The status of a Pod whose containers, by name and image, are running.
pub(crate) fn status_of(number: usize, containers: &[(&str, &str)]) -> Value {
    let ip = format!("10.42.{}.{}", number % 16, number % 250);
    let host = format!("10.0.{}.{}", number % 16, number % 200);
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "observedGeneration": 1, "lastProbeTime": null,
            "lastTransitionTime": "2026-05-04T09:31:25Z",
        })
    };
    let container = |(name, image): &(&str, &str)| {
        json!({
            "name": name, "image": image, "ready": true, "started": true, "restartCount": number % 4,
            "imageID": format!("{image}@sha256:{DIGEST}"),
            "containerID": format!("containerd://{:064x}", number * 7919 + name.len()),
            "state": {"running": {"startedAt": "2026-05-04T09:31:21Z"}}, "lastState": {},
        })
    };
    json!({
        "phase": "Running", "qosClass": "Burstable", "startTime": "2026-05-04T09:31:17Z",
        "observedGeneration": 1,
        "podIP": ip, "podIPs": [{"ip": ip}], "hostIP": host, "hostIPs": [{"ip": host}],
        "conditions": [
            condition("PodReadyToStartContainers"), condition("Initialized"), condition("Ready"),
            condition("ContainersReady"), condition("PodScheduled"),
        ],
        "containerStatuses": containers.iter().map(container).collect::<Vec<_>>(),
    })
}

/// The fields that the ReplicaSet controller owns: everything in the spec.
fn controller_fields() -> Value {
    let container = |env: Value| {
        json!({
            ".": {}, "f:args": {}, "f:env": env, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
            "f:livenessProbe": probe_fields(), "f:readinessProbe": probe_fields(),
            "f:ports": {
                ".": {},
                "k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": {
                    ".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {},
                },
                "k:{\"containerPort\":9090,\"protocol\":\"TCP\"}": {
                    ".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {},
                },
            },
            "f:resources": {
                ".": {}, "f:limits": {".": {}, "f:memory": {}}, "f:requests": {".": {}, "f:cpu": {},
                "f:memory": {}},
            },
            "f:securityContext": {
                ".": {}, "f:allowPrivilegeEscalation": {}, "f:capabilities": {".": {}, "f:drop": {}},
                "f:readOnlyRootFilesystem": {},
            },
            "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
            "f:volumeMounts": {
                ".": {},
                "k:{\"mountPath\":\"/etc/checkout\"}": {".": {}, "f:mountPath": {}, "f:name": {},
                "f:readOnly": {}},
                "k:{\"mountPath\":\"/tmp\"}": {".": {}, "f:mountPath": {}, "f:name": {}},
            },
        })
    };
    json!({
        "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
        "time": "2026-05-04T09:31:17Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": metadata_fields(&[
                "checksum/config", "kubectl.kubernetes.io/restartedAt", "prometheus.io/port",
                "prometheus.io/scrape",
            ]),
            "f:spec": {
                "f:containers": {
                    "k:{\"name\":\"app\"}": container(env_fields(&[
                        "LOG_LEVEL", "OTEL_EXPORTER_OTLP_ENDPOINT", "CACHE_URL", "DATABASE_URL",
                        "PAYMENT_API_KEY", "POD_NAME",
                        "POD_NAMESPACE", "NODE_NAME",
                    ])),
                    "k:{\"name\":\"proxy\"}": container(env_fields(&[
                        "POD_NAME", "POD_NAMESPACE", "INSTANCE_IP", "PROXY_CONFIG",
                    ])),
                },
                "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {},
                "f:securityContext": {".": {}, "f:fsGroup": {}, "f:runAsNonRoot": {}, "f:runAsUser": {}},
                "f:serviceAccount": {}, "f:serviceAccountName": {}, "f:terminationGracePeriodSeconds": {},
                "f:volumes": {
                    ".": {},
                    "k:{\"name\":\"config\"}": {".": {}, "f:configMap": {".": {}, "f:defaultMode": {},
                    "f:name": {}}, "f:name": {}},
                    "k:{\"name\":\"tmp\"}": {".": {}, "f:emptyDir": {}, "f:name": {}},
                    "k:{\"name\":\"proxy-run\"}": {".": {}, "f:emptyDir": {".": {}, "f:medium": {}},
                    "f:name": {}},
                },
            },
        },
    })
}

/// Everything in the metadata, with these annotations.
pub(crate) fn metadata_fields(annotations: &[&str]) -> Value {
    json!({
        "f:annotations": fields(annotations),
        "f:generateName": {},
        "f:labels": fields(&[
            "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/name",
            "app.kubernetes.io/version", "pod-template-hash", "tier",
        ]),
        "f:ownerReferences": {".": {}, "k:{\"uid\":\"0b8a3c1e-7d5f-4f09-8c58-3b2a1d0e9f87\"}": {}},
    })
}

/// An object and its fields.
pub(crate) fn fields(names: &[&str]) -> Value {
    let mut fields = json!({".": {}});
    for name in names {
        fields[format!("f:{name}")] = json!({});
    }
    fields
}

/// Variables whose values are fields of the Pod.
fn env_fields(names: &[&str]) -> Value {
    let mut fields = json!({".": {}});
    for name in names {
        fields[format!("k:{{\"name\":\"{name}\"}}")] = env_field();
    }
    fields
}

/// A variable whose value is a field of the Pod.
pub(crate) fn env_field() -> Value {
    json!({".": {}, "f:name": {}, "f:valueFrom": {".": {}, "f:fieldRef": {}}})
}

pub(crate) fn probe_fields() -> Value {
    json!({
        ".": {}, "f:failureThreshold": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}, "f:scheme": {}},
        "f:initialDelaySeconds": {}, "f:periodSeconds": {}, "f:successThreshold": {}, "f:timeoutSeconds": {},
    })
}

/// The fields that the kubelet owns: the status.
pub(crate) fn kubelet_fields() -> Value {
    let condition = json!({
        ".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:observedGeneration": {},
        "f:status": {}, "f:type": {},
    });
    json!({
        "manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-05-04T09:31:25Z",
        "fieldsType": "FieldsV1", "subresource": "status",
        "fieldsV1": {"f:status": {
            "f:conditions": {
                "k:{\"type\":\"ContainersReady\"}": condition, "k:{\"type\":\"Initialized\"}": condition,
                "k:{\"type\":\"PodReadyToStartContainers\"}": condition, "k:{\"type\":\"Ready\"}": condition,
            },
            "f:containerStatuses": {}, "f:hostIP": {}, "f:hostIPs": {}, "f:observedGeneration": {},
            "f:phase": {}, "f:podIP": {},
            "f:podIPs": {".": {}, "k:{\"ip\":\"10.42.1.17\"}": {".": {}, "f:ip": {}}}, "f:startTime": {},
        }},
    })
}
