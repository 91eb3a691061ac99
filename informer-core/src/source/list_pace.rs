//! Limits the size of a list and its time without progress.

use std::time::Duration;

use super::SourceError;

/// The number of bytes that count as progress, besides a complete item. Without this minimum, a server that
/// sends a byte now and then would keep the informer listing forever.
const LEAST_BYTES: u64 = 1024;

/// The size and progress of the body of one list.
pub(super) struct ListPace {
    max_bytes: u64,
    window: Duration,
    total: u64,
    /// The bytes since the last progress, and the time spent waiting for them. Time in which the stream is
    /// not polled does not count.
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

    /// Records a chunk of the body that arrived after a wait.
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

    /// Records progress: a complete item, or enough bytes.
    pub(super) fn progressed(&mut self) {
        self.since = 0;
        self.waited = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_list_may_have_exactly_as_many_bytes_as_the_limit() {
        let mut pace = ListPace::new(2_000, SECOND);
        assert!(pace.took(1_500, Duration::ZERO).is_ok());
        assert!(pace.took(500, Duration::ZERO).is_ok());
        let error = pace.took(1, Duration::ZERO).unwrap_err();
        assert!(
            matches!(error, SourceError::ListTooLarge { limit: 2_000, .. }),
            "{error}"
        );
    }

    #[test]
    fn a_list_may_wait_exactly_as_long_as_the_window() {
        let mut pace = ListPace::new(u64::MAX, SECOND);
        assert!(pace.took(1, SECOND / 2).is_ok());
        assert!(pace.took(1, SECOND / 2).is_ok());
        let error = pace.took(1, Duration::from_nanos(1)).unwrap_err();
        assert!(
            matches!(error, SourceError::Deadline { after: SECOND, .. }),
            "{error}"
        );
    }

    #[test]
    fn an_item_or_a_kilobyte_restarts_the_window() {
        let mut pace = ListPace::new(u64::MAX, SECOND);
        for _ in 0..10 {
            assert!(pace.took(1, SECOND).is_ok());
            pace.progressed();
        }
        for _ in 0..10 {
            assert!(pace.took(LEAST_BYTES as usize - 1, SECOND).is_ok());
            assert!(pace.took(1, SECOND * 10).is_ok(), "the kilobyte is complete");
        }
    }
}
