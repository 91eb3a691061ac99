//! A limit on the size of several stores together: what they hold, and what is being read for them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::versions::Versions;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::sync::Mutex;

/// The size of all stores that share it, and its limit. A clone is another handle to the same count.
///
/// Stores count with [`Snapshot::bytes`](super::Snapshot::bytes) until they are dropped, and lists with what
/// they would add, from their first object on: lists that are read at the same time cannot exceed the limit
/// together.
#[derive(Clone)]
pub struct TotalBytes(Arc<Total>);

struct Total {
    limit: u64,
    used: AtomicU64,
}

impl TotalBytes {
    /// Creates a count of zero.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Total {
            limit,
            used: AtomicU64::new(0),
        }))
    }

    /// Returns the limit.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the present count.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Whether as many more bytes are within the limit.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.limit()
    }

    /// Counts `after` instead of `before`, without a check.
    fn change(&self, before: u64, after: u64) {
        match after >= before {
            true => self.0.used.fetch_add(after - before, Ordering::Relaxed),
            false => self.0.used.fetch_sub(before - after, Ordering::Relaxed),
        };
    }

    /// Counts more bytes if they are within the limit.
    fn try_add(&self, bytes: u64) -> bool {
        let within = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.0.limit);
        let added = self
            .0
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        added.is_ok()
    }
}

impl fmt::Debug for TotalBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TotalBytes")
            .field("limit", &self.limit())
            .field("used", &self.used())
            .finish()
    }
}

/// The part of one store in a [`TotalBytes`], shared by the store and the reflectors that fill it.
pub(crate) struct ByteShare {
    total: TotalBytes,
    /// What waits in the queue: it is counted here until the store has it.
    queued: Mutex<Vec<Queued>>,
}

/// A whole state that was queued and is not in the store yet.
struct Queued {
    scope: Scope,
    version: ResourceVersion,
    bytes: u64,
}

impl ByteShare {
    pub(crate) fn new(total: TotalBytes) -> Arc<Self> {
        Arc::new(Self {
            total,
            queued: Mutex::new(Vec::new()),
        })
    }

    /// Returns the count of all stores.
    pub(crate) fn total(&self) -> &TotalBytes {
        &self.total
    }

    /// Counts what a read adds to the store, starting with nothing. What an earlier read of the scope queued
    /// is no longer counted.
    pub(crate) fn reserve(self: &Arc<Self>, scope: &Scope) -> Reservation {
        self.settle(|queued| queued.scope == *scope);
        Reservation {
            share: self.clone(),
            bytes: AtomicU64::new(0),
        }
    }

    /// Counts the bytes of a new state of the store instead of those of the one before.
    pub(super) fn published(&self, before: u64, after: u64, versions: &Versions) {
        // Before the queued bytes are released, so that the sum is never too small.
        self.total.change(before, after);
        self.settle(|queued| {
            let version = versions.get(&queued.scope);
            version.is_some_and(|version| !version.is_older_than(&queued.version))
        });
    }

    fn settle(&self, is_settled: impl Fn(&Queued) -> bool) {
        let mut queued = self.queued.lock();
        for settled in queued.extract_if(.., |queued| is_settled(queued)) {
            self.total.change(settled.bytes, 0);
        }
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        self.settle(|_| true);
    }
}

/// What one read of a whole state adds to its store. Dropping it releases the bytes.
pub(crate) struct Reservation {
    share: Arc<ByteShare>,
    bytes: AtomicU64,
}

impl Reservation {
    /// Sets the number of bytes. Returns false, and leaves it, if the limit would be exceeded.
    pub(crate) fn set(&self, bytes: u64) -> bool {
        let before = self.bytes.load(Ordering::Relaxed);
        if bytes > before {
            if !self.share.total.try_add(bytes - before) {
                return false;
            }
        } else {
            self.share.total.change(before, bytes);
        }
        self.bytes.store(bytes, Ordering::Relaxed);
        true
    }

    /// Keeps the bytes until the store has this version of the scope.
    pub(crate) fn until(self, scope: &Scope, version: &ResourceVersion) {
        // What is dropped at the end releases nothing.
        let bytes = self.bytes.swap(0, Ordering::Relaxed);
        if bytes > 0 {
            self.share.queued.lock().push(Queued {
                scope: scope.clone(),
                version: version.clone(),
                bytes,
            });
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.share.total.change(bytes, 0);
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    fn version(number: u64) -> ResourceVersion {
        ResourceVersion::new(&number.to_string())
    }

    fn versions(number: u64) -> Versions {
        let mut versions = Versions::default();
        versions.advance(&Scope::All, version(number));
        versions
    }

    #[test]
    fn reads_at_the_same_time_share_the_limit_and_release_what_they_drop() {
        let total = TotalBytes::new(100);
        let (one, two) = (ByteShare::new(total.clone()), ByteShare::new(total.clone()));
        let (first, second) = (one.reserve(&Scope::All), two.reserve(&Scope::All));
        assert!(first.set(60) && second.set(40));
        assert!(!second.set(41), "both together are over the limit");
        assert!(second.set(10) && first.set(90));
        assert_eq!(total.used(), 100);
        drop(first);
        assert!(second.set(100));
        drop(second);
        assert_eq!(total.used(), 0);
    }

    #[test]
    fn a_queued_state_counts_until_the_store_has_it() {
        let total = TotalBytes::new(100);
        let share = ByteShare::new(total.clone());
        let read = share.reserve(&Scope::All);
        assert!(read.set(70));
        read.until(&Scope::All, &version(5));
        assert_eq!(total.used(), 70);
        share.published(0, 10, &versions(4));
        assert_eq!(total.used(), 80, "a change before it");
        share.published(10, 70, &versions(5));
        assert_eq!(total.used(), 70);
        share.published(70, 30, &versions(6));
        assert!(total.has_room_for(70) && !total.has_room_for(71));
    }

    #[test]
    fn the_next_read_or_the_end_of_the_store_releases_what_was_queued() {
        let total = TotalBytes::new(100);
        let share = ByteShare::new(total.clone());
        for _ in 0..2 {
            let read = share.reserve(&Scope::All);
            assert!(read.set(70));
            read.until(&Scope::All, &version(5));
        }
        drop(share);
        assert_eq!(total.used(), 0);
    }
}
