//! Limits repeated log lines: a few at once, then few and far between, each with the number of those left
//! out.

use std::time::Duration;

use tokio::time::Instant;

/// How many lines of one sort are logged within one [`PERIOD`].
const BURST: u32 = 10;

/// After this time a line of the same sort is logged again.
const PERIOD: Duration = Duration::from_secs(300);

/// The limit of one sort of line. A server or a handler decides how often a warning is due, so that its
/// number must be bounded.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    period: Option<Period>,
    suppressed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Period {
    begun: Instant,
    logged: u32,
    last: Instant,
}

impl LogLimit {
    /// Something new is to be logged: `Some` with the number of lines left out since the last one, `None` to
    /// leave it out.
    pub(crate) fn news(&mut self, now: Instant) -> Option<u64> {
        let logged = match self.period {
            Some(period) if now.saturating_duration_since(period.begun) < PERIOD => period.logged,
            _ => 0,
        };
        self.decide(logged < BURST, logged, now)
    }

    /// The same as before is to be logged, which is due once in a [`PERIOD`].
    pub(crate) fn repetition(&mut self, now: Instant) -> Option<u64> {
        let is_due = self
            .period
            .is_none_or(|period| now.saturating_duration_since(period.last) >= PERIOD);
        self.decide(is_due, 0, now)
    }

    fn decide(&mut self, is_due: bool, logged: u32, now: Instant) -> Option<u64> {
        if !is_due {
            self.suppressed += 1;
            return None;
        }
        let begun = self
            .period
            .filter(|_| logged > 0)
            .map_or(now, |period| period.begun);
        self.period = Some(Period {
            begun,
            logged: logged + 1,
            last: now,
        });
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_logged_and_then_one_burst_per_period_with_a_count() {
        let begun = Instant::now();
        let mut limit = LogLimit::default();
        let logged = (0..1_000).filter(|_| limit.news(begun).is_some()).count();
        assert_eq!(logged, BURST as usize);
        assert_eq!(limit.news(begun + PERIOD - Duration::from_secs(1)), None);
        assert_eq!(limit.news(begun + PERIOD), Some(991));
        assert_eq!(limit.news(begun + PERIOD), Some(0));
    }

    #[test]
    fn a_repetition_is_logged_once_per_period_with_a_count() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut limit = LogLimit::default();
        assert_eq!(limit.news(at(0)), Some(0));
        let logged: Vec<_> = (1..=60)
            .filter_map(|step| limit.repetition(at(10 * step)))
            .collect();
        assert_eq!(logged, [29, 29]);
    }
}
