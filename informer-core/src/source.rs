//! The seam to the server: what a reflector asks for, and what it is answered.
//!
//! [`ListWatch`] is the trait; [`KubeSource`] implements it over `kube::Client::send`. The wire format, decoding, framing
//! and compression are the source's business: a reflector sees decoded objects, bookmarks and errors only.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::key::ObjectKey;
use crate::object::{Name, Object};
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

mod answer;
mod decode;
mod error;
mod error_response;
mod format;
mod gzip;
mod identities;
mod json;
mod kube_source;
mod limits;
mod list_body;
mod list_options;
mod list_pace;
mod recovery;
mod request;
mod watch_body;

#[cfg(any(test, feature = "__internals"))]
pub mod fuzzing;
#[cfg(test)]
mod tests;

pub(crate) use answer::describe_auth;
pub use decode::{Decode, DecodeError, DecodeOn, Identity, ManagedFields};
pub use error::{ServerStatus, SourceError};
pub use identities::{IdentityEvent, IdentityStream};
pub use json::JsonDecoder;
pub(crate) use kube_source::check_namespace;
pub use kube_source::{KubeSource, KubeSourceError, KubeSourceOptions};
pub use list_options::{ListOptions, ListOptionsError};
pub use recovery::Recovery;
pub(crate) use request::DecodesGzip;

/// Lists and watches one kind in one scope (all namespaces, or one).
///
/// Implement it to feed an informer from something other than a kube-apiserver. Every method may be called again
/// after any error, and dropping a returned future or stream must stop the request behind it: that is how a
/// reflector cancels.
pub trait ListWatch<K>: Send + Sync + 'static {
    /// Asks for one page of a list. The stream yields the page's items and, somewhere, its metadata; it ends
    /// without an error only if the whole page was read.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, SourceError>>;

    /// Asks for one page of a list of which only keys and versions are wanted: an audit compares them with the cache.
    ///
    /// The default asks for whole objects, by [`list`](Self::list): right for every source, and dearer than it needs to be where the
    /// server can leave the contents out.
    fn list_identities(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>>
    where
        K: Object,
    {
        Box::pin(async move { Ok(identities::of_list(self.list(request).await?)) })
    }

    /// Asks for changes. The stream ends with `None` when the server closed it in good order.
    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>>;

    /// Whether the server behind this source may be asked to stream its initial state through a watch.
    fn watch_list(&self) -> WatchListSupport {
        WatchListSupport::Unknown
    }

    /// The resource in the user's words, for logs and errors: `pods` or `deployments.apps`.
    fn resource(&self) -> &str;

    /// The namespace this source is limited to, `None` if it is not.
    fn namespace(&self) -> Option<&str> {
        None
    }
}

/// The items of one page of a list.
pub type ListStream<K> = BoxStream<'static, Result<ListEvent<K>, SourceError>>;

/// The events of one watch.
pub type WatchStream<K> = BoxStream<'static, Result<WatchEvent<K>, SourceError>>;

/// Whether a source supports a watch with `sendInitialEvents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchListSupport {
    /// Try it, and fall back to a list if the server refuses.
    Unknown,
    /// Never try it.
    Unsupported,
}

/// Which state of the server a list may be answered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListFrom {
    /// The newest state (`resourceVersion` unset).
    MostRecent,
    /// Whatever the server has at hand (`resourceVersion=0`).
    AnyCached,
    /// A state at least as new as this version.
    NotOlderThan(ResourceVersion),
    /// The state at this very version.
    Exactly(ResourceVersion),
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Which state to answer from. Ignored by the server, and not sent, together with `continue_token`.
    pub from: ListFrom,
    /// How many items at most; `None` for all.
    pub limit: Option<u32>,
    /// The token the previous page ended with.
    pub continue_token: Option<String>,
    /// How long the server may take until it begins to answer, if the source's own limit is shorter. A
    /// reflector grants more time after each answer that came too late.
    pub answer_within: Option<Duration>,
}

/// Where a watch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFrom {
    /// Changes after this version.
    After(ResourceVersion),
    /// The state first, as synthetic additions closed by a bookmark, then changes (`sendInitialEvents`).
    InitialEvents(WatchListFrom),
}

/// How new the state that opens a watch must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchListFrom {
    /// The newest state.
    MostRecent,
    /// At least as new as this version.
    NotOlderThan(ResourceVersion),
}

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Where to begin.
    pub from: WatchFrom,
    /// When the server is to close the watch (`timeoutSeconds`).
    pub timeout: Duration,
    /// As in [`ListRequest::answer_within`].
    pub answer_within: Option<Duration>,
}

/// What a page of a list consists of. `Debug` prints keys and versions, never contents.
#[non_exhaustive]
pub enum ListEvent<K> {
    /// The page's metadata. Comes once, before or after the items.
    Metadata(ListMetadata),
    /// The next item.
    Item(Arc<K>),
    /// An item that could not be decoded.
    Undecodable(Undecodable),
}

/// The metadata of one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMetadata {
    /// The version of the state the page was read from.
    pub resource_version: Option<ResourceVersion>,
    /// The token to ask for the next page with; `None` on the last one.
    pub continue_token: Option<String>,
    /// How many items the server still has, if it says so.
    pub remaining: Option<u64>,
}

/// What a watch tells. `Debug` prints keys and versions, never contents.
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was created, began to match the selector, or is part of the initial state.
    Added(Arc<K>),
    /// An object changed.
    Modified(Arc<K>),
    /// An object was deleted or no longer matches the selector; this is its last state.
    Deleted(Arc<K>),
    /// Nothing changed up to this version.
    Bookmark {
        /// The version; `None` if the server sent none (it should: such a bookmark moves nothing).
        version: Option<ResourceVersion>,
        /// Whether this bookmark closes the initial events.
        mark: BookmarkMark,
    },
    /// An event whose object could not be decoded.
    Undecodable {
        /// What happened to the object.
        change: ObjectChange,
        /// What could be read of it.
        object: Undecodable,
    },
    /// An event this version of the library does not know: counted, otherwise ignored.
    Unknown,
}

impl<K: Object> fmt::Debug for ListEvent<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata(metadata) => f.debug_tuple("Metadata").field(metadata).finish(),
            Self::Item(object) => f.debug_tuple("Item").field(&Name(object.as_ref())).finish(),
            Self::Undecodable(object) => f.debug_tuple("Undecodable").field(object).finish(),
        }
    }
}

impl<K: Object> fmt::Debug for WatchEvent<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(object) => f.debug_tuple("Added").field(&Name(object.as_ref())).finish(),
            Self::Modified(object) => f.debug_tuple("Modified").field(&Name(object.as_ref())).finish(),
            Self::Deleted(object) => f.debug_tuple("Deleted").field(&Name(object.as_ref())).finish(),
            Self::Bookmark { version, mark } => f
                .debug_struct("Bookmark")
                .field("version", version)
                .field("mark", mark)
                .finish(),
            Self::Undecodable { change, object } => f
                .debug_struct("Undecodable")
                .field("change", change)
                .field("object", object)
                .finish(),
            Self::Unknown => f.write_str("Unknown"),
        }
    }
}

/// What a bookmark says besides its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookmarkMark {
    /// Nothing more.
    Progress,
    /// The initial state is complete (`k8s.io/initial-events-end: "true"`).
    InitialEventsEnd,
}

/// What happened to an object that could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// It was added or modified, so it exists.
    Upserted,
    /// It was deleted.
    Deleted,
}

/// An object that could not be decoded, and what could be read of it. Never holds the object's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Its key, if the metadata could be read.
    pub key: Option<ObjectKey>,
    /// Its version, if the metadata could be read.
    pub version: Option<ResourceVersion>,
    /// Its UID, if the metadata could be read.
    pub uid: Option<String>,
    /// Why it could not be decoded.
    pub reason: String,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "object {key} could not be decoded: ")?,
            None => f.write_str("an object whose name cannot be read could not be decoded: ")?,
        }
        write!(f, "{}", Printable::message(&self.reason))
    }
}
