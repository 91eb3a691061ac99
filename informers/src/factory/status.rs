//! The status of a factory: every informer and every controller, as one value, and its changes.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_core::InformerStatus;
use informer_core::controller::{ControllerStatus, WeakController};
use informer_core::registry::RegistryChanges;
use tokio::time::Instant;

use super::{Inner, SharedInformerFactory};
use crate::health::Health;

/// The shortest time between two reports of [`StatusChanges`].
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The status of every informer of a factory, and of the controllers that use it.
///
/// It contains names, counts, versions and errors, never the contents of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FactoryStatus {
    /// Every informer that was requested, in the order of the requests.
    pub informers: Vec<InformerStatus>,
    /// The controllers of a [`Manager`](crate::controller::Manager) of this factory, and those that were
    /// [tracked](SharedInformerFactory::track), in the order of their addition.
    pub controllers: Vec<ControllerStatus>,
    /// The limit on [`bytes`](Self::bytes), if there is one.
    pub max_total_bytes: Option<u64>,
}

impl FactoryStatus {
    /// Returns the approximate size of the objects of all informers together.
    pub fn bytes(&self) -> u64 {
        self.informers
            .iter()
            .map(|informer| informer.approximate_bytes)
            .sum()
    }

    /// Returns the first informer of a resource, such as `pods` or `deployments.apps`.
    pub fn informer(&self, resource: &str) -> Option<&InformerStatus> {
        self.informers
            .iter()
            .find(|informer| informer.resource == resource)
    }
}

impl fmt::Display for FactoryStatus {
    /// Writes one line for each informer and each controller.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for informer in &self.informers {
            writeln!(f, "{informer}")?;
        }
        for controller in &self.controllers {
            writeln!(
                f,
                "controller {}: {} running, {} waiting, {} failing",
                controller.name,
                controller.running.len(),
                controller.queue.ready,
                controller.failing.len()
            )?;
        }
        Ok(())
    }
}

impl SharedInformerFactory {
    /// Returns the status of every informer that was requested, and of the controllers.
    pub fn status(&self) -> FactoryStatus {
        self.inner.status()
    }

    /// Returns the changes of the status, for a log or a display.
    ///
    /// ```no_run
    /// # fn example(factory: informers::SharedInformerFactory) {
    /// let mut changes = factory.status_changes();
    /// tokio::spawn(async move {
    ///     while let Some(status) = changes.next().await {
    ///         for informer in &status.informers {
    ///             println!("{informer}"); // pods: live, 1200 objects, 4s old
    ///         }
    ///     }
    /// });
    /// # }
    /// ```
    pub fn status_changes(&self) -> StatusChanges {
        StatusChanges {
            factory: Arc::downgrade(&self.inner),
            changes: self.inner.registry.changes(),
            last: None,
        }
    }

    /// Returns the health of the informers and controllers, for the probes of a Pod: see
    /// [`health`](crate::health).
    ///
    /// ```no_run
    /// # async fn example(factory: informers::SharedInformerFactory) {
    /// tokio::spawn(factory.health().serve(([0, 0, 0, 0], 8080))); // GET /readyz and /livez
    /// # }
    /// ```
    pub fn health(&self) -> Health {
        Health::new(Arc::downgrade(&self.inner))
    }

    /// Shows a controller in [`status`](Self::status) and [`health`](Self::health), for as long as it
    /// exists. A [`Manager`](crate::controller::Manager) does this for its controllers.
    pub fn track(&self, controller: WeakController) {
        self.inner.controllers().push(controller);
    }
}

impl Inner {
    fn status(&self) -> FactoryStatus {
        let informers = self.registry.informers();
        let controllers = self.tracked();
        FactoryStatus {
            informers: informers.iter().map(informer_core::DynInformer::status).collect(),
            controllers: controllers.iter().filter_map(WeakController::status).collect(),
            max_total_bytes: self.defaults.max_total_bytes(),
        }
    }

    /// The controllers that exist.
    pub(crate) fn tracked(&self) -> Vec<WeakController> {
        let mut controllers = self.controllers();
        controllers.retain(WeakController::exists);
        controllers.clone()
    }

    fn controllers(&self) -> std::sync::MutexGuard<'_, Vec<WeakController>> {
        let controllers = self.controllers.lock();
        controllers.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The changes of a factory's status. Created by [`SharedInformerFactory::status_changes`].
///
/// Nothing is queued: several changes in a row become one report. It does not keep the factory alive.
pub struct StatusChanges {
    factory: Weak<Inner>,
    changes: RegistryChanges,
    last: Option<Instant>,
}

impl StatusChanges {
    /// Waits for the next report: the present status first, then one after a change of an informer's state,
    /// of its errors, of the progress of its list or of the sync of its handlers, and after an informer was
    /// requested or started. At most ten per second. Counts, ages and controllers are as of the report; their
    /// changes alone cause none.
    ///
    /// Returns `None` once the factory was dropped. Cancel safe.
    pub async fn next(&mut self) -> Option<FactoryStatus> {
        if let Some(last) = self.last {
            tokio::time::sleep_until(last + SHORTEST_PAUSE).await;
            if !self.changes.changed().await {
                return None;
            }
        }
        self.last = Some(Instant::now());
        Some(self.factory.upgrade()?.status())
    }
}

impl fmt::Debug for StatusChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatusChanges").field(&self.changes).finish()
    }
}
