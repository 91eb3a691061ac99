//! The errors of an informer.

use std::time::Duration;

use super::PendingScopes;
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::source::KubeSourceError;
use crate::store::IndexError;

/// Why an informer cannot be built.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A namespace name is empty.
    #[error("a namespace name is empty; leave the namespace out to cover all namespaces")]
    EmptyNamespace,
    /// The list of namespaces is empty.
    #[error("the list of namespaces is empty; leave it out to cover all namespaces")]
    NoNamespaces,
    /// A scope was given twice.
    #[error("{0} is named twice; each namespace can be covered once")]
    RepeatedScope(String),
    /// A namespace was given for a cluster-scoped kind.
    #[error("{0} are cluster-scoped and cannot be limited to a namespace; leave the namespace out")]
    ClusterScoped(String),
    /// The page size is zero.
    #[error("the page size is zero; leave it out for the default")]
    ZeroPageSize,
    /// The list of sources is empty.
    #[error("no source to list and watch was given")]
    NoSource,
    /// The request options are not valid.
    #[error(transparent)]
    Source(#[from] KubeSourceError),
    /// An index cannot be added.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Why an informer cannot be started.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The informer was started before. An informer runs once.
    #[error("the informer was already started")]
    AlreadyStarted,
    /// The informer was stopped. An informer runs once.
    #[error("the informer has stopped; build a new one")]
    Stopped,
    /// `start` was called outside a tokio runtime.
    #[error("no tokio runtime found; call `start` inside one, or pass a handle to the builder's `runtime`")]
    NoRuntime,
}

/// Why the namespaces or selectors of an informer cannot be changed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The informer covers all namespaces.
    #[error("{0} are watched in all namespaces; build the informer with `namespaces` to add and remove some")]
    AllNamespaces(String),
    /// The informer has custom sources.
    #[error("the informer has custom sources, which decide what they list and watch")]
    CustomSource,
    /// The informer has stopped.
    #[error("the informer has stopped; build a new one")]
    Stopped,
    /// The namespace or the selector is not valid.
    #[error(transparent)]
    Invalid(#[from] BuildError),
}

/// Why a handler cannot be added.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddHandlerError {
    /// The informer has stopped and delivers no more events.
    #[error("cannot add a handler: the informer has stopped")]
    Stopped,
}

/// Why an informer is not in sync.
#[derive(Clone, thiserror::Error)]
#[error("{resource} are not in sync: {pending}")]
#[non_exhaustive]
pub struct NotSynced {
    /// The resource.
    pub resource: String,
    /// The scopes that were not in sync when the wait ended, and why.
    pub pending: PendingScopes,
}

/// Why a wait for a version ended.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The timeout elapsed.
    #[error("the cache did not reach version {version} within {after:?}: {why}")]
    Timeout {
        /// The awaited version.
        version: ResourceVersion,
        /// The timeout.
        after: Duration,
        /// Which scopes are behind, and why.
        why: String,
    },
    /// The informer stopped first.
    #[error("the informer stopped before the cache reached the version")]
    Stopped,
    /// The versions are not numbers, so they cannot be ordered.
    #[error("version {version} cannot be compared with the cache's: this server's versions are not numbers")]
    NotComparable {
        /// The awaited version.
        version: ResourceVersion,
    },
}

/// Why a wait for a write or a deletion ended.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitForError {
    /// The object has no name or no version, so it was not returned by the server.
    #[error("the object has no name or no resource version; pass what the server returned for the write")]
    NotWritten,
    /// The cache can never show the object.
    #[error("the cache cannot show {key}: {reason}")]
    NeverShown {
        /// The object.
        key: ObjectKey,
        /// Why not.
        reason: NeverShown,
    },
    /// The timeout elapsed.
    #[error("the cache did not show the change of {key} within {after:?}: {why}")]
    Timeout {
        /// The object.
        key: ObjectKey,
        /// The timeout.
        after: Duration,
        /// The version of the object's scope, and why it is not newer.
        why: String,
    },
    /// The informer stopped first.
    #[error("the informer stopped before the cache showed the change of {key}")]
    Stopped {
        /// The object.
        key: ObjectKey,
    },
}

/// Why a cache can never show an object.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NeverShown {
    /// The object's namespace is not one of the informer's.
    #[error("the informer does not cover its namespace")]
    Namespace,
    /// The informer's label selector does not match the labels.
    #[error("its labels do not match the informer's selector \"{0}\"")]
    LabelSelector(String),
    /// The object's newest state cannot be decoded, or its transform failed. The cache keeps an older state.
    #[error("its newest state cannot be used: {0}")]
    Unusable(String),
}

/// The informer did not stop in time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer did not stop within {after:?}; handlers still busy: {}", busy.join(", "))]
#[non_exhaustive]
pub struct ShutdownTimeout {
    /// The names of the handlers that have not returned.
    pub busy: Vec<String>,
    /// The timeout.
    pub after: Duration,
}

crate::__debug_is_the_message!(
    BuildError,
    ScopeError,
    StartError,
    AddHandlerError,
    NotSynced,
    WaitError,
    WaitForError,
    NeverShown,
    ShutdownTimeout
);
