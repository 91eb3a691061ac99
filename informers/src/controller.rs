//! Controllers: reconcile objects after every change, in one process or in several with one leader.
//!
//! A [`Controller`] collects the keys of objects that changed, and calls a reconciler for each, never two at
//! once for one key. A [`Manager`] starts the caches, waits for them, campaigns for the leadership if asked
//! to, runs the controllers, and stops everything in order:
//!
//! ```no_run
//! # #[cfg(feature = "apps")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use informers::SharedInformerFactory;
//! use informers::controller::{Action, Controller, LeaderElection, Manager, Request, terminated};
//! use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
//!
//! let client = informers::client::try_default().await?;
//! let factory = SharedInformerFactory::new(client.clone());
//! let deployments = factory.apps().v1().deployments();
//! let replica_sets = factory.apps().v1().replica_sets();
//!
//! let controller = Controller::new("rollouts", &deployments.informer())
//!     .owns(&replica_sets.informer())
//!     .workers(4)
//!     .build()?;
//!
//! let owned = replica_sets.lister();
//! let reconcile = move |request: Request<Deployment>| {
//!     let owned = owned.clone();
//!     async move {
//!         let Some(deployment) = request.object() else {
//!             return Ok::<_, kube::Error>(Action::await_change()); // it was deleted
//!         };
//!         println!("{}: {} replica sets", request.key(), owned.owned_by(&*deployment).len());
//!         Ok(Action::requeue(Duration::from_secs(300)))
//!     }
//! };
//!
//! Manager::new(factory)
//!     .controller(controller, reconcile)
//!     .leader_election(LeaderElection::new(client, "operators", "rollouts"))
//!     .run_until(terminated())
//!     .await?;
//! # Ok(())
//! # }
//! ```

mod health;
mod manager;
mod signal;

pub use health::{Health, NotHealthy, Phase};
pub use informer_core::controller::{
    Action, Change, Controller, ControllerBuildError, ControllerBuilder, ControllerStatus, FailedReconcile,
    FailingKey, NotReady, OwnerKind, Predicate, ReconcileError, Request, Run, RunningKey, Stopped, Totals,
    WaitingKey, controller_of,
};
pub use informer_core::leader::{LeaderElection, LeaderElectionError, Leadership, LeadershipLost};
pub use manager::{Finished, Manager, ManagerError};
pub use signal::terminated;
