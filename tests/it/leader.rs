//! Leader election on the embedded server, with the paused clock.

mod acquire;
mod candidates;
mod clocks;
mod lost;
mod release;
mod requests;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use informer_core::leader::{Clock, LeaderElection, Leadership};
use informer_testing::ApiServer;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) async fn sleep(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

/// A candidate for the lease `default/lock`, with the default periods.
pub(crate) fn candidate(server: &ApiServer, identity: &str) -> LeaderElection {
    LeaderElection::new(server.client(), "default", "lock")
        .identity(identity)
        .seed(7)
        .clock(TestClock::default())
}

/// Waits until the candidate leads.
pub(crate) async fn lead(election: &LeaderElection) -> Leadership {
    let campaign = election.campaign(CancellationToken::new());
    let leadership = tokio::time::timeout(seconds(600), campaign).await;
    leadership.unwrap().unwrap()
}

/// Waits until the candidate leads; returns how long it took, too.
pub(crate) async fn lead_after(election: &LeaderElection) -> (Leadership, f64) {
    let start = Instant::now();
    let leadership = lead(election).await;
    (leadership, start.elapsed().as_secs_f64())
}

/// The spec of the lease.
pub(crate) fn spec(server: &ApiServer) -> Value {
    let leases = server.objects::<k8s_openapi::api::coordination::v1::Lease>();
    match leases.first() {
        Some(lease) => serde_json::to_value(&lease.spec).unwrap(),
        None => Value::Null,
    }
}

pub(crate) fn holder(server: &ApiServer) -> String {
    spec(server)["holderIdentity"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// A Lease with this spec.
pub(crate) fn lease(spec: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "lock", "namespace": "default" },
        "spec": spec,
    })
}

/// A lease of a program that is not ours and does not renew it.
pub(crate) fn foreign(renewed: &str) -> Value {
    lease(&json!({
        "holderIdentity": "foreign", "leaseDurationSeconds": 15, "leaseTransitions": 4,
        "acquireTime": renewed, "renewTime": renewed,
    }))
}

/// The clock of one process: runs at `rate` times tokio's clock. Clones share it.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<Hands>>);

struct Hands {
    start: Instant,
    rate: f64,
    /// How far the wall clock was set ahead or back.
    ahead: f64,
    /// Since when the machine is suspended, and how long it was before.
    suspended_at: Option<f64>,
    suspended: f64,
    /// For how long the machine was suspended without any timer of the test.
    unseen: f64,
}

impl Default for TestClock {
    fn default() -> Self {
        Self::with_rate(1.0)
    }
}

impl TestClock {
    pub(crate) fn with_rate(rate: f64) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            start: Instant::now(),
            rate,
            ahead: 0.0,
            suspended_at: None,
            suspended: 0.0,
            unseen: 0.0,
        })))
    }

    /// Sets the wall clock ahead or back.
    pub(crate) fn set_wall(&self, seconds: f64) {
        self.0.lock().unwrap().ahead += seconds;
    }

    /// Suspends the machine and resumes it, at one instant of the test.
    pub(crate) fn suspend_for(&self, seconds: f64) {
        self.0.lock().unwrap().unseen += seconds;
    }

    /// Suspends the machine: the monotonic clock stands still, the wall clock does not.
    pub(crate) fn suspend(&self) {
        let mut hands = self.0.lock().unwrap();
        hands.suspended_at = Some(hands.running());
    }

    pub(crate) fn resume(&self) {
        let mut hands = self.0.lock().unwrap();
        if let Some(at) = hands.suspended_at.take() {
            hands.suspended += hands.running() - at;
        }
    }
}

impl Hands {
    fn running(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * self.rate
    }
}

impl Clock for TestClock {
    fn monotonic(&self) -> Duration {
        let hands = self.0.lock().unwrap();
        let running = hands.suspended_at.unwrap_or_else(|| hands.running());
        Duration::from_secs_f64(running - hands.suspended)
    }

    fn wall(&self) -> SystemTime {
        let hands = self.0.lock().unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(1e9 + hands.running() + hands.unseen + hands.ahead)
    }

    fn uptime(&self) -> Duration {
        let hands = self.0.lock().unwrap();
        Duration::from_secs_f64(hands.running() + hands.unseen)
    }

    fn timer(&self, duration: Duration) -> Duration {
        duration.div_f64(self.0.lock().unwrap().rate)
    }
}
