//! The status of one scope.

use std::time::Duration;

use tokio::time::Instant;

use super::failures::FailureTracker;
use super::{AuditStatus, Counts, State};
use crate::resource_version::ResourceVersion;
use crate::scope::{Revision, Scope};
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

/// The last complete read of the whole state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LastList {
    /// When it was complete.
    pub at: Instant,
    /// How long it took, from the request to the last object.
    pub took: Duration,
    /// How many objects it had, including those that could not be used.
    pub objects: u64,
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
    /// When the last event other than a bookmark arrived.
    pub last_event: Option<Instant>,
    /// The last complete read of the whole state.
    pub last_list: Option<LastList>,
    /// How old the data of the cache is: the time since data last arrived or, if the cache lacks some of what
    /// arrived, since the last commit. `None` before the first commit of this scope.
    ///
    /// A server sends a bookmark about once a minute, so a healthy scope is rarely older than that. A server
    /// without bookmarks, or of a resource that it does not cache (`events`), sends nothing while nothing
    /// changes.
    pub age: Option<Duration>,
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
    /// Whether something arrived that the cache does not show; set with [`age`](Self::age).
    pub(super) lacks_some: bool,
    /// When the list that is being read began.
    pub(super) list_began: Option<Instant>,
    /// Whether anything has arrived since the last stall.
    pub(super) contact: Contact,
    /// A copy of [`Position::coverage`].
    pub(super) coverage: Coverage,
    /// The version of the last list that was queued.
    pub(super) listed: Option<ResourceVersion>,
    /// The failed attempts since the last complete list.
    pub(super) failures: FailureTracker,
    /// The last change of the scope or its selectors that was requested, and the last that was committed.
    pub(super) requested: Revision,
    pub(super) settled: Revision,
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
            last_event: None,
            last_list: None,
            age: None,
            version: None,
            watch_list: WatchListVerdict::Unknown,
            last_undecodable: None,
            unusable: 0,
            counts: Counts::default(),
            audit: None,
            lacks_some: false,
            list_began: None,
            contact: Contact::Trusted,
            coverage: Coverage::Complete,
            listed: None,
            failures: FailureTracker::default(),
            requested: Revision::default(),
            settled: Revision::default(),
        }
    }

    /// The error that lasts: `None` after a success.
    pub fn current_error(&self) -> Option<&LastError> {
        self.last_error.as_ref().filter(|error| error.count > 0)
    }

    /// The age of the data, unless it is current: a watch is open, and everything that arrived is in the
    /// cache.
    pub(crate) fn stale_for(&self) -> Option<Duration> {
        match self.state {
            State::Live if !self.lacks_some => None,
            _ => self.age,
        }
    }

    /// Sets the age of the data in the cache. `version` is that of the cache.
    pub(crate) fn set_age(&mut self, version: Option<&ResourceVersion>, committed: Instant, now: Instant) {
        let Some(version) = version else {
            self.age = None;
            return;
        };
        self.lacks_some = self
            .version
            .as_ref()
            .is_some_and(|own| version.is_older_than(own));
        let since = match self.lacks_some {
            true => Some(committed),
            false => self.last_contact,
        };
        self.age = since.map(|since| now.saturating_duration_since(since));
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
