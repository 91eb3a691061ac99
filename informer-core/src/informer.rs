//! The shared informer: one list, one watch and one cache for one kind, with any number of handlers and
//! readers.

mod builder;
mod changes;
mod erased;
mod error;
mod informer_status;
mod lifecycle;
mod options;
mod pending;
mod resync;
mod saver;
mod scope_task;
mod scopes;
mod sources;
mod vitals;
mod wait;
mod warm_files;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::delta::QueueGauge;
use crate::handler::{AsyncEventHandler, EventHandler, HandlerOptions};
use crate::object::Object;
use crate::processor::{EarlyStop, EventStream, Processor, Registration, Served, run_async, run_blocking};
use crate::resource_version::ResourceVersion;
use crate::source::ListWatch;
use crate::status::StatusBoard;
use crate::store::{Index, IndexDefinition, IndexError, IndexValue, Indexer};
use crate::sync::{Latch, Mutex};

pub use builder::SharedInformerBuilder;
pub use erased::DynInformer;
pub(crate) use erased::{SyncOutlook, SyncState};
pub use error::{
    AddHandlerError, BuildError, NeverShown, NotSynced, ScopeError, ShutdownTimeout, StartError, WaitError,
    WaitForError,
};
pub use informer_status::{InformerStatus, StatusWatch};
use lifecycle::RunState;
pub use options::{AWAITED, InformerOptions, Namespaces, check_namespace};
pub use pending::PendingScopes;
use scopes::Scopes;
pub(crate) use vitals::{Life, Vitals};

/// A local, indexed, current copy of the objects of one kind, with events for its changes.
///
/// A `SharedInformer` is a handle: clones share one cache. It lists and watches once for any number of
/// readers and handlers. It stops when the last handle is dropped (a handler that captures one keeps it
/// alive); readers ([`indexer`](Self::indexer)) then return the last state.
///
/// # Guarantees
///
/// - Per object, the cache shows states that the server had, in their order. It never goes back, unless the
///   server itself was rewound (an etcd restore), which [`status`](Self::status) reports.
/// - A handler receives for each object an addition, then updates, then a deletion, in the order of the
///   commits. No deletion is lost, not even one that happened while the connection was down.
/// - When a handler receives a change, the cache already contains it.
/// - Reads never block, neither on the network nor on a writer, and see only whole commits.
///
/// # Example
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use informer_core::{Event, SharedInformer, client};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let informer = SharedInformer::<Pod>::builder(client::try_default().await?).namespace("web").build()?;
/// informer.add_handler(|event: Event<Pod>| println!("{event:?}"))?;
/// informer.start()?;
/// informer.synced().await?;
/// println!("{} pods", informer.indexer().len());
/// informer.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct SharedInformer<K: Object> {
    shared: Arc<Shared<K>>,
}

struct Shared<K: Object> {
    indexer: Indexer<K>,
    processor: Arc<Processor<K>>,
    board: Arc<StatusBoard>,
    synced: Latch,
    /// Set when no task is running.
    stopped: Latch,
    /// Notified after each commit. Wakes its waiters in their order, which a seeded run depends on.
    commits: Arc<Notify>,
    queue: QueueGauge<K>,
    scopes: Arc<Scopes<K>>,
    /// For handlers and streams that are added without options.
    handler_defaults: HandlerOptions,
    run_state: Mutex<RunState<K>>,
    token: CancellationToken,
    tasks: TaskTracker,
}

impl<K: Object> Drop for Shared<K> {
    fn drop(&mut self) {
        self.token.cancel();
        self.end_if_never_started();
    }
}

impl<K: Object> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K: Object + DeserializeOwned> SharedInformer<K> {
    /// Returns a builder for an informer that uses a client. It sends no request before
    /// [`start`](Self::start).
    ///
    /// Any `kube::Client` works; [`client::try_default`](crate::client::try_default) creates one tuned for
    /// watching.
    pub fn builder(client: kube::Client) -> SharedInformerBuilder<K>
    where
        K::DynamicType: Default + Clone,
    {
        SharedInformerBuilder::over_client(client, K::DynamicType::default())
    }

    /// Like [`builder`](Self::builder), for a kind that is known only at run time: `DynamicObject` with its
    /// `ApiResource`.
    pub fn builder_with(client: kube::Client, dynamic_type: K::DynamicType) -> SharedInformerBuilder<K>
    where
        K::DynamicType: Clone,
    {
        SharedInformerBuilder::over_client(client, dynamic_type)
    }
}

impl<K: Object> SharedInformer<K> {
    /// Creates an informer of a custom source, with all defaults.
    pub fn from_source(source: impl ListWatch<K>) -> Self {
        let builder = SharedInformerBuilder::over_sources(vec![Arc::new(source) as Arc<dyn ListWatch<K>>]);
        builder
            .build()
            .expect("one source of any scope is valid, and the defaults are")
    }

    /// Returns a builder for an informer of custom sources. Their scopes must not overlap. Namespaces,
    /// selectors and other request options of the builder have no effect on them: the sources decide.
    pub fn builder_from_sources(sources: Vec<Arc<dyn ListWatch<K>>>) -> SharedInformerBuilder<K> {
        SharedInformerBuilder::over_sources(sources)
    }

    /// Adds a handler: a closure, [`Handlers`](crate::Handlers), [`Filtered`](crate::Filtered), or anything
    /// that implements [`EventHandler`].
    ///
    /// Handlers may be added at any time. A late one first receives every object in the cache as an addition
    /// with [`Origin::Initial`](crate::Origin::Initial), then every later change exactly once.
    pub fn add_handler<H: EventHandler<K>>(&self, handler: H) -> Result<Registration, AddHandlerError> {
        self.add_handler_with(self.shared.handler_defaults.clone(), handler)
    }

    /// Like [`add_handler`](Self::add_handler), with options for this handler.
    pub fn add_handler_with<H: EventHandler<K>>(
        &self,
        options: HandlerOptions,
        handler: H,
    ) -> Result<Registration, AddHandlerError> {
        let run_on = options.run_on;
        self.add_listener::<H>(&options, |listener| {
            Box::pin(run_blocking(listener, handler, run_on))
        })
    }

    /// Adds a handler that awaits: a closure that returns a future, or anything that implements
    /// [`AsyncEventHandler`].
    ///
    /// A closure with captured state clones it for each event, because a future cannot borrow from the
    /// closure that returned it:
    ///
    /// ```no_run
    /// # fn example(
    /// #     informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use informer_core::Event;
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let (sender, _receiver) = tokio::sync::mpsc::channel(16);
    /// informer.add_async_handler(move |event: Event<Pod>| {
    ///     let sender = sender.clone();
    ///     async move {
    ///         let _ = sender.send(event).await;
    ///     }
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `async |event| { .. }` works only if it captures nothing; otherwise the compiler reports that the
    /// "async closure does not implement `FnMut` because it captures state from its environment".
    pub fn add_async_handler<H>(&self, handler: H) -> Result<Registration, AddHandlerError>
    where
        // The compiler shows the line of the unmet bound, so its comment is the hint for the user.
        H: AsyncEventHandler<K>, // with state `x`: `move |event| { let x = x.clone(); async move { .. } }`
    {
        self.add_async_handler_with(self.shared.handler_defaults.clone(), handler)
    }

    /// Like [`add_async_handler`](Self::add_async_handler), with options for this handler.
    pub fn add_async_handler_with<H>(
        &self,
        options: HandlerOptions,
        handler: H,
    ) -> Result<Registration, AddHandlerError>
    where
        H: AsyncEventHandler<K>, // with state `x`: `move |event| { let x = x.clone(); async move { .. } }`
    {
        self.add_listener::<H>(&options, |listener| Box::pin(run_async(listener, handler)))
    }

    fn add_listener<H>(
        &self,
        options: &HandlerOptions,
        run: impl FnOnce(Arc<crate::processor::Listener<K>>) -> BoxedRun,
    ) -> Result<Registration, AddHandlerError>
    where
        H: 'static,
    {
        let name = options
            .name
            .clone()
            .unwrap_or_else(|| std::any::type_name::<H>().to_owned());
        let mut run_state = self.shared.run_state.lock();
        if self.shared.token.is_cancelled() {
            // The tasks may still be running, but they no longer serve new handlers.
            return Err(AddHandlerError::Stopped);
        }
        let listener = self
            .shared
            .processor
            .add(name, options, Served::ByTask, || self.shared.indexer.peek())
            .ok_or(AddHandlerError::Stopped)?;
        run_state.serve(run(listener.clone()));
        Ok(Registration::new(listener).with_early_stop(self.early_stop()))
    }

    /// Returns the events as a stream, for async code: first every object in the cache, then every change. It
    /// ends when the informer stops.
    pub fn events(&self) -> EventStream<K> {
        self.events_with(&self.shared.handler_defaults)
    }

    /// Like [`events`](Self::events), with options for this stream.
    pub fn events_with(&self, options: &HandlerOptions) -> EventStream<K> {
        let name = options.name.clone().unwrap_or_else(|| "events()".to_owned());
        if self.is_stopped() {
            // The user's token may have stopped it before the start. Then no task exists that would end the
            // stream.
            self.shared.end_if_never_started();
        }
        let listener = self
            .shared
            .processor
            .add_or_ended(name, options, Served::ByReader, || self.shared.indexer.peek());
        EventStream::new(listener).with_early_stop(self.early_stop())
    }

    /// Returns a guard for waits, which ends this informer if its token is cancelled before the start.
    fn early_stop(&self) -> EarlyStop {
        let shared = Arc::downgrade(&self.shared);
        EarlyStop::new(self.shared.token.clone(), move || {
            // A dropped informer has already ended.
            if let Some(shared) = shared.upgrade() {
                shared.end_if_never_started();
            }
        })
    }

    /// The resource, as it appears in logs: `pods`, or `deployments.apps`.
    pub fn resource(&self) -> &str {
        self.shared.board.resource()
    }

    /// Returns the reader of the cache. It outlives the informer and then returns the last state.
    pub fn indexer(&self) -> Indexer<K> {
        self.shared.indexer.clone()
    }

    /// Adds a secondary index by a function from an object to its values. The index is complete when this
    /// returns.
    ///
    /// The function must be pure. It may read the cache, but must not add handlers or read the status,
    /// because it may run while a commit becomes visible.
    ///
    /// ```no_run
    /// # fn example(
    /// #     informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let on_node = informer.add_index("node", |pod: &Pod| {
    ///     pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect::<Vec<_>>()
    /// })?;
    /// let pods = on_node.get("node-1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_index<V, I, F>(&self, name: &str, values: F) -> Result<Index<K, V>, IndexError>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        F: Fn(&K) -> I + Send + Sync + 'static,
    {
        self.shared.indexer.add_index(name, values)
    }

    /// Returns the index of a definition, and adds it if it does not exist. Definitions are static values, so
    /// several parts of a program can share an index.
    pub fn index<V: IndexValue>(
        &self,
        definition: &'static IndexDefinition<K, V>,
    ) -> Result<Index<K, V>, IndexError> {
        self.shared.indexer.index(definition)
    }

    /// Adds an index over the values of one label.
    pub fn add_label_index(&self, label: &str) -> Result<Index<K, String>, IndexError> {
        self.shared.indexer.add_label_index(label)
    }

    /// Returns whether the complete initial state is in the cache. [`status`](Self::status) reports whether
    /// the cache is current.
    pub fn has_synced(&self) -> bool {
        self.shared.synced.is_set()
    }

    /// Waits until the complete initial state is in the cache. Any number of tasks may wait.
    ///
    /// It has no time limit: it keeps waiting while the server refuses requests or is unreachable, and
    /// returns an error only when the informer stops. Use [`synced_within`](Self::synced_within), or a
    /// factory's `wait_for_sync`, to get the reason why an informer does not sync.
    pub async fn synced(&self) -> Result<(), NotSynced> {
        tokio::select! {
            biased;
            () = self.shared.synced.wait() => Ok(()),
            () = self.shared.token.cancelled() => match self.has_synced() {
                true => Ok(()),
                false => Err(self.not_synced()),
            },
        }
    }

    /// Waits until the complete initial state is in the cache, for at most `time`.
    ///
    /// # Errors
    /// [`NotSynced`] names every scope that is not in sync, with its state and, if a request failed, the
    /// error.
    pub async fn synced_within(&self, time: Duration) -> Result<(), NotSynced> {
        match tokio::time::timeout(time, self.synced()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.not_synced()),
        }
    }

    fn not_synced(&self) -> NotSynced {
        NotSynced {
            resource: self.shared.board.resource().to_owned(),
            pending: PendingScopes::new(self.shared.board.pending()),
        }
    }

    /// Returns the version of the cache: `None` before the first list, and for an informer of several
    /// namespaces whose versions differ (its [`status`](Self::status) has one per namespace).
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.shared.indexer.resource_version()
    }

    /// Returns the number of handlers and streams in memory, including removed ones. For the workspace's
    /// tests.
    #[cfg(feature = "__internals")]
    #[doc(hidden)]
    pub fn kept_handlers(&self) -> usize {
        self.shared.processor.kept()
    }

    /// Whether both are handles to the same informer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether the informer has stopped. It cannot be started again.
    pub fn is_stopped(&self) -> bool {
        self.shared.token.is_cancelled()
    }
}

impl<K: Object> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &self.shared.board.resource())
            .field("state", &self.shared.board.worst())
            .finish_non_exhaustive()
    }
}

/// The task of one handler, not spawned yet.
type BoxedRun = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
