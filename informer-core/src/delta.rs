//! The queue between reflector and store: changes in the order of their arrival, handed out as consistent cuts.
//!
//! [`DeltaFifo::channel`] gives the two ends. The sender belongs to the reflectors: it refuses keys of other
//! scopes and waits while the queue is full. The receiver belongs to the committer: each
//! [`pop`](DeltaReceiver::pop) takes a prefix of everything that arrived, so committing it in one step never
//! shows a later change without an earlier one. Each object is transformed once: those of a whole state while
//! it is collected, single changes when they are taken out.

mod fifo;
mod intake;
mod queue;
mod replace;

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::object::{Name, Object};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

pub use fifo::Fifo;
pub use intake::{Transform, Unusable};
pub use queue::{Closed, DeltaFifo, DeltaReceiver, DeltaSender, QueueOptions};
pub use replace::{ReplaceAll, ReplaceBuilder, Rewind};

/// One change of one object. `Debug` prints its key and version, never its contents.
#[non_exhaustive]
pub enum Delta<K> {
    /// The server said it was added.
    Added(Arc<K>),
    /// The server said it was modified.
    Updated(Arc<K>),
    /// It was deleted.
    Deleted(Departed<K>),
    /// It exists, but its newest state could not be decoded, or its transform failed.
    Unusable(Unusable),
}

/// What is known of an object that is gone.
pub enum Departed<K> {
    /// Its last state.
    Observed(Arc<K>),
    /// Nothing but its key: the last state could not be decoded.
    KeyOnly,
}

/// The changes of one key in one batch, oldest first.
pub struct Deltas<K> {
    /// The key.
    pub key: ObjectKey,
    /// The changes.
    pub changes: Vec<Change<K>>,
}

/// One change with its place in the order of arrival and its version.
pub struct Change<K> {
    /// The change's place within the batch, over all keys.
    pub arrival: usize,
    /// The version the server gave it.
    pub version: Option<ResourceVersion>,
    /// The change.
    pub delta: Delta<K>,
}

/// What one pop takes out of the queue: always a prefix of what arrived.
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
    ReplaceAll(ReplaceAll<K>),
    /// Every object is to be told again to these handlers.
    SyncAll(ResyncTicket),
}

/// Which handlers a resync is for, by their number in the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResyncTicket(pub(crate) Vec<u64>);

impl ResyncTicket {
    /// A ticket for the handlers of these numbers.
    pub fn new(handlers: Vec<u64>) -> Self {
        Self(handlers)
    }
}

impl<K: Object> fmt::Debug for Delta<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(object) => f.debug_tuple("Added").field(&Name(object.as_ref())).finish(),
            Self::Updated(object) => f.debug_tuple("Updated").field(&Name(object.as_ref())).finish(),
            Self::Deleted(Departed::Observed(object)) => {
                f.debug_tuple("Deleted").field(&Name(object.as_ref())).finish()
            }
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
            Self::ReplaceAll(state) => f.debug_tuple("ReplaceAll").field(state).finish(),
            Self::SyncAll(ticket) => f.debug_tuple("SyncAll").field(ticket).finish(),
        }
    }
}
