//! Detects a silent watch by the interval of its bookmarks.

use std::time::Duration;

use tokio::time::Instant;

/// About how often a kube-apiserver sends bookmarks. A shorter interval is treated as this one: two bookmarks
/// may come close together, for example just before the end of a watch.
const USUAL_PERIOD: Duration = Duration::from_secs(60);

/// How many bookmarks in a row may be missed.
const MISSED: u32 = 3;

/// Silence of this length is suspicious in any watch.
pub(super) const SUSPICIOUS: Duration = Duration::from_secs(180);

/// When events and bookmarks arrived in one watch.
///
/// A connection whose peer has vanished looks like a quiet one. Bookmarks distinguish them: after two
/// bookmarks the longest interval between two of them is known, and a stream that is silent for three such
/// intervals is abandoned. Without bookmarks only the timeout of the watch ends the silence.
#[derive(Debug)]
pub(super) struct Pulse {
    last: Instant,
    bookmark: Option<Instant>,
    period: Option<Duration>,
}

impl Pulse {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            last: now,
            bookmark: None,
            period: None,
        }
    }

    /// An event other than a bookmark was processed.
    pub(super) fn event(&mut self, now: Instant) {
        self.last = now;
    }

    /// A bookmark was processed.
    pub(super) fn bookmark(&mut self, now: Instant) {
        if let Some(last) = self.bookmark {
            let gap = now.saturating_duration_since(last).max(USUAL_PERIOD);
            self.period = self.period.max(Some(gap));
        }
        self.bookmark = Some(now);
        self.last = now;
    }

    /// When silence becomes suspicious; `None` while the interval is unknown.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.last.checked_add(self.period?.saturating_mul(MISSED))
    }

    /// How long ago anything arrived.
    pub(super) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bookmarks: &[u64], events: &[u64], expected: Option<u64>) {
        let begun = Instant::now();
        let at = |seconds: &u64| begun + Duration::from_secs(*seconds);
        let mut pulse = Pulse::new(begun);
        for seconds in bookmarks {
            pulse.bookmark(at(seconds));
        }
        for seconds in events {
            pulse.event(at(seconds));
        }
        let deadline = pulse.deadline().map(|deadline| (deadline - begun).as_secs());
        assert_eq!(deadline, expected, "bookmarks {bookmarks:?}, events {events:?}");
    }

    #[test]
    fn two_bookmarks_set_the_interval() {
        check(&[], &[100], None);
        check(&[60], &[100], None);
        check(&[60, 120], &[], Some(300));
        check(&[60, 120], &[130], Some(310));
        check(&[60, 61], &[], Some(241));
        check(&[60, 160, 220], &[], Some(520));
    }
}
