//! Leader election on Leases, by the rules of client-go.
//!
//! Several replicas of a program campaign for one Lease; one of them leads, and the others wait. Programs
//! written with client-go can share the Lease.
//!
//! ```no_run
//! # async fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use informer_core::leader::LeaderElection;
//! use tokio_util::sync::CancellationToken;
//!
//! let stop = CancellationToken::new();
//! let election = LeaderElection::new(client, "operators", "website-operator");
//! election.validate()?;
//! let Some(leadership) = election.campaign(stop.clone()).await else {
//!     return Ok(()); // Stopped before this process became the leader.
//! };
//! // The future is dropped when the leadership is lost.
//! leadership.guard(reconcile_until(stop)).await?;
//! leadership.resign().await;
//! # Ok(())
//! # }
//! # async fn reconcile_until(_: tokio_util::sync::CancellationToken) {}
//! ```
//!
//! # Rules
//!
//! - A candidate takes the lease of another process only if it saw no renewal for the whole duration of the
//!   lease, by its own monotonic clock. The times in the lease are written for people and never compared.
//! - A leader trusts its lease for `renew_deadline`, counted from the *start* of the last successful request.
//!   That is shorter than the duration of the lease by more than the factor `clock_drift`, so it stops before
//!   any candidate can take the lease, even if the rates of their clocks differ.
//! - A leader that was stopped or suspended notices it before it continues; see [`Leadership::guard`].
//!
//! The permissions: `get`, `create` and `update` on `leases` in the group `coordination.k8s.io`.
//!
//! # For users of client-go
//!
//! | client-go | here |
//! |---|---|
//! | `LeaderElectionConfig`, `NewLeaderElector` | [`LeaderElection::new`], [`validate`](LeaderElection::validate) |
//! | `Run`, `RunOrDie`, `OnStartedLeading` | [`campaign`](LeaderElection::campaign), which returns a [`Leadership`] |
//! | the context of `OnStartedLeading` | [`Leadership::token`], [`Leadership::guard`] |
//! | `OnStoppedLeading` | [`Leadership::lost`] |
//! | `OnNewLeader`, `GetLeader` | [`observe`](LeaderElection::observe), [`status`](LeaderElection::status) |
//! | `IsLeader`, `Check` | [`Leadership::is_valid`] |
//! | `ReleaseOnCancel` | [`Leadership::resign`], the default; [`keep_lease_on_exit`](LeaderElection::keep_lease_on_exit) |

mod campaign;
mod clock;
mod elector;
mod error;
mod identity;
mod leadership;
mod lease;
mod lock;
mod options;
mod renewal;
mod status;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use clock::Clock;
use clock::SystemClock;
use elector::Elector;
pub use error::LeaseError;
pub use leadership::{Leadership, LeadershipLost, LostReason};
use lock::LeaseLock;
pub use options::LeaderElectionError;
use options::{OnExit, Options};
pub use status::{LeaderStatus, LeaderWatch};

/// A candidate for the leadership that a Lease represents. See the [module](self) for the rules.
///
/// Clones share one identity, one status and one turn: at most one of them leads at a time.
#[derive(Clone)]
pub struct LeaderElection {
    client: kube::Client,
    namespace: String,
    name: String,
    options: Options,
    clock: Arc<dyn Clock>,
    status: watch::Sender<LeaderStatus>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl LeaderElection {
    /// Creates a candidate for the Lease `name` in `namespace`. The Lease is created if it does not exist;
    /// the namespace must exist.
    pub fn new(client: kube::Client, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            name: name.into(),
            options: Options::new(identity::unique()),
            clock: Arc::new(SystemClock::default()),
            status: watch::Sender::default(),
            turn: Arc::default(),
        }
    }

    /// Sets the identity. Default: the variable `POD_NAME` or the host's name, `_`, and 16 random hex digits.
    ///
    /// It must be unique for each running process: two processes with one identity both lead.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.options.identity = identity.into();
        self
    }

    /// Sets how long candidates wait after the last renewal they saw. Default: 15 s. Written to the Lease in
    /// whole seconds, rounded up.
    ///
    /// This bounds the time without a leader after one has crashed, plus the retry period of a candidate.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.options.lease_duration = duration;
        self
    }

    /// Sets how long a leader trusts its lease without renewing it. Default: 10 s.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.options.renew_deadline = deadline;
        self
    }

    /// Sets the time between attempts. Default: 2 s. Candidates add up to 1.2 times as much at random.
    ///
    /// It is also the time limit of a request, at least 1 s.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.options.retry_period = period;
        self
    }

    /// Sets the largest ratio between the rates of two machines' clocks. Default: 1.1, which means that one
    /// clock may count 11 s while another counts 10 s.
    pub fn clock_drift(mut self, ratio: f64) -> Self {
        self.options.clock_drift = ratio;
        self
    }

    /// Keeps the lease when the leader resigns. Default: it is released, and another candidate takes it at
    /// once.
    ///
    /// Useful if a restarted process has the same identity and should continue without a change of leaders.
    pub fn keep_lease_on_exit(mut self) -> Self {
        self.options.on_exit = OnExit::Keep;
        self
    }

    /// Sets the seed of the random delays. Default: random. For reproducible tests.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = Some(seed);
        self
    }

    /// Sets the clock of this process. Default: tokio's clock and those of the system. For tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Checks the options.
    ///
    /// # Errors
    /// If a name or the identity is empty, a period is shorter than 1 s, `lease_duration` does not exceed
    /// `clock_drift` times `renew_deadline`, or `renew_deadline` does not exceed 1.2 times `retry_period`.
    pub fn validate(&self) -> Result<(), LeaderElectionError> {
        self.options.check(&self.namespace, &self.name)
    }

    /// Waits until this process leads. Returns `None` if `stop` is cancelled first.
    ///
    /// Failed requests are retried for ever; [`status`](Self::status) has the last error, and the log has
    /// each change. With options that [`validate`](Self::validate) refuses, it logs the error and returns
    /// `None`.
    ///
    /// While a leadership of the same election (or of a clone) lasts, this waits for its end.
    ///
    /// If this future is dropped during a request, the lease may have been taken; it then expires by itself.
    /// Cancelling `stop` instead releases it. Must be awaited within a tokio runtime.
    pub fn campaign(
        &self,
        stop: CancellationToken,
    ) -> impl Future<Output = Option<Leadership>> + Send + 'static + use<> {
        campaign::run(self.clone(), stop)
    }

    /// Returns who leads, as last observed by a campaign or leadership of this election.
    pub fn status(&self) -> LeaderStatus {
        self.status.borrow().clone()
    }

    /// Returns a watch for changes of the [`status`](Self::status): a new leader, an error, its end.
    pub fn observe(&self) -> LeaderWatch {
        LeaderWatch::new(self.status.subscribe())
    }

    /// The namespace of the Lease.
    pub fn lease_namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the Lease.
    pub fn lease_name(&self) -> &str {
        &self.name
    }

    /// Returns a function that reads the status for metrics. It does not keep the election alive, and returns
    /// `None` once the last handle and its leadership were dropped. The lease is `namespace/name`.
    #[cfg(feature = "metrics")]
    pub fn metrics(&self) -> impl Fn() -> Option<(String, LeaderStatus)> + Send + Sync + 'static {
        let (lease, status) = (self.describe(), self.status.subscribe());
        move || {
            status.has_changed().ok()?;
            Some((lease.clone(), status.borrow().clone()))
        }
    }

    /// The lease: `namespace/name`.
    fn describe(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn elector(&self) -> Elector {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        let lock = LeaseLock::new(self.client.clone(), self.clock.clone(), namespace, name);
        Elector::new(
            self.options.clone(),
            self.clock.clone(),
            lock,
            self.status.clone(),
        )
    }
}

impl fmt::Debug for LeaderElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElection")
            .field("lease", &self.describe())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
