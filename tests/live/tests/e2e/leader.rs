//! Elections on the real server: leaders that are stopped, killed and cut off.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::leader::{LeaderElection, LostReason};
use informer_live::ADMIN;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::support::{BOUND, Room, eventually, shared};
use crate::wire::Wire;

/// A process that campaigns; see `src/candidate.rs`.
pub(crate) struct Candidate {
    pub(crate) process: Child,
    events: Arc<Mutex<Vec<(u64, String)>>>,
}

impl Candidate {
    pub(crate) fn start(kubeconfig: &std::path::Path, room: &Room, identity: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_informer-live"));
        command
            .arg("campaign")
            .arg(kubeconfig)
            .args([&room.name, identity]);
        Self::spawn(command)
    }

    /// Starts a program that prints the events of a candidate.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (lines, seen) = (BufReader::new(process.stdout.take().unwrap()), events.clone());
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let (at, event) = line.split_once(' ').unwrap();
                seen.lock().unwrap().push((at.parse().unwrap(), event.to_owned()));
            }
        });
        Self { process, events }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).unwrap();
    }

    /// The number of acts as the leader.
    pub(crate) fn acts(&self) -> usize {
        let events = self.events.lock().unwrap();
        events.iter().filter(|(_, event)| event == "acts").count()
    }

    /// The first and the last act.
    pub(crate) fn term(&self) -> (u64, u64) {
        let events = self.events.lock().unwrap();
        let mut acts = events
            .iter()
            .filter(|(_, event)| event == "acts")
            .map(|(at, _)| *at);
        let first = acts.next().unwrap();
        (first, acts.next_back().unwrap_or(first))
    }

    pub(crate) fn last_event(&self) -> String {
        let events = self.events.lock().unwrap();
        events.last().map(|(_, event)| event.clone()).unwrap_or_default()
    }

    pub(crate) async fn ends(&mut self) {
        eventually(async || match self.process.try_wait().unwrap() {
            Some(_) => Ok(()),
            None => Err("the process runs".to_owned()),
        })
        .await;
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

/// Waits for an act of a candidate other than those in `past`, and returns its index.
async fn next_leader(candidates: &[Candidate], past: &[usize]) -> usize {
    let mut found = None;
    eventually(async || {
        found = (0..candidates.len()).find(|index| !past.contains(index) && candidates[*index].acts() > 0);
        found.map(|_| ()).ok_or_else(|| "no new leader".to_owned())
    })
    .await;
    found.unwrap()
}

async fn holder(room: &Room) -> String {
    let leases: Api<Lease> = Api::namespaced(room.client(), &room.name);
    let lease = leases.get("lock").await.unwrap();
    lease
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_or_killed_leader_is_replaced_and_never_acts_beside_another() {
    let cluster = shared().await;
    let room = Room::new(cluster, "leader").await;
    let kubeconfig = cluster.kubeconfig().unwrap();
    let start = |identity: &str| Candidate::start(&kubeconfig, &room, identity);
    let mut candidates = [start("a"), start("b"), start("c")];

    let first = next_leader(&candidates, &[]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    candidates[first].signal(Signal::STOP);
    let second = next_leader(&candidates, &[first]).await;
    candidates[first].signal(Signal::CONT);
    candidates[first].ends().await;
    assert_eq!(candidates[first].last_event(), "lost");

    candidates[second].signal(Signal::KILL);
    let third = next_leader(&candidates, &[first, second]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(candidates[third].process.stdin.take());
    candidates[third].ends().await;
    assert_eq!(holder(&room).await, "", "it was released");

    let terms: Vec<_> = [first, second, third]
        .map(|index| candidates[index].term())
        .into();
    for pair in terms.windows(2) {
        assert!(pair[0].1 < pair[1].0, "two leaders at once: {terms:?}");
    }
    println!("first and last act of each leader: {terms:?}");
}

fn candidate(client: Client, room: &Room, identity: &str) -> LeaderElection {
    LeaderElection::new(client, &room.name, "lock")
        .identity(identity)
        .lease_duration(Duration::from_secs(4))
        .renew_deadline(Duration::from_secs(3))
        .retry_period(Duration::from_secs(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_stops_before_another_leads() {
    let cluster = shared().await;
    let room = Room::new(cluster, "cut").await;
    let wire = Wire::to(cluster).await;
    let leader = candidate(wire.client_as(cluster, ADMIN), &room, "a");
    let leadership = leader.campaign(CancellationToken::new()).await.unwrap();
    let other = candidate(room.client(), &room, "b");
    let mut campaign = tokio::spawn(other.campaign(CancellationToken::new()));
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(leadership.is_valid() && !campaign.is_finished());
    assert_eq!(other.status().leader.as_deref(), Some("a"));

    wire.cut();
    let successor = tokio::time::timeout(BOUND, &mut campaign).await.unwrap();
    assert!(!leadership.is_valid(), "two leaders at once");
    assert!(matches!(
        leadership.lost().await.reason,
        LostReason::Expired { .. }
    ));
    let successor = successor.unwrap().unwrap();
    assert!(successor.is_valid());
    wire.reconnect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(successor.is_valid() && !leadership.is_valid());
    successor.resign().await;
    assert_eq!(holder(&room).await, "");
}

/// The Lease is valid for the real server, field by field.
#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_accepts_every_write() {
    let room = Room::new(shared().await, "lease").await;
    let leadership = candidate(room.client(), &room, "a")
        .campaign(CancellationToken::new())
        .await
        .unwrap();
    let leases: Api<Lease> = Api::namespaced(room.client(), &room.name);
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!(spec.lease_transitions, Some(0));
    assert_eq!(spec.lease_duration_seconds, Some(4));
    let acquired = spec.acquire_time.unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!(spec.acquire_time.as_ref(), Some(&acquired));
    assert!(spec.renew_time.unwrap() > acquired);
    leadership.resign().await;
    let spec = leases.get("lock").await.unwrap().spec.unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
        (Some(""), Some(1))
    );
}
