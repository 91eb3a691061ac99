//! Readiness and liveness, for the probes of a Pod.
//!
//! ```no_run
//! # async fn example(factory: informers::SharedInformerFactory) {
//! // Answers /readyz and /livez on port 8080.
//! tokio::spawn(factory.health().serve(([0, 0, 0, 0], 8080)));
//! # }
//! ```
//!
//! ```yaml
//! readinessProbe: { httpGet: { path: /readyz, port: 8080 } }
//! livenessProbe: { httpGet: { path: /livez, port: 8080 } }
//! ```

mod server;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use informer_core::controller::WeakController;
use informer_core::registry::{NoProgress, NotCurrent, ProgressCheck, ProgressLimits};
use tokio::sync::watch;

use crate::controller::Phase;
use crate::factory::Inner;

/// The health of a factory or of a manager. A cheap handle; it does not keep the factory alive.
///
/// Programs with an HTTP server of their own call [`ready`](Self::ready) and [`live`](Self::live), and answer
/// 200 or 503 with the text of the error:
///
/// ```no_run
/// # fn example(factory: informers::SharedInformerFactory) {
/// let health = factory.health();
/// let (status, text) = match health.ready() {
///     Ok(()) => (200, "ok".to_owned()),
///     Err(error) => (503, error.to_string()),
/// };
/// # }
/// ```
///
/// Others spawn [`serve`](Self::serve). The texts contain names of resources and handlers, and errors of the
/// server; never the contents of an object.
#[derive(Clone)]
#[must_use = "a health answers only if it is asked or served"]
pub struct Health {
    factory: Weak<Inner>,
    phase: Option<watch::Receiver<Phase>>,
    max_age: Duration,
    limits: ProgressLimits,
    optional: Vec<String>,
    /// Shared by the clones: each check is compared with the ones before.
    progress: Arc<Mutex<ProgressCheck>>,
}

/// Why a probe fails.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NotHealthy {
    /// The manager is not in a phase in which it is ready or alive.
    #[error("the manager is not ready: {0}")]
    Phase(Phase),
    /// The caches are not in sync, or their data is too old.
    #[error("{0}")]
    Caches(NotCurrent),
    /// A task of an informer makes no progress.
    #[error("{0}")]
    Informer(NoProgress),
    /// A reconcile does not end, although its time limit has passed: it blocks its thread.
    #[error("a reconcile is stuck: {0}")]
    Stuck(String),
    /// The factory was dropped, and its informers with it.
    #[error("the factory was dropped, and its informers with it")]
    Dropped,
}

informer_core::__debug_is_the_message!(NotHealthy);

impl Health {
    pub(crate) fn new(factory: Weak<Inner>) -> Self {
        Self {
            factory,
            phase: None,
            max_age: Duration::from_secs(300),
            limits: ProgressLimits {
                stuck: Duration::from_secs(120),
                handler: None,
            },
            optional: Vec::new(),
            progress: Arc::default(),
        }
    }

    pub(crate) fn of_manager(mut self, phase: watch::Receiver<Phase>) -> Self {
        self.phase = Some(phase);
        self
    }

    /// Sets how old the data of a cache may be before this process is not ready. Default: 5 minutes.
    ///
    /// The data ages while an informer cannot follow the server: see
    /// [`ScopeStatus::age`](crate::status::ScopeStatus::age). While a watch is open it counts as current,
    /// however long nothing changes. A watch whose connection is dead ends after three minutes without a
    /// bookmark; a server without bookmarks is noticed when the watch exceeds its timeout, after 5 to 10.5
    /// minutes.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Sets how long an informer may make no progress, although changes wait, before this process is not
    /// live. Default: 2 minutes.
    pub fn stuck_after(mut self, time: Duration) -> Self {
        self.limits.stuck = time;
        self
    }

    /// Sets how long a handler may be inside one call before this process is not live. Default: no limit,
    /// because a handler that waits for an API server that is down would be restarted for nothing.
    pub fn handler_limit(mut self, time: Duration) -> Self {
        self.limits.handler = Some(time);
        self
    }

    /// Leaves a resource, such as `websites.example.com`, out of readiness: for kinds that may not be
    /// installed.
    pub fn optional(mut self, resource: impl Into<String>) -> Self {
        self.optional.push(resource.into());
        self
    }

    /// What the manager is doing; `None` for the health of a factory.
    pub fn phase(&self) -> Option<Phase> {
        self.phase.as_ref().map(|phase| *phase.borrow())
    }

    /// Whether this process can work: every informer is in sync, and no data is older than
    /// [`max_age`](Self::max_age). With a manager, it also runs or waits for the leadership: a replica that
    /// waits can take over at once.
    ///
    /// # Errors
    /// [`NotHealthy`] says why not.
    pub fn ready(&self) -> Result<(), NotHealthy> {
        match self.phase() {
            None | Some(Phase::Standby | Phase::Running) => {}
            Some(phase) => return Err(NotHealthy::Phase(phase)),
        }
        let factory = self.factory.upgrade().ok_or(NotHealthy::Dropped)?;
        let counts = |resource: &str| !self.optional.iter().any(|optional| optional == resource);
        match factory.registry.check_current(self.max_age, counts) {
            // A manager may run controllers of informers from elsewhere.
            Err(NotCurrent::NoInformers) if self.phase.is_some() || !self.optional.is_empty() => Ok(()),
            outcome => outcome.map_err(NotHealthy::Caches),
        }
    }

    /// Whether the tasks of this process make progress. Only then would a restart help: an API server that
    /// cannot be reached, refuses requests or sends nothing does not fail this, and neither does an informer
    /// that is not in sync.
    ///
    /// It compares with the call before, so call it regularly, as a probe does.
    ///
    /// # Errors
    /// [`NotHealthy`] says why a restart would help: an informer ended although nobody stopped it, changes
    /// wait and none was committed for [two minutes](Self::stuck_after), the runtime ran no task for as long,
    /// a [handler](Self::handler_limit) or a reconcile exceeded its limit, or everything was stopped.
    pub fn live(&self) -> Result<(), NotHealthy> {
        if self.phase() == Some(Phase::Stopped) {
            return Err(NotHealthy::Phase(Phase::Stopped));
        }
        let factory = self.factory.upgrade().ok_or(NotHealthy::Dropped)?;
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = factory.registry.check_progress(&mut progress, self.limits);
        drop(progress);
        outcome.map_err(NotHealthy::Informer)?;
        let stuck = |controller: &WeakController| {
            let running = controller.stuck()?;
            Some(format!(
                "{} {}, for {:?}",
                controller.name(),
                running.key,
                running.elapsed
            ))
        };
        match factory.tracked().iter().find_map(stuck) {
            Some(reconcile) => Err(NotHealthy::Stuck(reconcile)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("phase", &self.phase())
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}
