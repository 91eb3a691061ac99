//! Errors of controllers.

use std::error::Error;
use std::time::Duration;

use crate::informer::AddHandlerError;
use crate::key::ObjectKey;
use crate::processor::HandlerEnded;

/// A controller cannot be built.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ControllerBuildError {
    /// An informer does not accept handlers.
    #[error("controller \"{controller}\" cannot watch {resource}")]
    Handler {
        /// The name of the controller.
        controller: String,
        /// The resource of the informer.
        resource: String,
        /// Why.
        #[source]
        source: AddHandlerError,
    },
    /// No worker would run.
    #[error("controller \"{controller}\" has no workers; set at least 1")]
    NoWorkers {
        /// The name of the controller.
        controller: String,
    },
}

/// Why one reconcile failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReconcileError {
    /// The reconciler returned an error.
    #[error("{0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The reconciler panicked, with this message. A formatted message may quote an object, and is replaced
    /// by a note.
    #[error("the reconciler panicked: {0}")]
    Panicked(String),
    /// The reconciler ran longer than the limit, and was cancelled.
    #[error("the reconcile took longer than {0:?} and was cancelled")]
    TimedOut(Duration),
}

/// A failed reconcile, as the error hook receives it.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedReconcile<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The key.
    pub key: &'a ObjectKey,
    /// The number of failures in a row, including this one.
    pub attempt: u32,
    /// Why it failed.
    pub error: &'a ReconcileError,
    /// When it is retried.
    pub retry_in: Duration,
}

/// A cache of a controller does not sync any more.
#[derive(thiserror::Error)]
#[error(
    "controller \"{controller}\" cannot start: its handler \"{handler}\" ended before the cache was in sync"
)]
#[non_exhaustive]
pub struct NotReady {
    /// The name of the controller.
    pub controller: String,
    /// The name of the handler.
    pub handler: String,
    /// Why the handler ended.
    #[source]
    pub reason: HandlerEnded,
}

crate::__debug_is_the_message!(ControllerBuildError, ReconcileError, NotReady);
