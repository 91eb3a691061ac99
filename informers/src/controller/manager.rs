//! The manager: starts caches, leadership and controllers in order, and stops them in reverse.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use informer_core::Object;
use informer_core::controller::{Action, Controller, NotReady, Request, Run, Stopped};
use informer_core::leader::{LeaderElection, LeaderElectionError, Leadership, LeadershipLost};
use informer_core::registry::SyncError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::phase::Phase;
use crate::SharedInformerFactory;
use crate::factory::UsedLease;
use crate::health::Health;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs controllers: caches first, then the leadership, then the workers; and stops them in reverse.
///
/// See the [module](super) for an example.
#[must_use = "a manager does nothing before `run_until`"]
pub struct Manager {
    factory: SharedInformerFactory,
    controllers: Vec<Managed>,
    election: Option<LeaderElection>,
    grace: Duration,
    phase: watch::Sender<Phase>,
}

/// A controller with its reconciler, without its type parameters.
struct Managed {
    name: String,
    synced: BoxFuture<Result<(), NotReady>>,
    run: Box<dyn FnOnce(Run) -> BoxFuture<Stopped> + Send>,
}

/// What a manager left when it was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// For each controller that ran, by name, the keys that were not reconciled.
    pub controllers: Vec<(String, Stopped)>,
}

/// Why a manager ended before it was stopped.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The caches do not sync.
    #[error("the controllers cannot start, because the caches are not in sync")]
    Sync(#[source] SyncError),
    /// The caches of a controller stopped.
    #[error("the controllers cannot start")]
    NotReady(#[source] NotReady),
    /// The options of the leader election are invalid.
    #[error("the leader election cannot start")]
    LeaderElection(#[source] LeaderElectionError),
    /// The leadership was lost. Running reconciles were cancelled. End the process and let it be restarted.
    #[error("the leadership was lost; end the process, so that it is restarted as a candidate")]
    LeadershipLost {
        /// Why it was lost.
        #[source]
        reason: LeadershipLost,
        /// The keys that were not reconciled.
        finished: Finished,
    },
}

informer_core::__debug_is_the_message!(ManagerError);

impl Manager {
    /// Creates a manager of the caches of a factory.
    pub fn new(factory: SharedInformerFactory) -> Self {
        Self {
            factory,
            controllers: Vec::new(),
            election: None,
            grace: Duration::from_secs(30),
            phase: watch::Sender::new(Phase::Created),
        }
    }

    /// Adds a controller and its reconciler: an async function, or a closure that returns a future.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use informers::controller::{Action, Controller, Manager, Request};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # struct Context;
    /// # fn example(manager: Manager, controller: Controller<ConfigMap>, context: Arc<Context>) {
    /// type Outcome = Result<Action, kube::Error>;
    ///
    /// async fn reconcile(request: Request<ConfigMap>, context: Arc<Context>) -> Outcome {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let manager = manager.controller(controller, move |request| reconcile(request, context.clone()));
    /// # }
    /// ```
    pub fn controller<K, R, F, E>(mut self, controller: Controller<K>, reconcile: R) -> Self
    where
        K: Object,
        R: Fn(Request<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let waiting = controller.clone();
        self.factory.track(controller.downgrade());
        self.controllers.push(Managed {
            name: controller.name().to_owned(),
            synced: Box::pin(async move { waiting.synced().await }),
            run: Box::new(move |run| Box::pin(async move { controller.run(reconcile, run).await })),
        });
        self
    }

    /// Runs the controllers only while this process holds a lease. The caches and queues are filled before
    /// it campaigns, so that a new leader works at once.
    pub fn leader_election(mut self, election: LeaderElection) -> Self {
        self.factory.uses_lease(UsedLease {
            namespace: election.lease_namespace().to_owned(),
            name: election.lease_name().to_owned(),
        });
        self.election = Some(election);
        self
    }

    /// Sets how long running reconciles may take after the stop, before they are cancelled. Default: 30
    /// seconds, which is also how long Kubernetes waits before it kills a Pod: set a shorter time, or a
    /// longer `terminationGracePeriodSeconds`.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Returns the health, for readiness and liveness probes: that of the
    /// [factory](SharedInformerFactory::health),
    /// and ready only while the controllers run or wait for the leadership.
    pub fn health(&self) -> Health {
        self.factory.health().of_manager(self.phase.subscribe())
    }

    /// Runs until `stop` is ready: starts the caches, waits for them, waits for the leadership, and starts
    /// the workers. Then it stops in reverse: no reconcile starts, running ones finish within the
    /// [grace period](Self::grace) or are cancelled, the lease is released, the caches stop.
    ///
    /// The future is `Send` and `'static`, so it can be spawned. Dropping it stops everything at once,
    /// without the release of the lease.
    ///
    /// # Errors
    /// [`ManagerError`] if the caches do not sync (as
    /// [`wait_for_sync`](SharedInformerFactory::wait_for_sync) reports it), or the leadership is lost.
    pub async fn run_until(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Finished, ManagerError> {
        let Self {
            factory,
            controllers,
            election,
            grace,
            phase,
        } = self;
        let stopped = CancellationToken::new();
        // Stops the workers when this future is dropped.
        let _guard = stopped.clone().drop_guard();
        let outcome = {
            let mut work = pin!(work(&factory, controllers, election, grace, &phase, &stopped));
            tokio::select! {
                biased;
                () = stop => {
                    phase.send_if_modified(|phase| {
                        std::mem::replace(phase, Phase::Stopping) != Phase::Stopping
                    });
                    stopped.cancel();
                    work.await
                }
                outcome = &mut work => outcome,
            }
        };
        if let Err(error) = factory.shutdown_timeout(grace).await {
            tracing::warn!(%error, "handlers were still busy when the manager ended");
        }
        phase.send_replace(Phase::Stopped);
        outcome
    }
}

async fn work(
    factory: &SharedInformerFactory,
    controllers: Vec<Managed>,
    election: Option<LeaderElection>,
    grace: Duration,
    phase: &watch::Sender<Phase>,
    stopped: &CancellationToken,
) -> Result<Finished, ManagerError> {
    if let Some(election) = &election {
        election.validate().map_err(ManagerError::LeaderElection)?;
    }
    phase.send_replace(Phase::Syncing);
    factory.start();
    let mut runs = Vec::new();
    let synced = async {
        factory.wait_for_sync().await.map_err(ManagerError::Sync)?;
        for managed in controllers {
            // Its informers may be from elsewhere.
            managed.synced.await.map_err(ManagerError::NotReady)?;
            runs.push((managed.name, managed.run));
        }
        Ok(())
    };
    let Some(synced) = stopped.run_until_cancelled(synced).await else {
        return Ok(Finished::default());
    };
    synced?;

    let leadership = match election {
        None => None,
        Some(election) => {
            phase.send_replace(Phase::Standby);
            match election.campaign(stopped.clone()).await {
                Some(leadership) => Some(leadership),
                None => return Ok(Finished::default()),
            }
        }
    };
    phase.send_replace(Phase::Running);
    let mut running = JoinSet::new();
    for (name, start) in runs {
        let mut run = Run::default().stop(stopped.clone()).grace(grace);
        run.leadership = leadership.clone();
        let end = start(run);
        running.spawn(async move { (name, end.await) });
    }
    let lost = tokio::select! {
        biased;
        reason = lost(leadership.as_ref()) => Some(reason),
        () = stopped.cancelled() => None,
    };
    stopped.cancel();
    let mut finished = Finished::default();
    while let Some(ended) = running.join_next().await {
        match ended {
            Ok(controller) => finished.controllers.push(controller),
            Err(error) => tracing::error!(%error, "a controller panicked"),
        }
    }
    finished.controllers.sort_by(|a, b| a.0.cmp(&b.0));
    match (lost, leadership) {
        (Some(reason), _) => Err(ManagerError::LeadershipLost { reason, finished }),
        (None, Some(leadership)) => {
            // A reconcile that did not end may still write: then the lease must expire by itself.
            let is_quiet = finished
                .controllers
                .iter()
                .all(|(_, stopped)| stopped.running.is_empty());
            match is_quiet {
                true => leadership.resign().await,
                false => tracing::warn!("the lease is not released, because a reconcile has not ended"),
            }
            Ok(finished)
        }
        (None, None) => Ok(finished),
    }
}

/// Waits for the loss of the leadership, for ever without one.
async fn lost(leadership: Option<&Leadership>) -> LeadershipLost {
    match leadership {
        Some(leadership) => leadership.lost().await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<_> = self.controllers.iter().map(|managed| &managed.name).collect();
        f.debug_struct("Manager")
            .field("controllers", &controllers)
            .finish_non_exhaustive()
    }
}
