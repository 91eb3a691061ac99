//! The rhythm of a watch: when it was last heard, and when its silence becomes suspicious.

use std::time::Duration;

use tokio::time::Instant;

/// How often a kube-apiserver sends a bookmark, about. A shorter rhythm is treated as this one: two bookmarks
/// may come close together, for example just before the end of a watch.
const USUAL_PERIOD: Duration = Duration::from_secs(60);

/// How many bookmarks in a row may be missing.
const MISSED: u32 = 3;

/// The silence that is suspicious whatever the rhythm is.
pub(super) const SUSPICIOUS: Duration = Duration::from_secs(180);

/// What arrives in one watch, by the clock.
///
/// A connection whose peer has vanished looks like a quiet one. Bookmarks tell them apart: after two of them
/// the stream has a rhythm, the longest time between two, and a stream that is silent for three such periods
/// is given up. Servers that send no bookmarks have no rhythm, and only the timeout of the watch ends their
/// silence.
#[derive(Debug)]
pub(super) struct Pulse {
    heard: Instant,
    bookmark: Option<Instant>,
    period: Option<Duration>,
}

impl Pulse {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            heard: now,
            bookmark: None,
            period: None,
        }
    }

    /// Anything but a bookmark arrived and was taken.
    pub(super) fn event(&mut self, now: Instant) {
        self.heard = now;
    }

    /// A bookmark arrived and was taken.
    pub(super) fn bookmark(&mut self, now: Instant) {
        if let Some(last) = self.bookmark {
            let gap = now.saturating_duration_since(last).max(USUAL_PERIOD);
            self.period = self.period.max(Some(gap));
        }
        self.bookmark = Some(now);
        self.heard = now;
    }

    /// When silence becomes suspicious; `None` without a rhythm.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.heard.checked_add(self.period?.saturating_mul(MISSED))
    }

    /// How long nothing has arrived.
    pub(super) fn silent_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.heard)
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
    fn two_bookmarks_make_a_rhythm() {
        check(&[], &[100], None);
        check(&[60], &[100], None);
        check(&[60, 120], &[], Some(300));
        check(&[60, 120], &[130], Some(310));
        check(&[60, 61], &[], Some(241));
        check(&[60, 160, 220], &[], Some(520));
    }
}
