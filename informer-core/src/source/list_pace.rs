//! How large a list may be, and how slowly it may arrive.

use std::time::Duration;

use super::SourceError;

/// How many bytes must arrive within each idle limit, unless a whole item does. A single byte now and then is
/// no list: nothing would ever come of it, and the informer would show that it is listing.
const LEAST_BYTES: u64 = 1024;

/// Counts the body of one list.
pub(super) struct ListPace {
    max_bytes: u64,
    window: Duration,
    total: u64,
    /// The bytes since the last progress, and the time spent waiting for them. Time in which nobody reads is
    /// not the server's.
    since: u64,
    waited: Duration,
}

impl ListPace {
    pub(super) fn new(max_bytes: u64, window: Duration) -> Self {
        Self {
            max_bytes,
            window,
            total: 0,
            since: 0,
            waited: Duration::ZERO,
        }
    }

    /// So many bytes of the body arrived, after a wait.
    pub(super) fn took(&mut self, bytes: usize, waited: Duration) -> Result<(), SourceError> {
        self.total = self.total.saturating_add(bytes as u64);
        if self.total > self.max_bytes {
            return Err(SourceError::ListTooLarge {
                limit: self.max_bytes,
                unit: "bytes",
                setting: "max_list_bytes",
            });
        }
        self.since = self.since.saturating_add(bytes as u64);
        self.waited = self.waited.saturating_add(waited);
        if self.since >= LEAST_BYTES {
            self.progressed();
        }
        if self.waited > self.window {
            return Err(SourceError::Deadline {
                what: "the next object or kilobyte of a list",
                after: self.window,
            });
        }
        Ok(())
    }

    /// A whole item arrived, or enough of one.
    pub(super) fn progressed(&mut self) {
        self.since = 0;
        self.waited = Duration::ZERO;
    }
}
