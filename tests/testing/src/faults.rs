//! Faults that a test injects into the server, on chosen requests or at random from a seed.

mod plan;
mod profile;
mod rule;
mod script;

use std::time::Duration;

use crate::error::ApiError;
use crate::watch::EventType;

pub(crate) use plan::{Ending, Passage, Plan, Planned, StreamFaults, end_bookmark, progress_bookmark};
pub use profile::Profile;
pub use rule::Rule;
pub(crate) use script::Script;
pub use script::{FaultId, Faults};

/// One fault.
///
/// Faults of lists apply to lists only and faults of watches to watches only, so a [`Rule`] needs no verb for
/// them. The others apply to any request for a resource. Events are counted from the start of the watch,
/// including bookmarks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Answers with this error. The constructors below create the usual ones, worded as the real server does.
    Status(ApiError),
    /// Answers 403, naming the verb and the resource of the request as the RBAC authoriser does.
    Forbidden,
    /// Refuses the connection.
    Refuse,
    /// Never answers. The connection breaks when the rule is removed or the server stops.
    Hang,
    /// Delays the answer, by tokio's clock.
    Delay(Duration),
    /// Sends the body of a list or a watch in chunks of at most this many bytes.
    Fragment(usize),
    /// Breaks the connection in the body of a list or a watch.
    Cut(Cut),
    /// Sends Tables in a list or a watch, ignoring the `Accept` header.
    Table,
    /// Sends a copy of each object under another namespace, or without one, in lists and watches of one
    /// namespace. A real server never does this; this tests whether a client refuses objects that it did not
    /// request. Requests in the namespace of the copies are not affected.
    Foreign {
        /// The namespace of the copies.
        namespace: Option<String>,
    },
    /// Lists and watches do not see changes after this revision, as on a lagging replica. Watches catch up
    /// when the rule is removed.
    Stale(u64),

    /// Ends the body of a list early, without an error.
    TruncateList {
        /// The number of bytes of the body to send.
        bytes: usize,
    },
    /// Sends a list without `metadata.resourceVersion`.
    OmitListVersion,
    /// Sends this text as the resourceVersion of lists and bookmarks, whatever their version is.
    ReplaceVersion(String),
    /// Gives every page of a list a continue token that no page had before. Pages past the end have no items.
    EndlessPages,
    /// Refuses a list that has a continue token, as if the token had expired. Other lists are not affected.
    ExpireToken,
    /// Corrupts one item of a list.
    GarbleItem {
        /// The position of the item in the list; shorter lists are not affected.
        index: usize,
        /// How it is corrupted.
        garble: Garble,
    },

    /// Ends a watch cleanly after this many events; with zero, immediately.
    CloseWatch {
        /// The number of events to send first.
        after: usize,
    },
    /// Stops sending after this many events without closing. The stream breaks when the rule is removed.
    HalfOpen {
        /// The number of events to send first.
        after: usize,
    },
    /// Sends an ERROR event after this many events, then ends the watch.
    ErrorEvent {
        /// The number of events to send first.
        after: usize,
        /// The status in the event.
        error: ApiError,
    },
    /// Never sends the bookmark that ends the initial events.
    OmitEndBookmark,
    /// Sends the bookmark that ends the initial events without its annotation.
    PlainEndBookmark,
    /// Sends the bookmark that ends the initial events with the annotation's value `"false"`.
    FalseEndBookmark,
    /// Sends bookmarks without a resourceVersion.
    OmitBookmarkVersion,
    /// Sends no bookmarks except the one that ends the initial events.
    OmitProgressBookmarks,
    /// Sends an empty gzip member after every flush of a compressed watch.
    EmptyMembers,
    /// Sends the initial events of an older revision, then the changes since, then the end bookmark: MODIFIED
    /// and DELETED arrive before it, as happens on large clusters.
    ChangesBeforeEnd {
        /// The number of revisions to go back, at most to the start of the history.
        revisions: u64,
    },
    /// Sends every initial event twice.
    DuplicateInitial,
    /// Sends the initial events in a random order, determined by this seed.
    ShuffleInitial {
        /// The seed of the order.
        seed: u64,
    },
    /// Corrupts the object of one event.
    GarbleEvent {
        /// The type of the event.
        kind: EventType,
        /// The position among the events of that type, counted from zero.
        index: usize,
        /// How it is corrupted.
        garble: Garble,
    },
    /// Starts a watch from a version with older states of objects that still exist, from up to this many
    /// revisions before that version, as a proxy that repeats data would. Other watches are not affected.
    RepeatEvents {
        /// The number of revisions to go back, at most to the start of the history.
        revisions: u64,
    },
    /// Drops events silently. A real server never does this; it proves that a test notices lost events.
    DropEvents {
        /// The number of events to send first.
        after: usize,
        /// The number of events to drop then.
        count: usize,
    },
}

/// Where a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// After this many bytes of the body, as sent (compressed, if it is).
    Bytes(usize),
    /// After this many complete events of a watch.
    Events(usize),
    /// This long after the start of a watch, by tokio's clock, as proxies do that limit the age of
    /// connections.
    After(Duration),
    /// In the middle of the object after this many events.
    MidObject(usize),
    /// Within a multi-byte character of the event after this many events; in the middle of the object if it
    /// has none.
    MidCharacter(usize),
    /// In the middle of the gzip member of the event after this many events; of the object if the body is not
    /// compressed.
    MidMember(usize),
}

/// How an object is corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Garble {
    /// A field has the wrong type; namespace, name and version can still be read.
    Content,
    /// The metadata is not an object, so the key cannot be read.
    Key,
    /// The object is `null`.
    Null,
    /// The text is not JSON.
    Syntax,
}

impl Fault {
    /// Returns a short name for tables and logs, independent of the details: `HalfOpen`, `Status 503`, `Cut
    /// MidObject`.
    pub fn name(&self) -> String {
        match self {
            Self::Status(error) => format!("Status {}", error.code()),
            Self::Cut(cut) => format!("Cut {}", variant(cut)),
            Self::GarbleItem { garble, .. } => format!("GarbleItem {garble:?}"),
            Self::GarbleEvent { garble, .. } => format!("GarbleEvent {garble:?}"),
            Self::ErrorEvent { error, .. } => format!("ErrorEvent {}", error.code()),
            other => variant(other),
        }
    }

    /// Whether the fault applies after a number of events, not when the request arrives.
    pub(crate) fn waits_for_events(&self) -> bool {
        matches!(
            self,
            Self::CloseWatch { .. }
                | Self::HalfOpen { .. }
                | Self::ErrorEvent { .. }
                | Self::GarbleEvent { .. }
                | Self::DropEvents { .. }
                | Self::Cut(
                    Cut::After(_)
                        | Cut::Events(_)
                        | Cut::MidObject(_)
                        | Cut::MidCharacter(_)
                        | Cut::MidMember(_)
                )
        )
    }

    /// 401, as when a token has expired.
    pub fn unauthorized() -> Self {
        Self::Status(ApiError::new(401, "Unauthorized", "Unauthorized"))
    }

    /// 404 for the resource itself, as when its definition was removed.
    pub fn not_found() -> Self {
        Self::Status(ApiError::no_such_resource())
    }

    /// 410, as for a version that was compacted away.
    pub fn expired() -> Self {
        Self::Status(ApiError::expired(
            "The resourceVersion for the provided list is too old.",
        ))
    }

    /// 429 with `Retry-After`, as while the watch cache of a resource starts.
    pub fn too_many_requests(retry_after_seconds: u64) -> Self {
        let error = ApiError::new(429, "TooManyRequests", "storage is (re)initializing");
        Self::Status(error.with_retry_after(retry_after_seconds))
    }

    /// 500.
    pub fn internal_error() -> Self {
        let message = "Internal error occurred: etcdserver: leader changed";
        Self::Status(ApiError::new(500, "InternalError", message))
    }

    /// 503, as while the server shuts down.
    pub fn unavailable() -> Self {
        let message = "the server is currently unable to handle the request";
        Self::Status(ApiError::new(503, "ServiceUnavailable", message))
    }

    /// 504, as when etcd does not answer in time.
    pub fn timeout() -> Self {
        let message =
            "Timeout: request did not complete within requested timeout - context deadline exceeded";
        Self::Status(ApiError::new(504, "Timeout", message))
    }

    /// 504 with the cause for a requested version in the future.
    pub fn version_too_large() -> Self {
        Self::Status(ApiError::too_large_version("999999999", "1"))
    }
}

/// Returns the name of a variant without its fields.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}
