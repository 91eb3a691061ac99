//! Metrics of informers, handlers, work queues and controllers (feature `metrics`), for Prometheus and
//! others.
//!
//! [`Metrics`] reads the state of what was added to it whenever it is scraped. Nothing is counted twice and
//! nothing is stored in between, so a series disappears with its informer, handler, queue or controller, and
//! the informers do no work for a scrape that does not happen.
//!
//! ```
//! # #[cfg(feature = "core")]
//! # fn example(client: kube::Client) -> Result<(), std::fmt::Error> {
//! use informers::SharedInformerFactory;
//! use informers::metrics::Metrics;
//! use prometheus_client::{encoding::text::encode, registry::Registry};
//!
//! let factory = SharedInformerFactory::new(client);
//! let pods = factory.core().v1().pods().informer();
//!
//! let metrics = Metrics::new();
//! metrics.add_factory("shop", &factory);
//! let mut registry = Registry::default(); // of the program, with its own metrics
//! registry.register_collector(Box::new(metrics));
//!
//! let mut text = String::new();
//! encode(&mut text, &registry)?; // the answer to GET /metrics
//! assert!(text.contains(r#"informer_store_objects{name="shop",group="",version="v1",resource="pods""#));
//! # drop(pods);
//! # Ok(())
//! # }
//! # #[cfg(feature = "core")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { example(informer_testing::ApiServer::start().client()).unwrap() }
//! # #[cfg(not(feature = "core"))]
//! # fn main() {}
//! ```
//!
//! Programs without prometheus-client read plain values from [`Metrics::gather`]; the example
//! `metrics_opentelemetry` does so. `docs/operating/metrics.md` in the repository lists every metric, and
//! there are a Grafana dashboard and alert rules beside it.
//!
//! # Cardinality
//!
//! The number of series is bounded by the number of informers, named handlers, queues and controllers. It
//! does not depend on objects, keys or namespaces: several namespaces of an informer are one series. Handlers
//! with the same name on one informer are one series as well.

mod family;
mod names;
mod prometheus;
mod read;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use informer_core::Object;
use informer_core::controller::{Controller, WeakController};
use informer_core::leader::LeaderElection;
use informer_core::workqueue::{QueueKey, WorkQueue};

pub use family::{Descriptor, Family, Kind, Series, Value};
pub use informer_core::Histogram;

use crate::SharedInformerFactory;
use family::Gathering;

/// Reads metrics from factories, controllers and queues. See the [module](self) for an example.
///
/// A `Metrics` is a handle; clones share everything. It is a
/// [`Collector`](prometheus_client::collector::Collector) of prometheus-client: register it once. It does not
/// keep alive what was added to it; what was dropped is forgotten at the next scrape.
#[derive(Clone, Default)]
pub struct Metrics {
    sources: Arc<Mutex<Vec<Source>>>,
}

/// Reads one thing; `false` once it was dropped.
type Source = Arc<dyn Fn(&mut Gathering) -> bool + Send + Sync>;

impl Metrics {
    /// Creates a handle without anything to read.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns every metric that exists, with its type and labels.
    pub fn descriptors() -> &'static [&'static Descriptor] {
        names::ALL
    }

    /// Adds all present and future informers of a factory, their handlers, and the controllers that the
    /// factory [tracks](SharedInformerFactory::track), as a [`Manager`](crate::controller::Manager) does for
    /// its own. `name` is the value of the label `name`, to distinguish several factories.
    pub fn add_factory(&self, name: impl Into<String>, factory: &SharedInformerFactory) {
        let (name, factory) = (name.into(), factory.downgrade());
        self.add(move |to| {
            let Some((informers, controllers)) = factory.read() else {
                return false;
            };
            for informer in &informers {
                read::informer(to, &name, informer);
            }
            for controller in controllers.iter().filter_map(WeakController::metrics) {
                read::controller(to, &controller);
            }
            true
        });
    }

    /// Adds a controller and its queue. Not needed for the controllers of a
    /// [`Manager`](crate::controller::Manager) whose factory was [added](Self::add_factory): added twice, a
    /// controller is counted twice.
    pub fn add_controller<K: Object>(&self, controller: &Controller<K>) {
        let controller = controller.downgrade();
        self.add(move |to| match controller.metrics() {
            Some(controller) => {
                read::controller(to, &controller);
                true
            }
            None => false,
        });
    }

    /// Adds a queue that belongs to no controller. `name` is the value of the label `name`.
    pub fn add_queue<T: QueueKey>(&self, name: impl Into<String>, queue: &WorkQueue<T>) {
        let (name, queue) = (name.into(), queue.metrics());
        self.add(move |to| match queue() {
            Some(queue) => {
                read::queue(to, &name, &queue);
                true
            }
            None => false,
        });
    }

    /// Adds a lease: whether this process leads. Its label `name` is `namespace/name` of the lease.
    pub fn add_leader_election(&self, election: &LeaderElection) {
        let election = election.metrics();
        self.add(move |to| match election() {
            Some((lease, status)) => {
                read::leader(to, &lease, &status);
                true
            }
            None => false,
        });
    }

    fn add(&self, source: impl Fn(&mut Gathering) -> bool + Send + Sync + 'static) {
        self.lock().push(Arc::new(source));
    }

    /// Returns the present value of every series. Metrics without series are left out.
    pub fn gather(&self) -> Vec<Family> {
        let mut gathering = Gathering::default();
        // Without the lock: reading takes the locks of informers and queues.
        let sources = self.lock().clone();
        let gone: Vec<Source> = sources
            .into_iter()
            .filter(|source| !source(&mut gathering))
            .collect();
        if !gone.is_empty() {
            let is_gone = |source: &Source| gone.iter().any(|gone| Arc::ptr_eq(gone, source));
            self.lock().retain(|source| !is_gone(source));
        }
        gathering.into_families()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("sources", &self.lock().len())
            .finish()
    }
}
