//! The implementation of a shared informer, generic over the kind: reflector, queue, indexed store and
//! handlers.
//!
//! Most programs use the crate `informers` instead. Without it, start with [`SharedInformer`]:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use informer_core::{Event, SharedInformer, client};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let informer = SharedInformer::<Pod>::builder(client::try_default().await?).build()?;
//! informer.add_handler(|event: Event<Pod>| println!("{event:?}"))?;
//! informer.start()?;
//! informer.synced().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Data flows one way: a [`ListWatch`](source::ListWatch) source, a reflector, the [`delta`] queue, a
//! committer that commits to the [`store`], and handlers. ARCHITECTURE.md in the repository has the map.

// Links in the docs of the shared options must resolve both here and in `informers`.
#[allow(unused_extern_crates, reason = "only rustdoc uses it")]
extern crate self as informer_core;

mod audit;
pub mod client;
mod committer;
pub mod controller;
#[cfg(all(test, not(feature = "__model")))]
mod cost_tests;
pub mod delta;
mod error;
mod fast_paths;
mod handler;
mod informer;
mod key;
pub mod leader;
mod mutant;
mod object;
mod printable;
mod processor;
mod reflector;
pub mod registry;
mod resource_version;
mod scope;
pub mod selector;
pub mod source;
mod status;
mod storage;
pub mod store;
mod sync;
mod warm;
pub mod workqueue;

pub use audit::{AuditHandler, AuditOptions};
#[doc(hidden)]
pub use error::debug_error as __debug_error;
/// Not part of the API: the options that the builders of informers and factories share.
#[doc(hidden)]
pub mod __options {
    pub use crate::informer::{AWAITED, InformerOptions, Namespaces, check_namespace};
    pub use crate::store::total::TotalBytes;
}
pub use handler::{
    AsyncEventHandler, Deleted, Event, EventHandler, Filtered, HandlerOptions, HandlerResync, Handlers,
    Origin, Overflow, UpdateCause,
};
pub use informer::{
    AddHandlerError, BuildError, DynInformer, InformerStatus, NeverShown, NotSynced, PendingScopes,
    ScopeError, SharedInformer, SharedInformerBuilder, ShutdownTimeout, StartError, StatusWatch, WaitError,
    WaitForError,
};
pub use key::{ObjectKey, ParseKeyError};
pub use object::{AnyObject, Object, Projected};
pub use processor::{
    BufferMode, EventStream, HandlerEnded, HandlerState, HandlerStatus, Registration, Removal,
};
pub use reflector::{BackoffConfig, InitialState, ReflectorConfig, RequestBudget, RequestBudgetOptions};
pub use resource_version::ResourceVersion;
pub use scope::Scope;
pub use status::{
    AuditMismatch, AuditOutcome, AuditReport, AuditSkipped, AuditStatus, Counts, Differences, LastError,
    LastList, RelistReason, Relists, ScopeStatus, State, WatchErrorHandler, WatchListVerdict,
};
#[cfg(all(feature = "__internals", feature = "packed"))]
#[doc(hidden)]
pub use storage::pack_by_default as __pack_by_default;
pub use storage::{Storage, Stored};
#[cfg(feature = "metrics")]
pub use sync::Histogram;
pub use sync::Offload;
#[cfg(feature = "__simulation")]
#[doc(hidden)]
pub use sync::simulation;
pub use warm::WarmStart;
