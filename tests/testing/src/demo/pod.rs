//! A pod in a few words, and the difference between two states of one.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The phase as `kubectl` shows it: a pod that is being deleted is `Terminating`, whatever its status says.
pub(super) fn phase(pod: &Pod) -> &str {
    if pod.metadata.deletion_timestamp.is_some() {
        return "Terminating";
    }
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Unknown")
}

/// The node the pod is assigned to.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// `namespace/name`.
pub(super) fn name(pod: &Pod) -> String {
    name_of(&pod.metadata)
}

/// `namespace/name` of any object in a namespace.
pub(super) fn name_of(meta: &ObjectMeta) -> String {
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let name = meta.name.as_deref().unwrap_or_default();
    format!("{namespace}/{name}")
}

/// The phase of a pod, and its node.
pub(super) fn describe(pod: &Pod) -> String {
    match node(pod) {
        Some(node) => format!("{} on {node}", phase(pod)),
        None => phase(pod).to_owned(),
    }
}

/// What differs between two states of a pod, most important first.
pub(super) fn changes(old: &Pod, new: &Pod) -> String {
    let mut changes = Vec::new();
    if phase(old) != phase(new) {
        changes.push(format!("{} -> {}", phase(old), phase(new)));
    }
    if node(old) != node(new) {
        changes.push(format!("on {}", node(new).unwrap_or("no node")));
    }
    let (before, after) = (Containers::of(old), Containers::of(new));
    // A phase that changed says as much.
    if phase(old) == phase(new) && (before.ready, before.all) != (after.ready, after.all) {
        changes.push(format!("ready {}/{}", after.ready, after.all));
    }
    if before.restarts != after.restarts {
        changes.push(format!("restarts {} -> {}", before.restarts, after.restarts));
    }
    if old.metadata.labels != new.metadata.labels {
        changes.push("labels".to_owned());
    }
    if old.metadata.annotations != new.metadata.annotations {
        changes.push("annotations".to_owned());
    }
    if changes.is_empty() {
        changes.push("other fields".to_owned());
    }
    changes.join(", ")
}

/// The state of a pod's containers, summed up.
struct Containers {
    ready: usize,
    all: usize,
    restarts: i64,
}

impl Containers {
    fn of(pod: &Pod) -> Self {
        let statuses = pod.status.iter().flat_map(|status| &status.container_statuses);
        let mut sum = Self {
            ready: 0,
            all: 0,
            restarts: 0,
        };
        for container in statuses.flatten() {
            sum.all += 1;
            sum.ready += usize::from(container.ready);
            sum.restarts += i64::from(container.restart_count);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ContainerStatus, PodSpec, PodStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn pod(phase: &str, node: Option<&str>) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some("web".to_owned());
        pod.metadata.name = Some("front-0".to_owned());
        pod.spec = Some(PodSpec {
            node_name: node.map(str::to_owned),
            ..PodSpec::default()
        });
        pod.status = Some(PodStatus {
            phase: Some(phase.to_owned()),
            ..PodStatus::default()
        });
        pod
    }

    fn with_container(mut pod: Pod, ready: bool, restart_count: i32) -> Pod {
        let container = ContainerStatus {
            ready,
            restart_count,
            ..ContainerStatus::default()
        };
        pod.status.get_or_insert_default().container_statuses = Some(vec![container]);
        pod
    }

    fn check(old: &Pod, new: &Pod, expected: &str) {
        assert_eq!(changes(old, new), expected);
    }

    #[test]
    fn a_change_names_what_changed() {
        let pending = pod("Pending", None);
        check(&pending, &pod("Pending", Some("node-1")), "on node-1");
        check(
            &pending,
            &pod("Running", Some("node-1")),
            "Pending -> Running, on node-1",
        );
        let running = with_container(pod("Running", None), false, 0);
        check(&running, &with_container(running.clone(), true, 0), "ready 1/1");
        check(
            &running,
            &with_container(running.clone(), false, 1),
            "restarts 0 -> 1",
        );
        check(&running, &running, "other fields");
    }

    #[test]
    fn a_pod_that_is_being_deleted_is_terminating() {
        let running = pod("Running", Some("node-1"));
        let mut deleted = running.clone();
        deleted.metadata.deletion_timestamp = Some(Time(Default::default()));
        check(&running, &deleted, "Running -> Terminating");
        assert_eq!(describe(&deleted), "Terminating on node-1");
    }

    #[test]
    fn a_pod_without_a_status_has_an_unknown_phase() {
        assert_eq!(phase(&Pod::default()), "Unknown");
        assert_eq!(name(&pod("Running", None)), "web/front-0");
    }
}
