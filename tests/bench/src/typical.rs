//! The typical Pod: one container, two volumes, 10 KB of JSON, almost half of it managedFields.

use serde_json::{Value, json};

use crate::pods;

/// Who creates the Pod, who writes its status, and who adds annotations.
pub(crate) const CONTROLLER: &str = "kube-controller-manager";
pub(crate) const KUBELET: &str = "kubelet";
pub(crate) const CALICO: &str = "calico";

/// What the annotations of the network begin with.
pub(crate) const NETWORK: &str = "cni.projectcalico.org/";

const IMAGE: &str = "registry.shop.example.com/team/checkout:4.17.2";

const VALUES: [(&str, &str); 8] = [
    ("PORT", "8080"),
    ("REGION", "eu"),
    ("LOG_LEVEL", "info"),
    ("LOG_FORMAT", "json"),
    ("CACHE_TTL", "60s"),
    ("DB_HOST", "db"),
    ("DB_NAME", "shop"),
    ("OTEL_URL", "http://otel.observability:4317"),
];

const FIELDS: [(&str, &str); 3] = [
    ("POD_IP", "status.podIP"),
    ("POD_NAME", "metadata.name"),
    ("POD_NAMESPACE", "metadata.namespace"),
];

/// A Pod of a Deployment, as the server sends it.
pub(crate) fn json(number: usize) -> String {
    let app = format!("checkout-{}", number % 40);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(number, &app),
        "spec": spec(number, &app),
        "status": status(number),
    })
    .to_string()
}

/// The kubelet reports the resources that the container has, as it does since Kubernetes 1.33.
fn status(number: usize) -> Value {
    let mut status = pods::status_of(number, &[("app", IMAGE)]);
    status["containerStatuses"][0]["resources"] = resources();
    status
}

fn resources() -> Value {
    json!({"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "512Mi"}})
}

fn metadata(number: usize, app: &str) -> Value {
    let ip = format!("10.42.{}.{}/32", number % 16, number % 250);
    let mut metadata = pods::metadata(number, app);
    metadata["annotations"] = json!({
        "checksum/config": "0a4d55a8d778e5022fab701977c5d840bbc486d0c1b2f3a4d5e6f708192a3b4c",
        "cni.projectcalico.org/containerID": format!("{:064x}", number * 7907),
        "cni.projectcalico.org/podIP": ip,
        "cni.projectcalico.org/podIPs": ip,
        "kubectl.kubernetes.io/restartedAt": "2026-05-04T09:31:16Z",
    });
    metadata["managedFields"] = json!([controller_fields(), calico_fields(), kubelet_fields()]);
    metadata
}

fn spec(number: usize, app: &str) -> Value {
    let values = VALUES.iter().map(|(name, value)| pods::env(name, value));
    let fields = FIELDS.iter().map(|(name, path)| pods::field(name, path));
    json!({
        "nodeName": pods::node(number), "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "serviceAccountName": app, "serviceAccount": app,
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30, "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": true,
        "securityContext": {"runAsNonRoot": true},
        "containers": [{
            "name": "app",
            "image": IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "args": ["serve", "--config=/etc/checkout/config.yaml"],
            "ports": [
                {"name": "http", "containerPort": 8080, "protocol": "TCP"},
                {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
            ],
            "env": values.chain(fields).collect::<Vec<_>>(),
            "resources": resources(),
            "livenessProbe": pods::probe("/healthz"), "readinessProbe": pods::probe("/readyz"),
            "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [
                {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
                pods::token_mount(),
            ],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        }],
        "volumes": [
            {"name": "config", "configMap": {"name": app, "defaultMode": 420}},
            pods::token_volume(),
        ],
        "tolerations": pods::tolerations(),
    })
}

/// The fields of the controller: the spec, as the server records it when the Pod is created.
fn controller_fields() -> Value {
    let mut env = json!({".": {}});
    for (name, _) in VALUES {
        env[format!("k:{{\"name\":\"{name}\"}}")] = pods::fields(&["name", "value"]);
    }
    for (name, _) in FIELDS {
        env[format!("k:{{\"name\":\"{name}\"}}")] = pods::env_field();
    }
    let port = pods::fields(&["containerPort", "name", "protocol"]);
    let mount = pods::fields(&["mountPath", "name", "readOnly"]);
    json!({
        "manager": CONTROLLER, "operation": "Update", "apiVersion": "v1",
        "time": "2026-05-04T09:31:17Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": pods::metadata_fields(&["checksum/config", "kubectl.kubernetes.io/restartedAt"]),
            "f:spec": {
                "f:containers": {
                    "k:{\"name\":\"app\"}": {
                        ".": {}, "f:args": {}, "f:env": env, "f:image": {}, "f:imagePullPolicy": {},
                        "f:lifecycle": {
                            ".": {}, "f:preStop": {".": {}, "f:sleep": pods::fields(&["seconds"])},
                        },
                        "f:livenessProbe": pods::probe_fields(), "f:name": {},
                        "f:ports": {
                            ".": {},
                            "k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": port,
                            "k:{\"containerPort\":9090,\"protocol\":\"TCP\"}": port,
                        },
                        "f:readinessProbe": pods::probe_fields(),
                        "f:resources": {
                            ".": {}, "f:limits": pods::fields(&["memory"]),
                            "f:requests": pods::fields(&["cpu", "memory"]),
                        },
                        "f:securityContext": {
                            ".": {}, "f:allowPrivilegeEscalation": {},
                            "f:capabilities": pods::fields(&["drop"]), "f:readOnlyRootFilesystem": {},
                        },
                        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
                        "f:volumeMounts": {
                            ".": {}, "k:{\"mountPath\":\"/etc/checkout\"}": mount,
                            "k:{\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}": mount,
                        },
                    },
                },
                "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:nodeName": {}, "f:nodeSelector": {},
                "f:preemptionPolicy": {}, "f:priority": {}, "f:restartPolicy": {}, "f:schedulerName": {},
                "f:securityContext": pods::fields(&["runAsNonRoot"]),
                "f:serviceAccount": {}, "f:serviceAccountName": {}, "f:terminationGracePeriodSeconds": {},
                "f:tolerations": {},
                "f:volumes": {
                    ".": {},
                    "k:{\"name\":\"config\"}": {
                        ".": {}, "f:configMap": pods::fields(&["defaultMode", "name"]), "f:name": {},
                    },
                    "k:{\"name\":\"kube-api-access-x7k2p\"}": {
                        ".": {}, "f:name": {}, "f:projected": pods::fields(&["defaultMode", "sources"]),
                    },
                },
            },
        },
    })
}

/// The fields of the network: its annotations.
fn calico_fields() -> Value {
    json!({
        "manager": CALICO, "operation": "Update", "apiVersion": "v1",
        "time": "2026-05-04T09:31:20Z", "fieldsType": "FieldsV1", "subresource": "status",
        "fieldsV1": {"f:metadata": {"f:annotations": {
            "f:cni.projectcalico.org/containerID": {}, "f:cni.projectcalico.org/podIP": {},
            "f:cni.projectcalico.org/podIPs": {},
        }}},
    })
}

/// The fields of the kubelet: the status, whole.
fn kubelet_fields() -> Value {
    let mut fields = pods::kubelet_fields();
    let status = &mut fields["fieldsV1"]["f:status"];
    let condition = status["f:conditions"]["k:{\"type\":\"Ready\"}"].clone();
    status["f:conditions"]["."] = json!({});
    status["f:conditions"]["k:{\"type\":\"PodScheduled\"}"] = condition;
    fields
}
