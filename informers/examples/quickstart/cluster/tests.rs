//! The little cluster keeps the rules of a real one, whatever chance decides.

use std::collections::BTreeSet;

use super::super::shared::pod::{node, phase};
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
        let wanted: usize = DEPLOYMENTS.iter().map(|(_, _, replicas)| replicas).sum();
        assert_eq!(pods.len(), wanted);
        for pod in pods {
            assert_eq!(phase(pod), "Running");
            assert!(node(pod).is_some_and(|node| NODES.contains(&node)));
        }
    });
}

#[tokio::test]
async fn pods_come_and_go_through_every_phase() {
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
async fn a_rollout_keeps_its_deployment_at_size() {
    for seed in 0..3 {
        check(seed, 60, |pods, cluster| {
            let most: usize = cluster.workloads.iter().map(|workload| workload.replicas).sum();
            let alive = pods.iter().filter(|pod| phase(pod) != "Terminating").count();
            // A rollout has one pod more; a deployment that has just shrunk has not let go of it yet.
            assert!(alive <= most + 2 * cluster.workloads.len(), "{alive} of {most}");
            for workload in &cluster.workloads {
                assert!((FEWEST_REPLICAS..=MOST_REPLICAS).contains(&workload.replicas));
                assert!(workload.sets.len() <= 3, "old replica sets are deleted");
            }
        });
    }
}

#[tokio::test]
async fn the_same_seed_gives_the_same_cluster() {
    let story = |seed| {
        let mut story = Vec::new();
        check(seed, 50, |pods, _| {
            story.extend(
                pods.iter()
                    .map(|pod| (pod.metadata.name.clone(), phase(pod).to_owned())),
            );
        });
        story
    };
    assert_eq!(story(7), story(7));
    assert_ne!(story(7), story(8));
}

#[tokio::test]
async fn every_deployment_settles_and_is_disturbed_again() {
    let mut settled = vec![0; DEPLOYMENTS.len()];
    let mut busy = vec![0; DEPLOYMENTS.len()];
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
