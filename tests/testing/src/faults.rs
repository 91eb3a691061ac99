//! Faults: what a test can make the server do wrong, on chosen requests or at random from a seed.

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

/// One way to misbehave.
///
/// Faults of lists strike lists only and faults of watches watches only, so a [`Rule`] needs no verb for them. The others
/// strike any request about a resource. Events are counted from the opening of the watch, bookmarks included.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Answers with this refusal. The constructors below word the usual ones as the real server does.
    Status(ApiError),
    /// Answers 403, naming the verb and the resource of the request as the RBAC authoriser does.
    Forbidden,
    /// Fails as if nobody listened.
    Refuse,
    /// Never answers. The request ends, as a broken connection, when the rule is removed or the server stops.
    Hang,
    /// Answers that much later, by tokio's clock.
    Delay(Duration),
    /// Sends the body, of a list or a watch, in pieces of at most this many bytes.
    Fragment(usize),
    /// Breaks the connection in the body of a list or a watch.
    Cut(Cut),
    /// Answers a list or the events of a watch as Tables, whatever was asked for.
    Table,
    /// Sends a copy of each object under another namespace, or without one, in lists and watches of one
    /// namespace. A real server never does this; it shows whether a client refuses what it did not request.
    /// Requests in the namespace of the copies are not affected.
    Foreign {
        /// The namespace of the copies.
        namespace: Option<String>,
    },
    /// Lists and watches see nothing newer than this revision, as behind a replica that lags. Watches catch up when the
    /// rule is removed.
    Stale(u64),

    /// A list whose body ends early without any sign of an error.
    TruncateList {
        /// How many bytes of the body are sent.
        bytes: usize,
    },
    /// A list without `metadata.resourceVersion`.
    OmitListVersion,
    /// Refuses a list that has a continue token, as if the token had expired. Other lists are left alone.
    ExpireToken,
    /// Spoils one item of a list.
    GarbleItem {
        /// The position of the item in the list; nothing happens in shorter lists.
        index: usize,
        /// What is done to it.
        garble: Garble,
    },

    /// Ends a watch cleanly after so many events; zero is a very short watch.
    CloseWatch {
        /// How many events are sent first.
        after: usize,
    },
    /// Stops sending after so many events without closing. The stream breaks when the rule is removed.
    HalfOpen {
        /// How many events are sent first.
        after: usize,
    },
    /// Sends an ERROR event after so many events, and then ends.
    ErrorEvent {
        /// How many events are sent first.
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
    /// Sends no bookmarks but the one that ends the initial events.
    OmitProgressBookmarks,
    /// Puts an empty gzip member after every flush of a compressed watch.
    EmptyMembers,
    /// Sends the initial events as of so many revisions ago, then the changes since, and only then the end bookmark: MODIFIED
    /// and DELETED arrive before it, as happens on large clusters.
    ChangesBeforeEnd {
        /// How many revisions to go back, as far as the history reaches.
        revisions: u64,
    },
    /// Sends every initial event twice.
    DuplicateInitial,
    /// Sends the initial events in a random order drawn from this seed.
    ShuffleInitial {
        /// The seed of the order.
        seed: u64,
    },
    /// Spoils the object of one event.
    GarbleEvent {
        /// Events of which type.
        kind: EventType,
        /// Which of them, counted from zero.
        index: usize,
        /// What is done to it.
        garble: Garble,
    },
    /// Begins a watch from a version with older states of objects that are still there, from up to so many revisions before that
    /// version, as something between client and server that sends twice would. Other watches are left alone.
    RepeatEvents {
        /// How many revisions to go back, as far as the history reaches.
        revisions: u64,
    },
    /// Loses events about objects without a trace. A real server never does: this is to prove that a test notices.
    DropEvents {
        /// How many are sent first.
        after: usize,
        /// How many are lost then.
        count: usize,
    },
}

/// Where a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// After so many bytes of the body, as sent (compressed, if it is).
    Bytes(usize),
    /// After so many whole events of a watch.
    Events(usize),
    /// This long after a watch was opened, by tokio's clock, as proxies do that limit the age of connections.
    After(Duration),
    /// In the middle of the object that follows so many events.
    MidObject(usize),
    /// Within a character of more than one byte in the event that follows so many events; in the middle of the object if
    /// it has none.
    MidCharacter(usize),
    /// In the middle of the gzip member of the event that follows so many events; of the object if there is no gzip.
    MidMember(usize),
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Garble {
    /// A field has the wrong type; namespace, name and version can still be read.
    Content,
    /// The metadata is not an object: not even the key can be read.
    Key,
    /// The object is `null`.
    Null,
    /// The text is not JSON.
    Syntax,
}

impl Fault {
    /// A short name for tables and logs, the same whatever the details: `HalfOpen`, `Status 503`, `Cut MidObject`.
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

    /// Whether the fault strikes when so many events were sent, and not when the request arrives.
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

    /// 504 with the cause that says that the version asked for lies in the future.
    pub fn version_too_large() -> Self {
        Self::Status(ApiError::too_large_version("999999999", "1"))
    }
}

/// The name of a variant, without what is in it.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}
