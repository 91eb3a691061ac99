//! The store: one writer, any number of readers that never wait, and atomic commits.
//!
//! An `IndexerWriter` publishes immutable [`Snapshot`]s; an [`Indexer`] reads the newest one. Objects are
//! kept in a copy-on-write tree ordered by namespace and name, so a commit copies only what it changes, and
//! a snapshot may be held for any time. Secondary indexes ([`Index`]) hold the objects themselves and
//! belong to the same snapshot.

mod commit;
mod freshness;
mod give_way;
mod index;
mod indexer;
mod key_ref;
mod place;
mod replace;
mod select;
mod snapshot;
mod spare;
mod stale;
mod state;
pub(crate) mod total;
mod tree;
mod ttl;
mod versions;
mod writer;

#[cfg(test)]
mod tests;

pub use self::freshness::Freshness;
pub use self::index::{Index, IndexDefinition, IndexError, IndexStatus, IndexValue, IndexView};
pub use self::indexer::Indexer;
pub use self::key_ref::KeyRef;
pub use self::select::Selected;
pub use self::snapshot::{Entries, Snapshot};
pub use self::stale::Stale;
pub use self::ttl::{Clock, SystemClock, TtlStore};
pub use self::versions::{Progress, Versions};
pub use crate::storage::ObjectRef;

// The write side: only the committer writes.
pub(crate) use self::{
    place::Place,
    replace::{ListedObject, Missing, Outcome, Replacement},
    state::Spares,
    total::{ByteShare, Reservation},
    writer::{IndexerWriter, Retired},
};

/// Creates an empty store. Returns its only writer, and a reader.
pub(crate) fn new<K: Send + Sync + 'static>() -> (IndexerWriter<K>, Indexer<K>) {
    let writer = IndexerWriter::new();
    let indexer = writer.indexer();
    (writer, indexer)
}
