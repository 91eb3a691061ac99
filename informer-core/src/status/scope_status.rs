//! The status of one scope.

use tokio::time::Instant;

use super::failures::FailureTracker;
use super::{AuditStatus, State};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{SourceError, Undecodable};
use crate::sync::simulation;

/// How far a reflector has followed its scope, and whether it missed anything.
///
/// The reflector owns this and decides by it; the status of the scope is a copy, made with each report.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    /// The newest version received in order: where the next watch starts.
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) coverage: Coverage,
}

/// Whether the last list, and everything received since, could be read in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    Complete,
    /// It contained an object whose name could not be read, so no missing object could be deleted, or no
    /// change applied. The cache may be wrong until a list can be read in full.
    Partial,
}

impl Coverage {
    /// The coverage of a list with this many unreadable items.
    pub(crate) fn of(unreadable: usize) -> Self {
        if unreadable == 0 {
            Self::Complete
        } else {
            Self::Partial
        }
    }
}

/// The last error, and how long errors have lasted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// The error.
    pub error: SourceError,
    /// When it happened last.
    pub at: Instant,
    /// When the first error after the last success happened.
    pub since: Instant,
    /// How many errors have happened since then.
    pub count: u64,
}

/// What happened in a scope since the informer was built, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Complete lists, by LIST or by watch-list.
    pub lists: u64,
    /// Opened watches.
    pub watches: u64,
    /// Events received in watches, including bookmarks.
    pub events: u64,
    /// Failed requests and streams.
    pub errors: u64,
    /// Objects that could not be decoded.
    pub undecodable: u64,
    /// Those of them whose key could not be read either.
    pub unreadable: u64,
    /// Times the server's history went back (an etcd restore).
    pub rewinds: u64,
    /// Events dropped because the cache already had a newer version.
    pub outdated: u64,
    /// Objects and deletions of a namespace that was not requested. They were rejected and logged.
    pub out_of_scope: u64,
}

/// Whether the server supports watch-lists: the initial state streamed through a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchListVerdict {
    /// Not tried yet, or tried without a clear result.
    #[default]
    Unknown,
    /// It does: a watch-list completed.
    Works,
    /// It does not, for this reason. Lists are used instead, and a watch-list is tried again after 30
    /// minutes.
    Refused(String),
    /// The informer is configured to use lists.
    Off,
}

/// The status of one scope of an informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScopeStatus {
    /// The scope.
    pub scope: Scope,
    /// What the informer is doing in this scope.
    pub state: State,
    /// When it entered this state.
    pub since: Instant,
    /// The last error, also after a recovery.
    pub last_error: Option<LastError>,
    /// When data last arrived: an object of a list, an event or a bookmark. Opening a watch does not count.
    pub last_contact: Option<Instant>,
    /// The version the next watch would start at.
    pub version: Option<ResourceVersion>,
    /// Whether the server supports watch-lists.
    pub watch_list: WatchListVerdict,
    /// The last undecodable object.
    pub last_undecodable: Option<Undecodable>,
    /// How many objects of the last complete list could not be decoded, or failed their transform. The cache
    /// lacks them or has an older state of them.
    pub unusable: u64,
    /// Event counts.
    pub counts: Counts,
    /// What audits found; `None` if they are off.
    pub audit: Option<AuditStatus>,
    /// Whether anything has arrived since the last stall.
    pub(super) contact: Contact,
    /// A copy of [`Position::coverage`].
    pub(super) coverage: Coverage,
    /// The version of the last list that was queued.
    pub(super) listed: Option<ResourceVersion>,
    /// The failed attempts since the last complete list.
    pub(super) failures: FailureTracker,
}

/// Whether the connection is known to carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contact {
    Trusted,
    /// A watch went silent, and nothing has arrived since.
    Suspect,
}

impl ScopeStatus {
    pub(super) fn new(scope: Scope, now: Instant) -> Self {
        Self {
            scope,
            state: State::NotStarted,
            since: now,
            last_error: None,
            last_contact: None,
            version: None,
            watch_list: WatchListVerdict::Unknown,
            last_undecodable: None,
            unusable: 0,
            counts: Counts::default(),
            audit: None,
            contact: Contact::Trusted,
            coverage: Coverage::Complete,
            listed: None,
            failures: FailureTracker::default(),
        }
    }

    pub(super) fn set(&mut self, state: State) {
        if matches!(state, State::Stalled) {
            self.contact = Contact::Suspect;
        }
        if std::mem::discriminant(&self.state) != std::mem::discriminant(&state) {
            self.since = Instant::now();
            simulation::transition("informer", self.state.name(), state.name());
        }
        self.state = state;
    }

    /// Copies what the reflector knows.
    pub(super) fn follow(&mut self, position: &Position) {
        self.version = position.version.clone();
        self.coverage = position.coverage;
    }

    /// Records that the server is alive: data arrived, or it closed a watch normally.
    pub(super) fn trust(&mut self) {
        self.contact = Contact::Trusted;
        if let Some(error) = &mut self.last_error {
            error.count = 0;
        }
    }
}
