//! Limits repeated log lines: a few at once, then one per period, each with the number of suppressed lines.

use std::time::Duration;

use tokio::time::Instant;

/// The number of lines of one kind that are logged within one [`PERIOD`].
const BURST: u32 = 10;

/// After this time a line of the same kind is logged again.
const PERIOD: Duration = Duration::from_secs(300);

/// The limit of one kind of log line. Servers and handlers determine how often a warning occurs, so its
/// rate must be bounded.
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
    /// A new event: `Some` with the number of lines suppressed since the last one, `None` to suppress it.
    pub(crate) fn news(&mut self, now: Instant) -> Option<u64> {
        let logged = match self.period {
            Some(period) if now.saturating_duration_since(period.begun) < PERIOD => period.logged,
            _ => 0,
        };
        self.decide(logged < BURST, logged, now)
    }

    /// A repetition of the last event, which is logged once per [`PERIOD`].
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
    fn one_burst_per_period_is_logged_with_a_count() {
        let begun = Instant::now();
        let mut limit = LogLimit::default();
        let logged = (0..1_000).filter(|_| limit.news(begun).is_some()).count();
        assert_eq!(logged, BURST as usize);
        assert_eq!(limit.news(begun + PERIOD - Duration::from_secs(1)), None);
        assert_eq!(limit.news(begun + PERIOD), Some(991));
        assert_eq!(limit.news(begun + PERIOD), Some(0));
    }

    #[test]
    fn every_period_has_one_burst_and_begins_with_its_first_line() {
        let begun = Instant::now();
        let mut limit = LogLimit::default();
        assert_eq!(limit.news(begun), Some(0));
        let late = begun + PERIOD - Duration::from_secs(1);
        let logged = (0..1_000).filter(|_| limit.news(late).is_some()).count();
        assert_eq!(logged, BURST as usize - 1);
        let next = begun + PERIOD;
        let logged = (0..1_000).filter(|_| limit.news(next).is_some()).count();
        assert_eq!(logged, BURST as usize);
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
