//! A small cluster that lives: deployments that roll out and scale, pods that are scheduled, run, and go.
//!
//! It plays scheduler, kubelet and controllers at once, and writes straight into the embedded server, past its HTTP side. What the
//! informer sees of it comes through the same lists and watches as from any server.

mod objects;
mod random;

use std::sync::Arc;
use std::time::Duration;

use informer_testing::{ApiError, ApiServer};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::shared::{Failure, Stage};
use random::Random;

/// The same seed gives the same cluster: the story is the same every time.
const SEED: u64 = 1;
/// Time between two steps.
const STEP: Duration = Duration::from_millis(400);
const NODES: [&str; 4] = ["node-1", "node-2", "node-3", "node-4"];
/// Namespace, deployment, replicas.
const DEPLOYMENTS: [(&str, &str, usize); 6] = [
    ("shop", "frontend", 5),
    ("shop", "cart", 3),
    ("shop", "search", 2),
    ("payments", "api", 4),
    ("payments", "ledger", 2),
    ("monitoring", "collector", 3),
];
/// How many pods a deployment may be scaled to, and how few.
const MOST_REPLICAS: usize = 7;
const FEWEST_REPLICAS: usize = 2;

/// Fills a server with a cluster, which then lives for ever.
pub(crate) fn live(
    stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let mut cluster = Cluster::new(stage.server, SEED)?;
    Ok(async move {
        loop {
            tokio::time::sleep(STEP).await;
            cluster.step()?;
        }
    })
}

struct Cluster {
    server: Arc<ApiServer>,
    random: Random,
    workloads: Vec<Workload>,
}

/// A deployment and what belongs to it.
struct Workload {
    deployment: Value,
    replicas: usize,
    revision: u32,
    /// The newest is the last.
    sets: Vec<Set>,
}

struct Set {
    object: Value,
    pods: Vec<Member>,
}

struct Member {
    pod: Pod,
    life: Life,
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Unscheduled,
    Scheduled,
    Running,
    Terminating,
}

impl Cluster {
    /// A cluster in which everything runs.
    fn new(server: Arc<ApiServer>, seed: u64) -> Result<Self, ApiError> {
        let mut cluster = Self {
            server,
            random: Random::new(seed),
            workloads: Vec::new(),
        };
        for node in NODES {
            cluster.server.create(&objects::node(node))?;
        }
        for (namespace, name, replicas) in DEPLOYMENTS {
            let deployment = objects::deployment(namespace, name, replicas);
            let mut workload = Workload {
                deployment: cluster.server.create(&deployment)?,
                replicas,
                revision: 1,
                sets: Vec::new(),
            };
            workload.add_set(&cluster.server, &mut cluster.random)?;
            for _ in 0..replicas {
                workload.add_pod(&cluster.server, &mut cluster.random)?;
            }
            while !workload.is_settled() {
                workload.advance(&cluster.server, &mut cluster.random, Pace::AtOnce)?;
            }
            workload.report(&cluster.server)?;
            cluster.workloads.push(workload);
        }
        Ok(cluster)
    }

    /// Lets a little time pass.
    fn step(&mut self) -> Result<(), ApiError> {
        for workload in &mut self.workloads {
            workload.advance(&self.server, &mut self.random, Pace::Natural)?;
            workload.reconcile(&self.server, &mut self.random)?;
        }
        let busy = self.workloads.iter().filter(|workload| !workload.is_settled());
        if busy.count() < 2 {
            let chosen = self.random.below(self.workloads.len());
            self.workloads[chosen].disturb(&self.server, &mut self.random)?;
        }
        self.workloads
            .iter_mut()
            .try_for_each(|workload| workload.report(&self.server))
    }
}

/// How fast pods go through their lives.
#[derive(Clone, Copy)]
enum Pace {
    Natural,
    /// Without waiting, for the state the cluster begins with.
    AtOnce,
}

impl Workload {
    fn is_settled(&self) -> bool {
        let mut members = self.sets.iter().flat_map(|set| &set.pods);
        let old: usize = self.sets.iter().rev().skip(1).map(|set| set.pods.len()).sum();
        old == 0 && members.all(|member| member.life == Life::Running) && self.newest_len() == self.replicas
    }

    fn newest_len(&self) -> usize {
        self.sets.last().map_or(0, |set| set.pods.len())
    }

    /// Starts something new: mostly a rollout, sometimes another size, a restart, or the loss of a pod.
    fn disturb(&mut self, server: &ApiServer, random: &mut Random) -> Result<(), ApiError> {
        if !self.is_settled() {
            return Ok(());
        }
        match random.below(10) {
            0..5 => {
                self.revision += 1;
                objects::set_revision(&mut self.deployment, self.revision);
                self.deployment = server.update(&self.deployment)?;
                self.add_set(server, random)
            }
            5..8 => {
                let grows =
                    self.replicas <= FEWEST_REPLICAS || random.percent(50) && self.replicas < MOST_REPLICAS;
                self.replicas = if grows {
                    self.replicas + 1
                } else {
                    self.replicas - 1
                };
                objects::set_replicas(&mut self.deployment, self.replicas);
                self.deployment = server.update(&self.deployment)?;
                Ok(())
            }
            choice => {
                let Some(set) = self.sets.last_mut().filter(|set| !set.pods.is_empty()) else {
                    return Ok(());
                };
                let chosen = random.below(set.pods.len());
                let member = &mut set.pods[chosen];
                match choice {
                    8 => member.terminate(server),
                    _ => member.change(server, objects::restart),
                }
            }
        }
    }

    /// Moves each pod on in its life, sooner or later.
    fn advance(&mut self, server: &ApiServer, random: &mut Random, pace: Pace) -> Result<(), ApiError> {
        for set in &mut self.sets {
            let mut at = 0;
            while let Some(member) = set.pods.get_mut(at) {
                let is_ready = match pace {
                    Pace::Natural => random.percent(45),
                    Pace::AtOnce => true,
                };
                at += 1;
                match member.life {
                    _ if !is_ready => {}
                    Life::Unscheduled => {
                        let node = NODES[random.below(NODES.len())];
                        member.change(server, |pod| objects::schedule(pod, node))?;
                        member.life = Life::Scheduled;
                    }
                    Life::Scheduled => {
                        member.change(server, objects::run)?;
                        member.life = Life::Running;
                    }
                    Life::Running => {}
                    Life::Terminating => {
                        at -= 1;
                        let mut gone = set.pods.remove(at);
                        gone.change(server, objects::release)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Does what a rolling update does: one pod more than wanted while old ones are left, and none gone before another runs.
    fn reconcile(&mut self, server: &ApiServer, random: &mut Random) -> Result<(), ApiError> {
        let alive = |set: &Set| {
            set.pods
                .iter()
                .filter(|member| member.life != Life::Terminating)
                .count()
        };
        let running = |set: &Set| {
            set.pods
                .iter()
                .filter(|member| member.life == Life::Running)
                .count()
        };
        let Some((newest, old)) = self.sets.split_last_mut() else {
            return Ok(());
        };
        let all_running = running(newest) + old.iter().map(running).sum::<usize>();
        let old_alive: usize = old.iter().map(alive).sum();
        let wanted = self.replicas + usize::from(old_alive > 0);
        let surplus = if old_alive > 0 {
            old.iter_mut().find(|set| alive(set) > 0)
        } else {
            (alive(newest) > self.replicas).then_some(newest)
        };
        if let Some(set) = surplus.filter(|_| all_running > self.replicas)
            && let Some(member) = set.pods.iter_mut().find(|member| member.life == Life::Running)
        {
            member.terminate(server)?;
        }
        let newest_alive = self.sets.last().map_or(0, alive);
        if newest_alive < self.replicas && newest_alive + old_alive < wanted {
            self.add_pod(server, random)?;
        }
        // One old replica set stays, to go back to.
        while self.sets.len() > 2 && self.sets[0].pods.is_empty() {
            server.delete(&self.sets.remove(0).object)?;
        }
        Ok(())
    }

    fn add_set(&mut self, server: &ApiServer, random: &mut Random) -> Result<(), ApiError> {
        let object = server.create(&objects::replica_set(&self.deployment, &random.suffix(8)))?;
        self.sets.push(Set {
            object,
            pods: Vec::new(),
        });
        Ok(())
    }

    /// Adds a pod to the newest set.
    fn add_pod(&mut self, server: &ApiServer, random: &mut Random) -> Result<(), ApiError> {
        let Some(set) = self.sets.last_mut() else {
            return Ok(());
        };
        set.pods.push(Member {
            pod: server.create(&objects::pod(&set.object, &random.suffix(5)))?,
            life: Life::Unscheduled,
        });
        Ok(())
    }

    /// Writes the numbers into the deployment and its replica sets. A write that changes nothing makes no event.
    fn report(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        let (mut pods, mut ready) = (0, 0);
        for set in &mut self.sets {
            let running = set.pods.iter().filter(|member| member.life == Life::Running);
            let running = running.count();
            pods += set.pods.len();
            ready += running;
            objects::set_replica_set_status(&mut set.object, set.pods.len(), running);
            set.object = server.update(&set.object)?;
        }
        let updated = self.newest_len();
        objects::set_deployment_status(&mut self.deployment, pods, ready, updated);
        self.deployment = server.update(&self.deployment)?;
        Ok(())
    }
}

impl Member {
    fn change(&mut self, server: &ApiServer, change: impl FnOnce(&mut Pod)) -> Result<(), ApiError> {
        change(&mut self.pod);
        self.pod = server.update(&self.pod)?;
        Ok(())
    }

    fn terminate(&mut self, server: &ApiServer) -> Result<(), ApiError> {
        server.delete(&self.pod)?;
        self.life = Life::Terminating;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
