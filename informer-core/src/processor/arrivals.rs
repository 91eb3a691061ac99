//! When the events that wait in a buffer arrived, in bounded memory.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The largest number of marks. Past it, every second one is dropped, and further ones are made half as
/// often.
const MARKS: usize = 64;

/// The smallest distance of two marks.
const RESOLUTION: Duration = Duration::from_millis(10);

/// The arrival times of a buffer's entries, which are numbered in the order of arrival.
///
/// One mark per batch, not per entry. A mark that was dropped, or never made, makes an entry look older than
/// it is, never younger.
pub(super) struct Arrivals {
    marks: VecDeque<Mark>,
    /// The distance of two marks.
    spacing: Duration,
}

/// Entries from this number on arrived at this time or later.
struct Mark {
    first: u64,
    at: Instant,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            marks: VecDeque::new(),
            spacing: RESOLUTION,
        }
    }
}

impl Arrivals {
    /// Records that entries from the number `next` on arrive from now on. `oldest` is the number of the
    /// oldest entry that waits.
    pub(super) fn mark(&mut self, oldest: Option<u64>, next: u64, now: Instant) {
        match oldest {
            None => {
                self.marks.clear();
                self.spacing = RESOLUTION;
            }
            Some(_) if self.is_recent(now) => return,
            Some(oldest) if self.marks.len() == MARKS => self.thin_out(oldest),
            Some(_) => {}
        }
        self.marks.push_back(Mark { first: next, at: now });
    }

    /// When the entry with this number arrived, or earlier.
    pub(super) fn of(&self, number: u64) -> Option<Instant> {
        let marks = self.marks.iter().rev();
        let mark = marks.into_iter().find(|mark| mark.first <= number);
        mark.or(self.marks.front()).map(|mark| mark.at)
    }

    fn is_recent(&self, now: Instant) -> bool {
        self.marks
            .back()
            .is_some_and(|last| now.saturating_duration_since(last.at) < self.spacing)
    }

    /// Drops the marks that are not needed any more and, if all are, every second one.
    fn thin_out(&mut self, oldest: u64) {
        while self.marks.get(1).is_some_and(|second| second.first <= oldest) {
            self.marks.pop_front();
        }
        if self.marks.len() == MARKS {
            let mut position = 0_usize;
            self.marks.retain(|_| {
                position += 1;
                position % 2 == 1
            });
            self.spacing *= 2;
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_entry_is_as_old_as_the_batch_it_came_with() {
        let start = Instant::now();
        let second = |n: u64| start + Duration::from_secs(n);
        let mut arrivals = Arrivals::default();
        arrivals.mark(None, 0, second(0));
        arrivals.mark(Some(0), 5, second(1));
        arrivals.mark(Some(3), 9, second(2));
        let ages = [0, 4, 5, 8, 9, 100].map(|number| arrivals.of(number).unwrap().duration_since(start));
        assert_eq!(ages.map(|age| age.as_secs()), [0, 0, 1, 1, 2, 2]);
        arrivals.mark(None, 20, second(7));
        assert_eq!(arrivals.of(20), Some(second(7)), "an empty buffer forgets");
    }

    #[tokio::test(start_paused = true)]
    async fn marks_are_bounded_and_an_entry_never_looks_younger_than_it_is() {
        let start = Instant::now();
        let mut arrivals = Arrivals::default();
        for n in 0..10_000_u64 {
            let oldest = (n > 0).then_some(n / 2);
            arrivals.mark(oldest, n, start + Duration::from_secs(n));
            let found = arrivals.of(n / 2).unwrap().duration_since(start).as_secs();
            assert!(found <= n / 2, "entry {} of {n} arrived at {found}", n / 2);
            assert!(arrivals.marks.len() <= MARKS);
        }
        let found = arrivals.of(5_000).unwrap().duration_since(start).as_secs();
        assert!(found > 4_500, "the estimate is near the truth: {found}");
    }
}
