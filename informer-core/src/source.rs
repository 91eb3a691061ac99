//! Sources of objects: the trait [`ListWatch`], its requests and responses, and [`KubeSource`].
//!
//! [`KubeSource`] implements [`ListWatch`] over `kube::Client::send`. It hides wire format, decoding and
//! compression: a reflector sees decoded objects, bookmarks and errors only.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

mod advice;
mod answer;
mod connection_error;
mod credentials;
mod decode;
mod decoding;
mod error;
mod error_response;
mod format;
mod gzip;
mod identities;
mod json;
mod known;
mod kube_source;
mod limits;
mod list_body;
mod list_options;
mod list_pace;
mod origin;
pub mod protobuf;
mod recovery;
mod request;
mod source_object;
mod watch_body;

#[cfg(any(test, feature = "__internals"))]
pub mod fuzzing;
#[cfg(test)]
mod tests;

pub(crate) use answer::describe_request;
pub(crate) use connection_error::{Peer, Stage};
pub(crate) use credentials::{CredentialError, describe_auth};
pub use decode::{Decode, DecodeError, DecodeOn, Encoding, Identity, ManagedFields};
pub use error::{ServerStatus, SourceError};
pub use identities::{IdentityEvent, IdentityStream};
pub use json::JsonDecoder;
pub use known::Known;
pub(crate) use known::Lookup;
pub(crate) use kube_source::check_namespace;
pub use kube_source::{KubeSource, KubeSourceError, KubeSourceOptions};
pub use list_options::{ListOptions, ListOptionsError};
pub(crate) use origin::Origin;
pub use recovery::Recovery;
pub(crate) use request::DecodesGzip;
pub use source_object::SourceObject;
#[cfg(feature = "packed")]
pub(crate) use source_object::saturated;

/// Lists and watches one kind in one scope (all namespaces, or one).
///
/// Implement it to feed an informer from something other than a kube-apiserver. Every method may be called
/// again after any error. Dropping a returned future or stream must cancel its request: this is how a
/// reflector cancels.
pub trait ListWatch<K>: Send + Sync + 'static {
    /// Requests one page of a list. The stream yields the items of the page and, before or after them, its
    /// metadata. It ends without an error only if the whole page was read.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, SourceError>>;

    /// Requests one page of a list and yields only keys and versions. An audit compares them with the cache.
    ///
    /// The default requests whole objects with [`list`](Self::list). Override it if the server can omit the
    /// contents.
    fn list_identities(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>>
    where
        K: Object,
    {
        Box::pin(async move { Ok(identities::of_list(self.list(request).await?)) })
    }

    /// Like [`list`](Self::list), but may yield [`ListEvent::Unchanged`] for objects that `known` contains.
    ///
    /// The default yields whole objects. Override it if reading an identity is cheaper than decoding.
    fn list_except(
        &self,
        request: ListRequest,
        known: Known,
    ) -> BoxFuture<'_, Result<ListStream<K>, SourceError>> {
        let _ = known;
        self.list(request)
    }

    /// Requests changes. The stream ends with `None` when the server closes the watch normally.
    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>>;

    /// Like [`watch`](Self::watch), but may yield [`WatchEvent::Unchanged`] for initial events whose objects
    /// `known` contains. The default yields whole objects.
    fn watch_except(
        &self,
        request: WatchRequest,
        known: Known,
    ) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        let _ = known;
        self.watch(request)
    }

    /// Whether the source can stream the initial state through a watch.
    fn watch_list(&self) -> WatchListSupport {
        WatchListSupport::Unknown
    }

    /// The name of the resource for logs and errors: `pods` or `deployments.apps`.
    fn resource(&self) -> &str;

    /// The namespace of this source; `None` for all namespaces.
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
    /// Try it, and fall back to a list if the server rejects it.
    Unknown,
    /// Never try it.
    Unsupported,
}

/// Which state of the server a list may return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListFrom {
    /// The newest state (`resourceVersion` unset).
    MostRecent,
    /// Any state, typically from the server's cache (`resourceVersion=0`).
    AnyCached,
    /// A state at least as new as this version.
    NotOlderThan(ResourceVersion),
    /// The state at exactly this version.
    Exactly(ResourceVersion),
}

/// A request for one page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Which state to return. Not sent if `continue_token` is set.
    pub from: ListFrom,
    /// The maximum number of items; `None` for all.
    pub limit: Option<u32>,
    /// The token of the previous page.
    pub continue_token: Option<String>,
    /// How long to wait for the beginning of the response, if the source's own limit is shorter. A reflector
    /// increases it after each timeout.
    pub answer_within: Option<Duration>,
}

/// Where a watch starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFrom {
    /// Changes after this version.
    After(ResourceVersion),
    /// The initial state as synthetic additions, a bookmark that ends them, then changes
    /// (`sendInitialEvents`).
    InitialEvents(WatchListFrom),
}

/// How new the initial state of a watch must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchListFrom {
    /// The newest state.
    MostRecent,
    /// At least as new as this version.
    NotOlderThan(ResourceVersion),
}

/// A request for one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Where to start.
    pub from: WatchFrom,
    /// After how long the server closes the watch (`timeoutSeconds`).
    pub timeout: Duration,
    /// See [`ListRequest::answer_within`].
    pub answer_within: Option<Duration>,
}

/// An element of the stream of one page of a list. `Debug` prints keys and versions, never contents.
#[non_exhaustive]
pub enum ListEvent<K> {
    /// The metadata of the page. Yielded once, before or after the items.
    Metadata(ListMetadata),
    /// The next item.
    Item(SourceObject<K>),
    /// The key of the next item, which the [`Known`] objects of [`ListWatch::list_except`] contain.
    Unchanged(ObjectKey),
    /// An item that could not be decoded.
    Undecodable(Undecodable),
}

/// The metadata of one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMetadata {
    /// The version of the state that the page shows.
    pub resource_version: Option<ResourceVersion>,
    /// The token for the request of the next page; `None` on the last page.
    pub continue_token: Option<String>,
    /// How many items remain after this page, if the server reports it.
    pub remaining: Option<u64>,
}

/// An event of a watch. `Debug` prints keys and versions, never contents.
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was created, began to match the selector, or is part of the initial state.
    Added(SourceObject<K>),
    /// The key of an object that is part of the initial state, and that the [`Known`] objects of
    /// [`ListWatch::watch_except`] contain.
    Unchanged(ObjectKey),
    /// An object changed.
    Modified(SourceObject<K>),
    /// An object was deleted or no longer matches the selector; this is its last state.
    Deleted(SourceObject<K>),
    /// Nothing changed up to this version.
    Bookmark {
        /// The version; `None` if the server sent none. Such a bookmark has no effect.
        version: Option<ResourceVersion>,
        /// Whether this bookmark ends the initial events.
        mark: BookmarkMark,
    },
    /// An event whose object could not be decoded.
    Undecodable {
        /// What happened to the object.
        change: ObjectChange,
        /// The object, as far as it could be read.
        object: Undecodable,
    },
    /// An event of a type that this version of the library does not know. It is counted and otherwise
    /// ignored.
    Unknown,
}

impl<K: Object> fmt::Debug for ListEvent<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata(metadata) => f.debug_tuple("Metadata").field(metadata).finish(),
            Self::Item(object) => f.debug_tuple("Item").field(object).finish(),
            Self::Unchanged(key) => f.debug_tuple("Unchanged").field(key).finish(),
            Self::Undecodable(object) => f.debug_tuple("Undecodable").field(object).finish(),
        }
    }
}

impl<K: Object> fmt::Debug for WatchEvent<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(object) => f.debug_tuple("Added").field(object).finish(),
            Self::Modified(object) => f.debug_tuple("Modified").field(object).finish(),
            Self::Deleted(object) => f.debug_tuple("Deleted").field(object).finish(),
            Self::Unchanged(key) => f.debug_tuple("Unchanged").field(key).finish(),
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

/// The meaning of a bookmark besides its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookmarkMark {
    /// No further meaning.
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

/// An object that could not be decoded, with its readable metadata. Never holds the contents of the object.
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
