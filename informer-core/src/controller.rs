//! Controllers: from a change in a cache to a finished reconcile of its key.
//!
//! Informers put keys into a [work queue](crate::workqueue), workers take them out and call the reconciler.
//! Data flows one way: event, predicate, mapping, queue, worker, outcome, queue.

mod builder;
mod error;
mod outcome;
mod owner;
mod predicate;
mod request;
mod runner;
mod status;
mod trigger;
mod weak;
mod worker;
mod writes;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use builder::ControllerBuilder;
pub use error::{ControllerBuildError, FailedReconcile, NotReady, ReconcileError};
pub use outcome::Action;
pub use owner::OwnerKind;
pub use predicate::{Change, Predicate};
pub use request::Request;
pub use runner::{Run, Stopped};
#[cfg(feature = "metrics")]
pub use status::ControllerMetrics;
pub use status::{ControllerStatus, FailingKey, RunningKey, Totals, WaitingKey};
pub use weak::WeakController;

use crate::informer::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
pub use crate::object::controller_of;
use crate::processor::Registration;
use crate::sync::Mutex;
use crate::workqueue::{Priority, WorkQueue};
use builder::Options;
use status::Book;
use trigger::Trigger;

/// How long after its time limit a reconcile counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Reconciles the objects of one kind: one key at a time per worker, again after every change.
///
/// A `Controller` is a handle; clones share everything. It collects keys from the moment it is built, and
/// reconciles them while it runs: usually in a `Manager` of the crate `informers`, or by [`run`](Self::run).
///
/// ```no_run
/// # use std::sync::Arc;
/// # use informer_core::SharedInformer;
/// # use informer_core::controller::{Action, Controller, Request, Run};
/// # use k8s_openapi::api::apps::v1::Deployment;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(
/// #     deployments: SharedInformer<Deployment>,
/// #     config_maps: SharedInformer<ConfigMap>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// async fn reconcile(request: Request<ConfigMap>) -> Result<Action, std::io::Error> {
///     let Some(config_map) = request.object() else {
///         return Ok(Action::await_change()); // deleted
///     };
///     // read caches, write to the server
///     Ok(Action::await_change())
/// }
///
/// let controller = Controller::new("settings", &config_maps)
///     .owns(&deployments)
///     .workers(4)
///     .build()?;
/// controller.synced().await?;
/// controller.run(reconcile, Run::default()).await;
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
///
/// - C1: no key is reconciled by two workers at once.
/// - C2: every change that passes the predicates and is committed to a cache after a reconcile of its key
///   began leads to another reconcile of that key.
/// - C3: a failed reconcile is retried with growing, bounded delays; a success resets them.
/// - C4: after the stop no reconcile starts; running ones finish or are cancelled at the deadline; the keys
///   that were not reconciled are reported ([`Stopped`]).
/// - C5: after [`Request::wrote`], no reconcile of that key runs on a cache older than that write, unless the
///   server itself was rewound. A write that does not appear delays the key by a bounded time, and is
///   reported. If the written object was deleted since, the key is reconciled again, also if the cache never
///   had the object.
/// - C6: with a [`Leadership`](crate::leader::Leadership), no reconcile starts or continues unless, by the
///   clock of this process, the lease cannot have been taken by another.
/// - C7: keys of low priority (initial state, resyncs) wait a bounded time behind fresh changes.
pub struct Controller<K: Object> {
    shared: Arc<ControllerShared<K>>,
}

struct ControllerShared<K: Object> {
    name: Arc<str>,
    primary: SharedInformer<K>,
    queue: WorkQueue<ObjectKey>,
    options: Options,
    book: Arc<Mutex<Book>>,
    registrations: Vec<Registration>,
    /// Taken by the first run.
    triggers: Mutex<Vec<Trigger>>,
}

impl<K: Object> Drop for ControllerShared<K> {
    fn drop(&mut self) {
        // The informers outlive the controller and would fill a queue that nobody reads.
        for registration in &self.registrations {
            drop(registration.remove());
        }
    }
}

impl<K: Object> Controller<K> {
    /// Returns a builder for a controller of the objects of `primary`. The name appears in logs, spans and
    /// status.
    #[allow(
        clippy::new_ret_no_self,
        reason = "the builder is how every controller is created"
    )]
    pub fn new(name: impl Into<String>, primary: &SharedInformer<K>) -> ControllerBuilder<K>
    where
        K::DynamicType: Default,
    {
        ControllerBuilder::new(
            name.into(),
            primary,
            OwnerKind::of::<K>(&K::DynamicType::default()),
        )
    }

    /// Like [`new`](Self::new), for a kind that is known only at run time.
    #[allow(
        clippy::new_ret_no_self,
        reason = "the builder is how every controller is created"
    )]
    pub fn new_with(
        name: impl Into<String>,
        primary: &SharedInformer<K>,
        dynamic_type: &K::DynamicType,
    ) -> ControllerBuilder<K> {
        ControllerBuilder::new(name.into(), primary, OwnerKind::of::<K>(dynamic_type))
    }

    /// The name of the controller.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Reconciles a key, in addition to the changes: for events from outside the cluster.
    pub fn reconcile(&self, key: ObjectKey) {
        self.shared.queue.add(key);
    }

    /// Reconciles every object in the cache, at low priority.
    pub fn reconcile_all(&self) {
        for key in self.shared.primary.indexer().keys() {
            self.shared.queue.add_with(key, Priority::Low);
        }
    }

    /// Waits until all caches of this controller have their initial state, and the queue has their keys.
    ///
    /// It has no time limit. A factory's `wait_for_sync` gives the reason why an informer does not sync.
    ///
    /// # Errors
    /// [`NotReady`] if an informer stops first.
    pub async fn synced(&self) -> Result<(), NotReady> {
        for registration in &self.shared.registrations {
            registration.synced().await.map_err(|reason| NotReady {
                controller: self.name().to_owned(),
                handler: registration.status().name,
                reason,
            })?;
        }
        Ok(())
    }

    /// Returns what the controller is doing: queue, running keys, failing keys, totals.
    pub fn status(&self) -> ControllerStatus {
        let queue = self.shared.queue.status();
        self.shared.book.lock().status(&self.shared.name, queue)
    }

    /// Returns a handle that shows the status and does not keep the controller alive.
    pub fn downgrade(&self) -> WeakController {
        WeakController::new(&self.shared)
    }

    /// Returns a key whose reconcile has not ended although its time limit passed a minute ago: it blocks its
    /// thread, and cannot be cancelled.
    pub fn stuck(&self) -> Option<RunningKey> {
        self.downgrade().stuck()
    }

    /// Runs the workers until `run.stop` is cancelled, and returns what was left. A controller runs once: its
    /// queue is shut down at the end.
    ///
    /// The future can be dropped: running reconciles are dropped with it.
    pub async fn run<R, F, E>(&self, reconcile: R, run: Run) -> Stopped
    where
        R: Fn(Request<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        runner::run(&self.shared, Arc::new(reconcile), run).await
    }
}

impl<K: Object> Clone for Controller<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K: Object> fmt::Debug for Controller<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.shared.name)
            .field("primary", &self.shared.primary)
            .finish_non_exhaustive()
    }
}
