//! A budget of requests that the informers of a factory share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::backoff::scale;

/// How long a request waits for its turn, at most. A request that waited this long is sent, so that requests
/// that hang cannot stop the others.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How many reads must run for the next one to get the whole of [`RequestBudgetOptions::read_jitter`].
const CROWD: u32 = 10;

/// The bounds of a [`RequestBudget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestBudgetOptions {
    /// How many informers may read their whole state at the same time. At least 1. Default 10.
    pub concurrent_reads: usize,
    /// How many lists and watches may be started per second. At least 1. Default 50.
    pub starts_per_second: u32,
    /// How many of them may be started at once after a quiet time. At least 1. Default 50.
    pub burst: u32,
    /// The longest random delay of a read of a whole state, so that reads do not start together. Default
    /// 100 ms; zero disables the delays, and more than 30 s counts as 30 s.
    ///
    /// A read that starts while no other runs is not delayed. One that starts beside others is delayed by up
    /// to a tenth of this for each of them, one that had to wait for its turn by up to all of it.
    pub read_jitter: Duration,
}

impl Default for RequestBudgetOptions {
    fn default() -> Self {
        Self {
            concurrent_reads: 10,
            starts_per_second: 50,
            burst: 50,
            read_jitter: Duration::from_millis(100),
        }
    }
}

/// Limits the requests of all informers that share it, so that many that start or fail together do not
/// overload the server. A clone is another handle to the same budget.
///
/// A factory has one, with default [options](RequestBudgetOptions), and a program can share one among
/// factories of the same cluster. A single informer has none unless it is set.
///
/// - Reads of a whole state wait until fewer than `concurrent_reads` others run. All that do not run alone
///   start at random times up to `read_jitter` after their turn.
/// - Of reads of a whole state, and of watches that follow a failure, `burst` may be started at once and
///   `starts_per_second` per second after that. Further pages of a list do not count.
/// - The same holds, separately, for watches that resume one that worked or that follow a list. So requests
///   that fail never delay those that work.
/// - Both hold at the time of the start. A process that was suspended or had no processor does not start at
///   once all that became due meanwhile.
///
/// Turns are given in the order of the requests. No request waits longer than 30 s for its turn. A program
/// with a single informer, or one that waits for each before it starts the next, is not delayed.
///
/// ```
/// use informer_core::{RequestBudget, RequestBudgetOptions};
///
/// let mut options = RequestBudgetOptions::default();
/// options.concurrent_reads = 4;
/// let budget = RequestBudget::new(options); // `.request_budget(&budget)` of each builder
/// ```
#[derive(Clone)]
pub struct RequestBudget(Arc<Inner>);

struct Inner {
    options: RequestBudgetOptions,
    /// How many reads may have a turn at the same time.
    turns: usize,
    reads: Arc<Semaphore>,
    after_failure: Starts,
    resumed: Starts,
}

/// Which requests a request waits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Reads of a whole state, and watches after a failure.
    AfterFailure,
    /// Watches that continue what worked.
    Resumed,
}

/// The starts of a lane.
struct Starts {
    interval: Duration,
    burst: u32,
    /// The time at which the last start is paid for. The lock is the queue: it is given in the order of the
    /// requests, and the one that has it waits for its time.
    paid: Mutex<Instant>,
}

/// The turn of a read. Dropping it lets the next one begin.
pub(super) struct ReadTurn(#[allow(dead_code, reason = "held until the read ends")] OwnedSemaphorePermit);

impl RequestBudget {
    /// Creates a budget.
    pub fn new(options: RequestBudgetOptions) -> Self {
        let rate = options.starts_per_second.max(1);
        let starts = || Starts {
            interval: Duration::from_secs(1) / rate,
            burst: options.burst.max(1),
            paid: Mutex::new(Instant::now()),
        };
        let turns = options.concurrent_reads.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner {
            options,
            turns,
            reads: Arc::new(Semaphore::new(turns)),
            after_failure: starts(),
            resumed: starts(),
        }))
    }

    /// Returns the bounds.
    pub fn options(&self) -> RequestBudgetOptions {
        self.0.options
    }

    /// Waits until a whole state may be read, and then for a random time if it is not the only one. Returns
    /// `None` if the turn did not come in time: the read starts anyway.
    pub(super) async fn read(&self, random: &mut SmallRng) -> Option<ReadTurn> {
        let longest = self.0.options.read_jitter.min(LONGEST_WAIT);
        let (permit, window) = match self.0.reads.clone().try_acquire_owned() {
            Ok(permit) => (Some(permit), longest / CROWD * self.others().min(CROWD)),
            Err(_) => {
                let turn = tokio::time::timeout(LONGEST_WAIT, self.0.reads.clone().acquire_owned());
                // The semaphore is never closed.
                (turn.await.ok().and_then(Result::ok), longest)
            }
        };
        if !window.is_zero() {
            tokio::time::sleep(scale(window, random.random::<f64>())).await;
        }
        permit.map(ReadTurn)
    }

    /// The number of reads that have a turn, beside the one that took its turn just now. Those that wait for
    /// their random time count, so of reads that are requested together only the first starts at once.
    fn others(&self) -> u32 {
        let taken = self.0.turns - self.0.reads.available_permits();
        u32::try_from(taken.saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Waits until a request may be started.
    pub(super) async fn start(&self, lane: Lane) {
        let starts = match lane {
            Lane::AfterFailure => &self.0.after_failure,
            Lane::Resumed => &self.0.resumed,
        };
        // One that waited too long starts anyway, and is not counted.
        let _late = tokio::time::timeout(LONGEST_WAIT, starts.take()).await;
    }
}

impl Starts {
    /// Waits for the turn of a start, and counts it.
    ///
    /// The time is read at the start itself, not reserved before: if the process is held up, the requests
    /// that became due meanwhile still start no faster than a burst allows. A request that is cancelled
    /// costs nothing.
    async fn take(&self) {
        let depth = self.interval * (self.burst - 1);
        let mut paid = self.paid.lock().await;
        loop {
            let now = Instant::now();
            let wait = paid.saturating_duration_since(now).saturating_sub(depth);
            if wait.is_zero() {
                *paid = now.max(*paid) + self.interval;
                return;
            }
            tokio::time::sleep(wait).await;
        }
    }
}

impl Default for RequestBudget {
    /// A budget with default options.
    fn default() -> Self {
        Self::new(RequestBudgetOptions::default())
    }
}

impl fmt::Debug for RequestBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestBudget").field(&self.0.options).finish()
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use rand::SeedableRng;

    use super::*;

    fn budget(concurrent_reads: usize, starts_per_second: u32, burst: u32) -> RequestBudget {
        RequestBudget::new(RequestBudgetOptions {
            concurrent_reads,
            starts_per_second,
            burst,
            ..RequestBudgetOptions::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn starts_are_limited_after_the_burst_and_a_quiet_time_restores_it() {
        let budget = budget(1, 10, 5);
        let begun = Instant::now();
        for round in 0..2 {
            let at = Instant::now();
            for _ in 0..5 {
                budget.start(Lane::AfterFailure).await;
            }
            assert_eq!(at.elapsed(), Duration::ZERO, "round {round}");
            for _ in 0..10 {
                budget.start(Lane::AfterFailure).await;
            }
            assert_eq!(at.elapsed().as_millis(), 1000, "round {round}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_fail_do_not_delay_those_that_work() {
        let budget = budget(1, 10, 1);
        for _ in 0..100 {
            let _ = budget.start(Lane::AfterFailure).now_or_never();
        }
        let begun = Instant::now();
        budget.start(Lane::Resumed).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        // Nor do those that were cancelled delay another: only the first was started.
        budget.start(Lane::AfterFailure).await;
        assert_eq!(begun.elapsed().as_millis(), 100);
    }

    /// Spawns requests, and returns the number of those that were started.
    fn spawn_starts(budget: &RequestBudget, count: usize) -> Arc<AtomicUsize> {
        let started = Arc::new(AtomicUsize::new(0));
        for _ in 0..count {
            let (budget, started) = (budget.clone(), started.clone());
            tokio::spawn(async move {
                budget.start(Lane::AfterFailure).await;
                started.fetch_add(1, Ordering::Relaxed);
            });
        }
        started
    }

    /// A process that was suspended or had no processor finds all its timers due.
    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_held_up_starts_no_more_than_a_burst() {
        let budget = budget(1, 10, 5);
        let started = spawn_starts(&budget, 100);
        let settle = async || {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            started.load(Ordering::Relaxed)
        };
        assert_eq!(settle().await, 5);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(settle().await, 10);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(settle().await, 20);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_longer_than_its_bound() {
        let budget = budget(1, 1, 1);
        let started = spawn_starts(&budget, 100);
        tokio::time::sleep(LONGEST_WAIT - Duration::from_millis(500)).await;
        assert_eq!(started.load(Ordering::Relaxed), 30);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(started.load(Ordering::Relaxed), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn reads_wait_for_one_another_and_never_for_ever() {
        let budget = budget(2, 10, 10);
        let jitter = budget.options().read_jitter;
        let mut random = SmallRng::seed_from_u64(1);
        let begun = Instant::now();
        let first = budget.read(&mut random).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let _second = budget.read(&mut random).await;
        assert!(begun.elapsed() <= jitter / 10, "{:?}", begun.elapsed());
        let waiting = {
            let budget = budget.clone();
            tokio::spawn(async move { budget.read(&mut SmallRng::seed_from_u64(2)).await.is_some() })
        };
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!waiting.is_finished());
        drop(first);
        assert!(waiting.await.unwrap());
        assert!(begun.elapsed() <= Duration::from_secs(5) + jitter / 10 + jitter);
        let _third = budget.read(&mut random).await;
        let late = Instant::now();
        assert!(budget.read(&mut random).await.is_none());
        assert!(late.elapsed() >= LONGEST_WAIT);
        assert!(late.elapsed() <= LONGEST_WAIT + jitter);
    }

    #[tokio::test(start_paused = true)]
    async fn the_delay_of_a_read_grows_with_the_number_of_others_up_to_its_bound() {
        let budget = RequestBudget::new(RequestBudgetOptions {
            concurrent_reads: 20,
            // Longer than the longest wait, which bounds it.
            read_jitter: Duration::from_secs(3600),
            ..RequestBudgetOptions::default()
        });
        let mut random = SmallRng::seed_from_u64(1);
        let mut turns = Vec::new();
        for others in 0..20 {
            let begun = Instant::now();
            turns.push(budget.read(&mut random).await);
            let bound = LONGEST_WAIT / CROWD * others.min(CROWD);
            let delay = begun.elapsed();
            assert!(delay <= bound, "{delay:?} beside {others}");
            assert_eq!(delay.is_zero(), others == 0, "{delay:?} beside {others}");
        }
        turns.clear();
        let begun = Instant::now();
        drop(budget.read(&mut random).await);
        assert_eq!(begun.elapsed(), Duration::ZERO, "the others have ended");
    }
}
