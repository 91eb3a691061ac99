//! Keeps one scope of one kind current: lists it, watches it, and starts again when it must.

mod backoff;
mod list;
mod relist;
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
pub(crate) use relist::Relist;
use state::{Memory, Next, Phase};

/// The longest wait a server can ask for by `Retry-After`; a longer one is taken for this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// How a reflector asks, waits and gives up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How the whole state is read. Default: by watch-list, by LIST where the server does not support it.
    pub initial: InitialState,
    /// How many objects a page of a LIST holds. Default: 500 where pages make sense, else everything at once.
    pub page_size: Option<u32>,
    /// The shortest `timeoutSeconds` asked for; each watch gets a random one up to twice as long. Default, and minimum, 5 minutes.
    pub min_watch_timeout: Duration,
    /// How long after `timeoutSeconds` a silent watch is given up. Default 30 s.
    pub watch_margin: Duration,
    /// How long a watch-list may be silent before its end bookmark. Default 30 s.
    pub bookmark_deadline: Duration,
    /// The wait between tries that fail.
    pub backoff: BackoffConfig,
    /// The wait between tries that are refused with 403 or 404, up to twice as long at random. Default 10 s.
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
    relist: Relist,
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
        relist: Relist,
    ) -> Self {
        let mut random = match config.seed {
            Some(seed) => SmallRng::seed_from_u64(seed),
            None => SmallRng::from_rng(&mut rand::rng()),
        };
        let backoff = Backoff::new(config.backoff.clone(), random.random());
        let memory = Memory::new(config.initial, source.watch_list());
        reporter.watch_list(memory.verdict().clone());
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

    /// Runs until nobody takes from the queue any more. May be called again after a panic.
    pub(crate) async fn run(&mut self) {
        let mut phase = self.memory.start();
        loop {
            let before = phase.name();
            let step = match phase {
                Phase::WatchList { from } => self.watch_list(from).await,
                Phase::List { from } => self.list(from).await,
                Phase::Watch { from } => self.watch(from).await,
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

    /// Something panicked in [`run`](Self::run), most likely in a source of the user's own: report it and wait.
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
            state::Pause::Backoff { at_least } => self
                .backoff
                .next()
                .max(at_least.unwrap_or_default().min(LONGEST_RETRY_AFTER)),
            state::Pause::Refused => scale(self.config.refused_delay, 1.0 + self.random.random::<f64>()),
        }
    }

    /// A random time between the shortest watch and twice that, so that many informers do not reconnect at once.
    fn watch_timeout(&mut self) -> Duration {
        let shortest = self.config.min_watch_timeout.max(Duration::from_secs(300));
        scale(shortest, 1.0 + self.random.random::<f64>())
    }

    /// When a watch asked for now, with this timeout, is given up if it is silent.
    fn watch_deadline(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        let patience = timeout.saturating_add(self.config.watch_margin);
        // A configured time may be out of all measure, meant as "never": a year is as good.
        now.checked_add(patience).unwrap_or(now + A_YEAR)
    }
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What one request leads to, or the end because nobody listens.
type Step = Result<Next, Closed>;
