//! The descriptions of groups, one line each. k8s-openapi has none.

/// By the name of the group's module. A new group gets its line here, in alphabetical order.
const ABOUT: [(&str, &str); 22] = [
    (
        "admissionregistration",
        "webhooks and policies that look at requests before they are stored",
    ),
    ("apiextensions", "definitions of custom resources"),
    (
        "apiregistration",
        "API servers that serve a group of their own behind the main one",
    ),
    (
        "apiserverinternal",
        "which versions of a kind the API servers can read and write",
    ),
    (
        "apps",
        "workloads that keep pods running, such as deployments and daemon sets",
    ),
    (
        "autoscaling",
        "how many replicas a workload should have, by its load",
    ),
    ("batch", "work that ends, at once or by a schedule"),
    (
        "certificates",
        "requests for certificates, and the authorities to trust",
    ),
    (
        "coordination",
        "leases, by which processes elect a leader or show that they live",
    ),
    (
        "core",
        "pods, and the nodes, services, volumes and configuration they need",
    ),
    ("discovery", "the addresses behind each service"),
    ("events", "what happened to objects, as reported by controllers"),
    ("flowcontrol", "whose requests the API server answers first"),
    ("lifecycle", "asking pods to leave their node"),
    (
        "networking",
        "ways into the cluster, rules between pods, and address ranges",
    ),
    ("node", "the container runtimes that nodes offer"),
    ("policy", "how many pods may be down at a time"),
    ("rbac", "roles, and who has them"),
    ("resource", "devices on nodes, and claims to them"),
    ("scheduling", "which pods go first, and which go together"),
    (
        "storage",
        "kinds of storage, their drivers, and what is attached where",
    ),
    ("storagemigration", "rewriting stored objects in a newer version"),
];

/// The line of a group, without a full stop.
pub(super) fn about(module: &str) -> Option<&'static str> {
    ABOUT
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, text)| *text)
}
