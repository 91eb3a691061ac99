//! Shared informers for Kubernetes: a local copy of every object of a kind that follows the API server by itself.
//!
//! **To follow a kind**, make a [`SharedInformer`], add handlers, start it, and wait until its first list is in:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use informers::{Event, SharedInformer, client};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let informer = SharedInformer::<Pod>::builder(client::try_default().await?).namespace("web").build()?;
//! informer.add_handler(|event: Event<Pod>| println!("{event:?}"))?;
//! informer.start()?;
//! informer.synced().await?;
//! # Ok(())
//! # }
//! ```
//!
//! **To read**, take a [`Lister`] for one kind's objects by namespace and name, an [`Index`] for any other question, or a
//! [`Snapshot`] for several questions about one moment. Reads never wait:
//!
//! ```no_run
//! # fn example(informer: informers::SharedInformer<k8s_openapi::api::core::v1::Pod>) -> Result<(), Box<dyn std::error::Error>> {
//! use informers::Lister;
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let pods = Lister::new(informer.indexer());
//! let front = pods.namespace("web").get("front-0");
//! let by_node = informer.add_index("node", |pod: &Pod| {
//!     pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect::<Vec<_>>()
//! })?;
//! let there = by_node.get("node-1");
//! # Ok(())
//! # }
//! ```
//!
//! **To react** in async code, take [`SharedInformer::events`], a stream of the same events handlers hear. **To know how things
//! are**, ask [`SharedInformer::status`]: it tells listing from live from refused, with the last error. **To read your own write**,
//! await [`SharedInformer::wait_until`] with the version the write returned. **To end**, await [`SharedInformer::shutdown`].
//!
//! `K` may be any kind: one of k8s-openapi, one made by kube's `CustomResource` derive, `DynamicObject`, or `PartialObjectMeta`.
//! For tests, the crate `informer-testing` has an API server in memory.
//!
//! Today this crate shows [informer-core](informer_core) and [listers] under one roof, for one kind at a time. The factory with an
//! accessor for each built-in kind comes with the next release. Most names are here at the top; the modules hold what is
//! needed less often: [`client`] to connect, [`source`] for a list and watch of one's own, [`store`] and [`delta`] for the
//! parts by themselves.

mod factory;

pub use factory::{
    FactoryBuildError, LookupError, ResourceError, ResourceInformer, SharedInformerFactory,
    SharedInformerFactoryBuilder,
};
pub use informer_core::registry::{
    InformerProgress, RegistryShutdownTimeout, SyncError, SyncProgress, SyncReport, Unsynced, WaitingFor,
};
pub use informer_core::{
    AddHandlerError, AnyObject, AsyncEventHandler, BackoffConfig, BufferMode, BuildError, Counts, Deleted,
    DynInformer, Event, EventHandler, EventStream, Filtered, HandlerOptions, HandlerResync, HandlerState,
    HandlerStatus, Handlers, Index, IndexDefinition, Indexer, InformerStatus, InitialState, LastError,
    ListOptions, ListenerEnded, ManagedFields, Namespaces, NotSynced, Object, ObjectKey, Offload, Origin,
    Overflow, ParseKeyError, ReflectorConfig, Registration, Removal, ResourceVersion, Scope, ScopeStatus,
    SharedInformer, SharedInformerBuilder, ShutdownTimeout, Snapshot, SourceError, StartError, State,
    StatusWatch, UpdateCause, WaitError, WatchErrorHandler, WatchListVerdict,
};
pub use informer_core::{
    AuditHandler, AuditMismatch, AuditOptions, AuditOutcome, AuditReport, AuditSkipped, AuditStatus,
    Differences,
};
pub use informer_core::{client, delta, source, store};
pub use listers::{Lister, NamespaceLister};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
