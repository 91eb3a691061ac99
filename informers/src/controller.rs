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
//!
//! # Tests
//!
//! With the crate `informer-testing` a test of a controller is ten lines. The clock is tokio's, paused, so
//! that retries and leases take no time:
//!
//! ```
//! # #[cfg(feature = "core")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use informer_testing::ApiServer;
//! # use informers::SharedInformerFactory;
//! # use informers::controller::{Action, Controller, Manager, Request};
//! # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! # use serde_json::json;
//! # fn manager(client: kube::Client) -> Result<Manager, Box<dyn std::error::Error>> {
//! #     let factory = SharedInformerFactory::new(client.clone());
//! #     let secrets = factory.core().v1().secrets().informer();
//! #     let maps = factory.core().v1().config_maps().informer();
//! #     let controller = Controller::new("maps", &maps).owns(&secrets).build()?;
//! #     let reconcile = move |request: Request<ConfigMap>| {
//! #         let (secrets, client) = (secrets.clone(), client.clone());
//! #         async move {
//! #             let Some(map) = request.object() else { return Ok(Action::await_change()) };
//! #             if secrets.indexer().owned_by(&*map).is_empty() {
//! #                 let mut secret = Secret::default();
//! #                 secret.metadata.name = map.metadata.name.clone();
//! #                 secret.metadata.owner_references =
//! #                     kube::Resource::controller_owner_ref(&*map, &()).map(|owner| vec![owner]);
//! #                 let api = kube::Api::default_namespaced(client);
//! #                 let made = api.create(&Default::default(), &secret).await?;
//! #                 request.wrote(&secrets, &made);
//! #             }
//! #             Ok::<_, kube::Error>(Action::await_change())
//! #         }
//! #     };
//! #     Ok(Manager::new(factory).controller(controller, reconcile))
//! # }
//! let server = ApiServer::start();
//! let manager = manager(server.client())?; // of the program under test: a Secret for each ConfigMap
//! let run = tokio::spawn(manager.run_until(std::future::pending()));
//!
//! server.create(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }))?;
//! let secrets = server.until(|secrets: &[Secret]| secrets.len() == 1).await?;
//! server.delete(&secrets[0])?;
//! server.until(|secrets: &[Secret]| secrets.len() == 1).await?; // it was created again
//! run.abort();
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "core"))]
//! # fn main() {}
//! ```

mod manager;
mod phase;
mod signal;

pub use informer_core::controller::{
    Action, Change, Controller, ControllerBuildError, ControllerBuilder, ControllerStatus, FailedReconcile,
    FailingKey, NotReady, OwnerKind, Predicate, ReconcileError, Request, Run, RunningKey, Stopped, Totals,
    WaitingKey, WeakController, controller_of,
};
pub use informer_core::leader::{LeaderElection, LeaderElectionError, Leadership, LeadershipLost};
pub use manager::{Finished, Manager, ManagerError};
pub use phase::Phase;
pub use signal::terminated;
