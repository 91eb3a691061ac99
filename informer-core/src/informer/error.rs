//! What can go wrong with an informer, each with what to do about it.

use std::time::Duration;

use super::PendingScopes;
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::source::KubeSourceError;
use crate::store::IndexError;

/// Why an informer cannot be made.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A namespace without a name.
    #[error("a namespace name is empty; leave the namespace out to cover all namespaces")]
    EmptyNamespace,
    /// `namespaces([])`.
    #[error("the list of namespaces is empty; leave it out to cover all namespaces")]
    NoNamespaces,
    /// The same scope twice.
    #[error("{0} is named twice; each namespace can be covered once")]
    RepeatedScope(String),
    /// A namespace for a kind that has none.
    #[error("{0} are cluster-scoped and cannot be limited to a namespace; leave the namespace out")]
    ClusterScoped(String),
    /// A page of no objects.
    #[error("the page size is zero; leave it out for the default")]
    ZeroPageSize,
    /// No source at all.
    #[error("there is no source to list and watch")]
    NoSource,
    /// The options for requests are not valid.
    #[error(transparent)]
    Source(#[from] KubeSourceError),
    /// An index cannot be there.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Why an informer cannot be started.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It was started before: an informer runs once.
    #[error("the informer was started already")]
    AlreadyStarted,
    /// It was stopped: an informer runs once.
    #[error("the informer has stopped; make a new one")]
    Stopped,
    /// There is no tokio runtime here.
    #[error(
        "there is no tokio runtime here; call `start` inside one, or give the builder a `runtime` handle"
    )]
    NoRuntime,
}

/// Why a handler cannot be added.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddHandlerError {
    /// The informer has stopped: nothing will ever be told.
    #[error("the handler was not added because the informer has stopped already")]
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
    /// The time was up.
    #[error("the cache did not reach version {version} within {after:?}: {why}")]
    Timeout {
        /// The version waited for.
        version: ResourceVersion,
        /// How long.
        after: Duration,
        /// Which scopes are behind, and why.
        why: String,
    },
    /// The informer stopped first.
    #[error("the informer stopped before the cache reached the version")]
    Stopped,
    /// The versions are not numbers, so nothing says which is newer.
    #[error("version {version} cannot be compared with the cache's: this server's versions are not numbers")]
    NotComparable {
        /// The version waited for.
        version: ResourceVersion,
    },
}

/// Why a wait for a write or a deletion ended.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitForError {
    /// The object has no name or no version, so it does not come from the server.
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
    /// The time was up.
    #[error("the cache did not show the change of {key} within {after:?}: {why}")]
    Timeout {
        /// The object.
        key: ObjectKey,
        /// How long.
        after: Duration,
        /// How far the object's scope is, and why not further.
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
    /// The object's newest state cannot be decoded, or its transform failed: the cache keeps an older one.
    #[error("its newest state cannot be used: {0}")]
    Unusable(String),
}

/// A shutdown that took too long.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer did not stop within {after:?}; handlers still busy: {}", busy.join(", "))]
#[non_exhaustive]
pub struct ShutdownTimeout {
    /// The names of the handlers that are still inside a call.
    pub busy: Vec<String>,
    /// How long was waited.
    pub after: Duration,
}

crate::__debug_is_the_message!(
    BuildError,
    StartError,
    AddHandlerError,
    NotSynced,
    WaitError,
    WaitForError,
    NeverShown,
    ShutdownTimeout
);
