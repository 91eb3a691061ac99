//! Keeps one scope of one kind current: lists it, watches it, and starts again when it must.

mod backoff;
mod list;
mod probe;
mod pulse;
mod relist_request;
mod state;
mod watch;
mod watch_list;

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use crate::delta::{Closed, DeltaSender};
use crate::mutant;
use crate::object::Object;
use crate::source::{ListWatch, SourceError};
use crate::status::{Reporter, State};
use crate::sync::simulation;

pub use backoff::BackoffConfig;
use backoff::{Backoff, scale};
pub(crate) use relist_request::RelistRequest;
use state::{Memory, Next, Phase};

/// The longest wait a server can request by `Retry-After`; a longer one is treated as this one.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// How a reflector requests, waits and gives up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How the whole state is read. Default: by watch-list, by LIST where the server does not support it. A
    /// server that refused watch-lists, or never completed one, is tried again when the whole state is read
    /// more than 30 minutes later.
    pub initial: InitialState,
    /// How many objects a page of a LIST holds. Default: 500 where pages make sense, else everything at once.
    pub page_size: Option<u32>,
    /// The shortest `timeoutSeconds` requested; each watch gets a random one up to twice as long. Default,
    /// and minimum, 5 minutes.
    pub min_watch_timeout: Duration,
    /// How long after `timeoutSeconds` a watch that the server has not closed is given up. If nothing arrived
    /// in it lately, that is a failure. Default 30 s.
    ///
    /// A watch that had two or more bookmarks is given up earlier: when nothing arrives for three times the
    /// longest pause between two of them, and at least three minutes.
    pub watch_margin: Duration,
    /// How long a watch-list may bring no new object before its end bookmark. Updates and deletions do not
    /// count. The whole phase is limited by the `timeoutSeconds` of the watch. Default 30 s.
    pub bookmark_deadline: Duration,
    /// The largest number of objects in a scope. A list that has more fails with
    /// [`SourceError::ListTooLarge`]. Default 10,000,000.
    pub max_objects: usize,
    /// The wait between attempts that fail, and the shortest pause between any two requests.
    pub backoff: BackoffConfig,
    /// The wait between attempts that are refused with 403 or 404, up to twice as long at random, and at
    /// least the minimum of [`backoff`](Self::backoff). Default 10 s.
    pub refused_delay: Duration,
    /// The seed of all randomness here, for tests that must repeat. Default: random.
    pub seed: Option<u64>,
}

/// How the whole state is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialState {
    /// Through a watch that sends it first, falling back to LIST if the server does not support it.
    #[default]
    WatchList,
    /// By LIST, in pages.
    List,
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            initial: InitialState::default(),
            page_size: None,
            min_watch_timeout: Duration::from_secs(300),
            watch_margin: Duration::from_secs(30),
            bookmark_deadline: Duration::from_secs(30),
            max_objects: 10_000_000,
            backoff: BackoffConfig::default(),
            refused_delay: Duration::from_secs(10),
            seed: None,
        }
    }
}

/// The list-and-watch loop of one scope.
///
/// Dropping the future of [`run`](Self::run) at any point stops it and leaves the queue as it is: an entry is in it or not.
pub(crate) struct Reflector<K> {
    source: Arc<dyn ListWatch<K>>,
    queue: DeltaSender<K>,
    config: ReflectorConfig,
    reporter: Reporter,
    relist: RelistRequest,
    memory: Memory,
    backoff: Backoff,
    random: SmallRng,
}

impl<K: Object> Reflector<K> {
    pub(crate) fn new(
        source: Arc<dyn ListWatch<K>>,
        queue: DeltaSender<K>,
        config: ReflectorConfig,
        reporter: Reporter,
        relist: RelistRequest,
    ) -> Self {
        let mut random = match config.seed {
            Some(seed) => SmallRng::seed_from_u64(seed),
            None => SmallRng::from_rng(&mut rand::rng()),
        };
        let backoff = Backoff::new(config.backoff.clone(), random.random());
        let memory = Memory::new(config.initial, source.watch_list(), Instant::now());
        reporter.watch_list(memory.verdict());
        Self {
            source,
            queue,
            config,
            reporter,
            relist,
            memory,
            backoff,
            random,
        }
    }

    /// Runs until the queue is closed. May be called again after a panic.
    pub(crate) async fn run(&mut self) {
        self.memory.advance(Instant::now());
        let mut phase = self.memory.start();
        loop {
            let before = phase.name();
            let step = match phase {
                Phase::WatchList { from } => self.watch_list(from).await,
                Phase::List { from } => self.list(from).await,
                Phase::Watch { from } => self.watch(from).await,
                Phase::Probe { from } => Ok(self.probe(from).await),
            };
            let Ok(Next {
                phase: next,
                pause,
                report,
            }) = step
            else {
                return;
            };
            let wait = self.wait_for(&pause);
            if let Some((error, state)) = report {
                self.reporter.failed(&error, state.into_state(&error, wait));
            }
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            simulation::transition("reflector", before, next.name());
            simulation::yield_point().await;
            phase = next;
        }
    }

    /// Something panicked in [`run`](Self::run), most likely in a custom source: report it and wait.
    pub(crate) async fn panicked(&mut self) {
        let error = SourceError::Protocol("the source panicked".to_owned());
        let retry_in = self.backoff.next();
        self.reporter.failed(
            &error,
            State::BackingOff {
                error: error.clone(),
                retry_in,
            },
        );
        tokio::time::sleep(retry_in).await;
    }

    fn wait_for(&mut self, pause: &state::Pause) -> Duration {
        if mutant::is("I12") {
            return Duration::from_millis(1);
        }
        match pause {
            state::Pause::None => Duration::ZERO,
            state::Pause::Minimum => self.backoff.minimum(),
            state::Pause::Backoff { at_least } => self
                .backoff
                .next()
                .max(at_least.unwrap_or_default().min(LONGEST_RETRY_AFTER)),
            state::Pause::Refused => {
                let delay = self.backoff.at_least_minimum(self.config.refused_delay);
                scale(delay, 1.0 + self.random.random::<f64>())
            }
        }
    }

    /// A random time between the shortest watch and twice that, so that many informers do not reconnect at once.
    fn watch_timeout(&mut self) -> Duration {
        let shortest = self.config.min_watch_timeout.max(Duration::from_secs(300));
        scale(shortest, 1.0 + self.random.random::<f64>())
    }

    /// When a watch requested now, with this timeout, is given up.
    fn watch_deadline(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        let patience = timeout.saturating_add(self.config.watch_margin);
        // A configured time may be too large to add, meant as "never": a year is as good.
        now.checked_add(patience).unwrap_or(now + A_YEAR)
    }
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What one request leads to, or the end because the queue is closed.
type Step = Result<Next, Closed>;
