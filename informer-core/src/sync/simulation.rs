//! Hooks for the workspace's simulation: a seeded order of tasks, and a count of state transitions.
//!
//! Not part of the API. Without the hidden feature `__simulation` every function here is empty.

#[cfg(feature = "__simulation")]
pub use enabled::{Seen, begin, end, set_work_time, yield_point};
#[cfg(feature = "__simulation")]
pub(crate) use enabled::{is_running, level, transition, work_time};

/// Whether this thread runs a simulation, in which ways that only other runtimes take are taken too.
#[cfg(not(feature = "__simulation"))]
pub(crate) const fn is_running() -> bool {
    false
}

/// A point where other tasks may run first.
#[cfg(not(feature = "__simulation"))]
pub(crate) async fn yield_point() {}

/// Records a transition from one state to another.
#[cfg(not(feature = "__simulation"))]
pub(crate) const fn transition(_what: &'static str, _from: &'static str, _to: &'static str) {}

/// How long work off the async workers takes, if it is simulated. The work itself then runs at once, in the
/// task that starts it, because other threads would make the order of tasks depend on the machine.
#[cfg(not(feature = "__simulation"))]
pub(crate) const fn work_time() -> Option<std::time::Duration> {
    None
}

/// Records the size of something that is bounded by `limit`.
#[cfg(not(feature = "__simulation"))]
pub(crate) const fn level(_what: &'static str, _size: usize, _limit: usize) {}

#[cfg(feature = "__simulation")]
mod enabled {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::time::Duration;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    /// What one run recorded.
    #[derive(Clone, Debug, Default)]
    pub struct Seen {
        /// How often something (`reflector`, `informer`, ..) changed from one state to another.
        pub transitions: BTreeMap<(&'static str, &'static str, &'static str), u64>,
        /// Sizes that exceeded their limits: what, the size, the limit.
        pub past_limits: Vec<(&'static str, usize, usize)>,
    }

    struct Run {
        random: SmallRng,
        /// How likely a task yields at a yield point, in percent.
        percent: u32,
        /// The longest time that work off the async workers takes.
        work: Duration,
        seen: Seen,
    }

    thread_local! {
        static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    }

    /// Starts a run on this thread: from now on tasks yield at random, `percent` of the time.
    pub fn begin(seed: u64, percent: u32) {
        let run = Run {
            random: SmallRng::seed_from_u64(seed),
            percent,
            work: Duration::ZERO,
            seen: Seen::default(),
        };
        RUN.set(Some(run));
    }

    /// Ends the run of this thread, and returns what it recorded.
    pub fn end() -> Seen {
        RUN.take().map(|run| run.seen).unwrap_or_default()
    }

    fn with<T>(call: impl FnOnce(&mut Run) -> T) -> Option<T> {
        RUN.with_borrow_mut(|run| run.as_mut().map(call))
    }

    pub(crate) fn is_running() -> bool {
        RUN.with_borrow(Option::is_some)
    }

    /// Yields to other tasks, zero to three times, as the seed determines. Outside a run it does nothing.
    pub async fn yield_point() {
        let turns = with(|run| match run.random.random_range(0..100) < run.percent {
            true => run.random.random_range(1..=3),
            false => 0,
        });
        for _ in 0..turns.unwrap_or(0) {
            tokio::task::yield_now().await;
        }
    }

    /// From now on, work off the async workers takes up to this time of the paused clock.
    pub fn set_work_time(longest: Duration) {
        with(|run| run.work = longest);
    }

    /// Draws how long the next work takes. `None` outside of a run.
    pub(crate) fn work_time() -> Option<Duration> {
        with(|run| {
            let longest = u64::try_from(run.work.as_millis()).unwrap_or(u64::MAX);
            Duration::from_millis(run.random.random_range(0..=longest))
        })
    }

    pub(crate) fn transition(what: &'static str, from: &'static str, to: &'static str) {
        with(|run| *run.seen.transitions.entry((what, from, to)).or_default() += 1);
    }

    pub(crate) fn level(what: &'static str, size: usize, limit: usize) {
        with(|run| {
            if size > limit {
                run.seen.past_limits.push((what, size, limit));
            }
        });
    }
}
