//! A small simulated cluster: workloads that roll out and scale, pods that are scheduled, run, restart and
//! are deleted.
//!
//! It acts as scheduler, kubelet and controllers, and writes directly into the embedded server. Clients see
//! it through the same lists and watches as any other server.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::rng::Rng;
use crate::server::ApiServer;

const NODES: [&str; 4] = ["node-1", "node-2", "node-3", "node-4"];
/// Namespace, name, replicas.
const WORKLOADS: [(&str, &str, usize); 6] = [
    ("shop", "frontend", 5),
    ("shop", "cart", 3),
    ("shop", "search", 2),
    ("payments", "api", 4),
    ("payments", "ledger", 2),
    ("monitoring", "collector", 3),
];
const MOST_REPLICAS: usize = 7;
const FEWEST_REPLICAS: usize = 2;
/// Holds a deleted pod until the simulated kubelet releases it, as during a grace period.
const GRACE: &str = "demo.example/grace";

pub(super) struct Cluster {
    server: Arc<ApiServer>,
    rng: Rng,
    workloads: Vec<Workload>,
}

/// Pods that are kept at a number.
struct Workload {
    namespace: &'static str,
    name: &'static str,
    replicas: usize,
    /// Changes with each rollout.
    revision: String,
    pods: Vec<Member>,
}

struct Member {
    pod: Value,
    revision: String,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Unscheduled,
    Scheduled,
    Running,
    Terminating,
}

impl Cluster {
    /// Fills a server with a cluster in which every pod runs. The same seed gives the same cluster.
    pub(super) fn new(server: Arc<ApiServer>, seed: u64) -> Result<Self, ApiError> {
        let mut rng = Rng::new(seed);
        for node in NODES {
            server.create(&json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } }))?;
        }
        let mut workloads = Vec::new();
        for (namespace, name, replicas) in WORKLOADS {
            let mut workload = Workload {
                namespace,
                name,
                replicas,
                revision: rng.name_suffix(),
                pods: Vec::new(),
            };
            for _ in 0..replicas {
                workload.add_pod(&server, &mut rng)?;
            }
            for member in &mut workload.pods {
                member.schedule(&server, &mut rng)?;
                member.run(&server)?;
            }
            workloads.push(workload);
        }
        Ok(Self {
            server,
            rng,
            workloads,
        })
    }

    /// Lets a little time pass.
    pub(super) fn step(&mut self) -> Result<(), ApiError> {
        let Self {
            server,
            rng,
            workloads,
        } = self;
        for workload in workloads.iter_mut() {
            workload.advance(server, rng)?;
            workload.reconcile(server, rng)?;
        }
        let busy = workloads.iter().filter(|workload| !workload.is_settled());
        if busy.count() < 2 {
            let chosen = below(rng, workloads.len());
            workloads[chosen].disturb(server, rng)?;
        }
        Ok(())
    }
}

impl Workload {
    fn is_settled(&self) -> bool {
        let settled = |member: &Member| member.phase == Phase::Running && member.revision == self.revision;
        self.pods.len() == self.replicas && self.pods.iter().all(settled)
    }

    /// Starts something new if nothing goes on: a rollout, another size, a restart, or the loss of a pod.
    fn disturb(&mut self, server: &ApiServer, rng: &mut Rng) -> Result<(), ApiError> {
        if !self.is_settled() {
            return Ok(());
        }
        let chosen = below(rng, self.pods.len());
        match below(rng, 10) {
            0..5 => self.revision = rng.name_suffix(),
            5..8 if self.replicas <= FEWEST_REPLICAS => self.replicas += 1,
            5..8 if self.replicas < MOST_REPLICAS && rng.chance(0.5) => self.replicas += 1,
            5..8 => self.replicas -= 1,
            8 => self.pods[chosen].terminate(server)?,
            _ => self.pods[chosen].restart(server)?,
        }
        Ok(())
    }

    /// Moves each pod to its next phase, sooner or later.
    fn advance(&mut self, server: &ApiServer, rng: &mut Rng) -> Result<(), ApiError> {
        for member in &mut self.pods {
            if !rng.chance(0.45) {
                continue;
            }
            match member.phase {
                Phase::Unscheduled => member.schedule(server, rng)?,
                Phase::Scheduled => member.run(server)?,
                Phase::Running => {}
                Phase::Terminating => member.release(server)?,
            }
        }
        self.pods.retain(|member| member.pod != Value::Null);
        Ok(())
    }

    /// Does a step of a rolling update: one pod more than configured while old ones exist, and no old pod is
    /// deleted before a new one runs.
    fn reconcile(&mut self, server: &ApiServer, rng: &mut Rng) -> Result<(), ApiError> {
        let is_old = |member: &Member| member.revision != self.revision;
        let alive = |member: &&Member| member.phase != Phase::Terminating;
        let old = self
            .pods
            .iter()
            .filter(alive)
            .filter(|member| is_old(member))
            .count();
        let new = self.pods.iter().filter(alive).count() - old;
        let running = |member: &&mut Member| member.phase == Phase::Running;
        let all_running = self
            .pods
            .iter()
            .filter(|member| member.phase == Phase::Running)
            .count();
        if all_running > self.replicas && (old > 0 || new > self.replicas) {
            let mut surplus = self.pods.iter_mut().filter(running);
            let revision = &self.revision;
            if let Some(member) = surplus.find(|member| old == 0 || member.revision != *revision) {
                member.terminate(server)?;
            }
        }
        if new < self.replicas && new + old < self.replicas + usize::from(old > 0) {
            self.add_pod(server, rng)?;
        }
        Ok(())
    }

    fn add_pod(&mut self, server: &ApiServer, rng: &mut Rng) -> Result<(), ApiError> {
        let Self {
            namespace,
            name,
            revision,
            ..
        } = self;
        let container = json!({ "name": "app", "image": format!("registry.example/{name}:{revision}") });
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "namespace": namespace,
                "name": format!("{name}-{revision}-{}", rng.name_suffix()),
                "labels": { "app": name, "pod-template-hash": revision },
                "finalizers": [GRACE],
            },
            "spec": { "containers": [container] },
            "status": { "phase": "Pending" },
        });
        self.pods.push(Member {
            pod: server.create(&pod)?,
            revision: revision.clone(),
            phase: Phase::Unscheduled,
        });
        Ok(())
    }
}

impl Member {
    fn schedule(&mut self, server: &ApiServer, rng: &mut Rng) -> Result<(), ApiError> {
        self.pod["spec"]["nodeName"] = NODES[below(rng, NODES.len())].into();
        self.move_to(Phase::Scheduled, server)
    }

    fn run(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        let image = &self.pod["spec"]["containers"][0]["image"];
        let container =
            json!({ "name": "app", "image": image, "imageID": "", "ready": true, "restartCount": 0 });
        self.pod["status"] = json!({ "phase": "Running", "containerStatuses": [container] });
        self.move_to(Phase::Running, server)
    }

    fn restart(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        let count = &mut self.pod["status"]["containerStatuses"][0]["restartCount"];
        *count = (count.as_u64().unwrap_or(0) + 1).into();
        self.move_to(Phase::Running, server)
    }

    fn terminate(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        server.delete(&self.pod)?;
        self.phase = Phase::Terminating;
        Ok(())
    }

    /// Ends the grace period, and with it the pod.
    fn release(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        self.pod["metadata"]["finalizers"] = json!([]);
        server.update(&self.pod)?;
        self.pod = Value::Null;
        Ok(())
    }

    fn move_to(&mut self, phase: Phase, server: &ApiServer) -> Result<(), ApiError> {
        self.pod = server.update(&self.pod)?;
        self.phase = phase;
        Ok(())
    }
}

/// A position below `end`.
fn below(rng: &mut Rng, end: usize) -> usize {
    usize::try_from(rng.below(end as u64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::core::v1::Pod;

    use super::super::pod::{node, phase};
    use super::*;

    /// Runs a cluster for some steps and looks at its pods after each.
    fn check(seed: u64, steps: usize, mut look: impl FnMut(&[Pod], &Cluster)) {
        let server = Arc::new(ApiServer::builder().seed(seed).start());
        let mut cluster = Cluster::new(server.clone(), seed).unwrap();
        for _ in 0..steps {
            look(&server.objects::<Pod>(), &cluster);
            cluster.step().unwrap();
        }
    }

    #[tokio::test]
    async fn it_begins_with_every_pod_running() {
        check(1, 1, |pods, _| {
            let wanted: usize = WORKLOADS.iter().map(|(_, _, replicas)| replicas).sum();
            assert_eq!(pods.len(), wanted);
            for pod in pods {
                assert_eq!(phase(pod), "Running");
                assert!(node(pod).is_some_and(|node| NODES.contains(&node)));
            }
        });
    }

    #[tokio::test]
    async fn pods_are_created_and_deleted_through_every_phase() {
        let mut phases = BTreeSet::new();
        let mut names = BTreeSet::new();
        check(2, 100, |pods, _| {
            for pod in pods {
                phases.insert(phase(pod).to_owned());
                names.insert(pod.metadata.name.clone());
            }
        });
        assert_eq!(Vec::from_iter(phases), ["Pending", "Running", "Terminating"]);
        assert!(names.len() > 40, "only {} pods in 100 steps", names.len());
    }

    #[tokio::test]
    async fn a_rollout_keeps_its_workload_at_size() {
        for seed in 0..3 {
            check(seed, 60, |pods, cluster| {
                let most: usize = cluster.workloads.iter().map(|workload| workload.replicas).sum();
                let alive = pods.iter().filter(|pod| phase(pod) != "Terminating").count();
                // A rollout has one pod more; a workload that has just shrunk has not deleted its surplus
                // yet.
                assert!(alive <= most + 2 * cluster.workloads.len(), "{alive} of {most}");
                for workload in &cluster.workloads {
                    assert!((FEWEST_REPLICAS..=MOST_REPLICAS).contains(&workload.replicas));
                }
            });
        }
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_cluster() {
        let history = |seed| {
            let mut history = Vec::new();
            check(seed, 50, |pods, _| {
                let states = pods
                    .iter()
                    .map(|pod| (pod.metadata.name.clone(), phase(pod).to_owned()));
                history.extend(states);
            });
            history
        };
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
    }

    #[tokio::test]
    async fn every_workload_settles_and_is_disturbed_again() {
        let mut settled = vec![0; WORKLOADS.len()];
        let mut busy = vec![0; WORKLOADS.len()];
        check(3, 150, |_, cluster| {
            for (at, workload) in cluster.workloads.iter().enumerate() {
                match workload.is_settled() {
                    true => settled[at] += 1,
                    false => busy[at] += 1,
                }
            }
        });
        assert!(
            settled.iter().chain(&busy).all(|steps| *steps > 0),
            "{settled:?} {busy:?}"
        );
    }
}
