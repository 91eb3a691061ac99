//! The queue between reflectors and committer: changes in arrival order, popped as consistent cuts.
//!
//! [`DeltaFifo::channel`] returns the two ends. Reflectors hold senders: a sender rejects keys of other
//! scopes and waits while the queue is full. The committer holds the receiver: each
//! [`pop`](DeltaReceiver::pop) takes a prefix of everything that arrived, so committing it in one step never
//! shows a later change without an earlier one. Each object is transformed once: objects of a list while the
//! list is collected, objects of a watch when they are popped.

mod fifo;
mod intake;
mod queue;
mod replace;
#[cfg(all(test, not(feature = "__model")))]
mod surface_tests;
mod transform;

use std::fmt;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Stored;

pub use fifo::Fifo;
// Users receive tickets, and only the processor creates them. The workspace's tests do as well.
pub use crate::scope::Revision;
#[cfg(not(feature = "__internals"))]
pub(crate) use queue::ResyncTicket;
#[cfg(feature = "__internals")]
pub use queue::ResyncTicket;
pub use queue::{Closed, DeltaFifo, DeltaReceiver, DeltaSender, QueueOptions};
pub(crate) use queue::{Joined, QueueGauge};
#[cfg(all(test, not(feature = "__model")))]
pub(crate) use replace::Provenance;
pub(crate) use replace::Rewind;
pub use replace::{ReplaceAll, ReplaceBuilder};
pub use transform::Transform;
pub(crate) use transform::Unusable;

/// One change of one object. `Debug` prints its key and version, never its contents.
#[non_exhaustive]
pub enum Delta<K> {
    /// The server reported it as added.
    Added(Stored<K>),
    /// The server reported it as modified.
    Updated(Stored<K>),
    /// It was deleted.
    Deleted(Departed<K>),
    /// It exists, but its newest state could not be decoded, or its transform failed.
    Unusable(Unusable),
}

/// What is known of a deleted object.
pub enum Departed<K> {
    /// Its last state.
    Observed(Stored<K>),
    /// Only its key: the last state could not be decoded.
    KeyOnly,
}

/// The changes of one key in one batch, oldest first.
pub struct Deltas<K> {
    /// The key.
    pub key: ObjectKey,
    /// The changes.
    pub changes: Vec<Change<K>>,
}

/// One change with its position in arrival order and its version.
pub struct Change<K> {
    /// The position within the batch, over all keys.
    pub arrival: usize,
    /// The version the server gave it.
    pub version: Option<ResourceVersion>,
    /// The change.
    pub delta: Delta<K>,
}

/// What one pop returns: always a prefix of what arrived.
#[non_exhaustive]
pub enum Batch<K> {
    /// Single changes, grouped by key.
    Changes {
        /// One entry per key, in the order in which the keys first appear.
        deltas: Vec<Deltas<K>>,
        /// The version each scope has reached with this batch, ordered by scope.
        versions: Vec<(Scope, ResourceVersion)>,
    },
    /// The whole state of one scope.
    ReplaceAll {
        /// The state.
        state: ReplaceAll<K>,
        /// How it counts towards the initial sync.
        initial: InitialSync,
    },
    /// A resync: every object is delivered again to these handlers.
    SyncAll(ResyncTicket),
    /// The server has confirmed the state of a scope that was read from a file.
    Confirmed {
        /// How it counts towards the initial sync.
        initial: InitialSync,
    },
    /// A scope was added to the informer or removed from it, or selects other objects from now on.
    Scope {
        /// The scope.
        scope: Scope,
        /// What happened to it.
        change: ScopeChange,
        /// The number of the change.
        revision: Revision,
        /// How a removal counts towards the initial sync, which no longer needs a state of the scope.
        initial: InitialSync,
    },
}

/// A change of the scopes of an informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeChange {
    /// It was added: its first state follows.
    Added,
    /// Its objects are selected by other selectors: their whole state follows.
    Reselected,
    /// It was removed, with all its objects.
    Removed,
}

/// How a whole state counts towards the initial sync, which needs one whole state of every scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSync {
    /// It is the first state of its scope, and another scope has none yet.
    First,
    /// It is the first state of its scope, and every other scope has one: the initial sync is complete.
    Completes,
    /// It does not: its scope had a state before.
    Relist,
    /// It does not yet: it was read from a file, and the server has not confirmed it.
    Seed,
}

impl<K: Object> fmt::Debug for Delta<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(object) => f.debug_tuple("Added").field(object).finish(),
            Self::Updated(object) => f.debug_tuple("Updated").field(object).finish(),
            Self::Deleted(Departed::Observed(object)) => f.debug_tuple("Deleted").field(object).finish(),
            Self::Deleted(Departed::KeyOnly) => f.write_str("Deleted"),
            Self::Unusable(unusable) => f.debug_tuple("Unusable").field(&unusable.reason).finish(),
        }
    }
}

impl<K: Object> fmt::Debug for Deltas<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = self.changes.iter().map(|change| &change.delta);
        write!(f, "{}: ", self.key)?;
        f.debug_list().entries(changes).finish()
    }
}

impl<K: Object> fmt::Debug for Batch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes { deltas, versions } => f
                .debug_struct("Changes")
                .field("deltas", deltas)
                .field("versions", versions)
                .finish(),
            Self::ReplaceAll { state, initial } => f
                .debug_struct("ReplaceAll")
                .field("state", state)
                .field("initial", initial)
                .finish(),
            Self::SyncAll(ticket) => f.debug_tuple("SyncAll").field(ticket).finish(),
            Self::Confirmed { initial } => f.debug_tuple("Confirmed").field(initial).finish(),
            Self::Scope { scope, change, .. } => f.debug_tuple("Scope").field(scope).field(change).finish(),
        }
    }
}
