//! One Lease shared by our candidates and client-go's: each takes over from the other.
//!
//! Where there is no Go, `cargo xtask e2e` reports that it leaves out this module.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use informer_live::{ADMIN, Cluster};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use rustix::process::Signal;

use crate::differential::client_go;
use crate::leader::Candidate;
use crate::support::{Room, eventually, shared};

/// The shortest time in microseconds from the last act of a killed leader to the first of the next: the
/// duration of the lease less the time between two renewals, and a margin.
const EXPIRY: u64 = 2_500_000;

/// How a leader ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Released,
    Killed,
}

fn start_client_go(program: &Path, cluster: &Cluster, room: &Room, identity: &str) -> Candidate {
    let config = cluster.config_as(ADMIN).unwrap();
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig().unwrap()).unwrap();
    let kubeconfig: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
    let mut command = Command::new(program);
    command
        .args(["-url", config.cluster_url.to_string().trim_end_matches('/')])
        .args(["-namespace", &room.name, "-identity", identity])
        .env("TOKEN", kubeconfig["users"][0]["user"]["token"].as_str().unwrap())
        .env(
            "CA_DATA",
            kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
                .as_str()
                .unwrap(),
        );
    Candidate::spawn(command)
}

async fn acts(candidate: &Candidate, name: &str) {
    eventually(async || match candidate.acts() {
        0 => Err(format!("{name} does not lead")),
        _ => Ok(()),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_candidates_and_those_of_client_go_take_over_from_each_other() {
    let program = client_go().await;
    let cluster = shared().await;
    let room = Room::new(cluster, "shared-lease").await;
    let kubeconfig = cluster.kubeconfig().unwrap();
    let start = |identity: &str| match identity.starts_with("go") {
        true => start_client_go(program, cluster, &room, identity),
        false => Candidate::start(&kubeconfig, &room, identity),
    };

    let mut leader = start("go-1");
    acts(&leader, "go-1").await;
    for (next, end) in [
        ("ours-1", End::Released),
        ("go-2", End::Released),
        ("ours-2", End::Killed),
        ("go-3", End::Killed),
    ] {
        let follower = start(next);
        // Longer than the lease: the leader renews it, and the follower waits.
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(follower.acts(), 0, "{next} acts beside the leader");
        match end {
            End::Released => drop(leader.process.stdin.take()),
            End::Killed => leader.signal(Signal::KILL),
        }
        leader.ends().await;
        acts(&follower, next).await;
        let (ended, began) = (leader.term().1, follower.term().0);
        assert!(
            ended < began,
            "{next} began at {began}, and the leader acted at {ended}"
        );
        match end {
            End::Released => assert_eq!(leader.last_event(), "resigned"),
            End::Killed => assert!(began - ended > EXPIRY, "{next} began {} us later", began - ended),
        }
        println!(
            "{next} took over {} ms after the last act",
            (began - ended) / 1_000
        );
        leader = follower;
    }
    let leases: Api<Lease> = Api::namespaced(room.client(), &room.name);
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("go-3"));
    assert_eq!(spec.lease_transitions, Some(4));
}
