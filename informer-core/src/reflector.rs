//! The list-and-watch loop of one scope: lists, watches, and lists again when necessary.

mod backoff;
mod budget;
mod capacity;
mod list;
mod look;
mod probe;
mod pulse;
mod relist_request;
mod seed;
mod state;
mod watch;
mod watch_list;

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::delta::{Closed, DeltaSender, ScopeChange};
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Revision;
use crate::source::{ListWatch, SourceError};
use crate::status::{RelistReason, Reporter, State};
use crate::store::{ByteShare, Reservation};
use crate::sync::simulation;
use crate::warm::WarmFile;

pub use backoff::BackoffConfig;
use backoff::{Backoff, scale};
use budget::{Lane, ReadTurn};
pub use budget::{RequestBudget, RequestBudgetOptions};
pub(crate) use relist_request::RelistRequest;
use state::{Memory, Next, Phase};

/// The longest wait a server can request by `Retry-After`. Longer ones are cut to this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// The wait before the whole state is read again after a limit was reached, randomly up to twice as long.
const OVER_LIMIT: Duration = Duration::from_secs(60);

/// The settings of list and watch requests: sizes, timeouts and retries.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How the whole state is read. Default: by watch-list, or by LIST if the server does not support it.
    /// After a server refused a watch-list or did not complete one, lists are used for the next 30 minutes.
    pub initial: InitialState,
    /// The page size of a LIST. Default: 500 where the server can page, else no pages.
    pub page_size: Option<u32>,
    /// The shortest `timeoutSeconds` of a watch; each watch gets a random value up to twice as long. Default
    /// and minimum: 5 minutes.
    pub min_watch_timeout: Duration,
    /// How long after its `timeoutSeconds` a watch is abandoned if the server has not closed it. If nothing
    /// arrived recently, this counts as a failure. Default 30 s.
    ///
    /// A watch that received two or more bookmarks is abandoned earlier: when nothing arrives for three times
    /// the longest pause between two bookmarks, but not before three minutes.
    pub watch_margin: Duration,
    /// How long a watch-list may deliver no new object before its end bookmark. Updates and deletions do not
    /// count. The `timeoutSeconds` of the watch limits the whole phase. Default 30 s.
    pub bookmark_deadline: Duration,
    /// The largest number of objects of an informer, over all its scopes. Past it the cache keeps its last
    /// state, and the state is [`State::LimitReached`]. Default 10,000,000.
    ///
    /// Lists are checked while they are read, changes before they are queued; up to
    /// [`QueueOptions::capacity`](crate::delta::QueueOptions::capacity) changes that wait in the queue come
    /// on top.
    pub max_objects: usize,
    /// The largest size of an informer's objects, over all its scopes, as
    /// [`Snapshot::bytes`](crate::store::Snapshot::bytes) measures it. Enforced like
    /// [`max_objects`](Self::max_objects). While a list is read, memory holds the changed objects of the new
    /// state as well. Default: none.
    pub max_bytes: Option<u64>,
    /// The wait after a failure, and the shortest pause between two requests.
    pub backoff: BackoffConfig,
    /// The wait after a 403 or 404, randomly up to twice as long, and at least the minimum of
    /// [`backoff`](Self::backoff). Default 10 s.
    pub refused_delay: Duration,
    /// The seed of the random waits, for reproducible tests. Default: random.
    pub seed: Option<u64>,
}

/// How the whole state is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialState {
    /// By a watch that sends the state first, or by LIST if the server does not support that.
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
            max_bytes: None,
            backoff: BackoffConfig::default(),
            refused_delay: Duration::from_secs(10),
            seed: None,
        }
    }
}

/// The list-and-watch loop of one scope.
///
/// Dropping the future of [`run`](Self::run) at any point stops the loop. The queue stays consistent: each
/// entry is either queued or not.
pub(crate) struct Reflector<K> {
    source: Arc<dyn ListWatch<K>>,
    queue: DeltaSender<K>,
    config: ReflectorConfig,
    reporter: Reporter,
    relist: RelistRequest,
    memory: Memory,
    backoff: Backoff,
    random: SmallRng,
    budget: Option<RequestBudget>,
    /// Held while the whole state is read.
    turn: Option<ReadTurn>,
    /// Where the size of the store is counted, if several informers share a limit.
    share: Option<Arc<ByteShare>>,
    /// What the whole state that is being read adds to it.
    reservation: Option<Reservation>,
    /// The file of a warm start, until it was read.
    saved: Option<Arc<WarmFile<K>>>,
    /// How long a watch from a saved version may be silent.
    confirm_within: Duration,
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
            budget: None,
            turn: None,
            share: None,
            reservation: None,
            saved: None,
            confirm_within: Duration::ZERO,
        }
    }

    /// Shares a budget of requests with other reflectors.
    pub(crate) fn share(&mut self, budget: Option<RequestBudget>) {
        self.budget = budget;
    }

    /// Counts what it reads in the total of several informers.
    pub(crate) fn count_in(&mut self, share: Option<Arc<ByteShare>>) {
        self.share = share;
    }

    /// Starts from a saved cache, if the file can be used.
    pub(crate) fn seed_from(&mut self, file: Arc<WarmFile<K>>) {
        self.confirm_within = file.confirm_within();
        self.saved = Some(file);
    }

    /// Reads the first state not older than this version.
    pub(crate) fn not_older_than(&mut self, version: ResourceVersion) {
        self.memory.not_older_than(version);
    }

    /// Reads from this source from the next [`run`](Self::run) on.
    pub(crate) fn read_from(&mut self, source: Arc<dyn ListWatch<K>>) {
        self.source = source;
    }

    /// Announces that the source selects other objects from now on, so that waits wait for their state.
    pub(crate) async fn reselect(&mut self, revision: Revision) -> Result<(), Closed> {
        // The saved objects were selected by the source before.
        self.saved = None;
        self.queue.scope_changed(ScopeChange::Reselected, revision).await
    }

    /// Counts a read of the whole state that the program caused.
    pub(crate) fn relists(&self, reason: RelistReason) {
        if self.memory.last().is_some() {
            self.reporter.relists(reason);
        }
    }

    /// Reports that no request is sent, until the next [`run`](Self::run).
    pub(crate) fn pause(&mut self) {
        self.turn = None;
        self.release();
        self.reporter.paused();
    }

    /// Adds the scope to the store.
    pub(crate) async fn join(&self, revision: Revision) -> Result<(), Closed> {
        self.queue.scope_changed(ScopeChange::Added, revision).await
    }

    /// Removes the scope and its objects from the store.
    pub(crate) async fn leave(&mut self, revision: Revision) -> Result<(), Closed> {
        self.turn = None;
        self.release();
        self.queue.scope_changed(ScopeChange::Removed, revision).await
    }

    /// Runs until the queue is closed. May be called again after a panic, and after its future was dropped:
    /// it then reads the whole state, not older than what it saw.
    pub(crate) async fn run(&mut self) {
        self.turn = None;
        self.release();
        let Ok(mut phase) = self.first_phase().await else {
            return;
        };
        let mut pause = state::Pause::Backoff { at_least: None };
        loop {
            let before = phase.name();
            self.wait_for_turn(&phase, &pause).await;
            let span = phase.span(self.reporter.resource(), self.reporter.scope());
            let step = async {
                match phase {
                    Phase::WatchList { from } => self.watch_list(from).await,
                    Phase::List { from } => self.list(from).await,
                    Phase::Watch { from } => self.watch(from).await,
                    Phase::Probe { from } => Ok(self.probe(from).await),
                }
            };
            let step = step.instrument(span).await;
            self.turn = None;
            // What was read is queued, or was dropped.
            self.reservation = None;
            let Ok(Next {
                phase: next,
                pause: after,
                report,
            }) = step
            else {
                return;
            };
            pause = after;
            if let Some(reason) = self.memory.take_relist() {
                self.reporter.relists(reason);
            }
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

    /// Reports a panic in [`run`](Self::run), most likely of a custom source, and waits.
    pub(crate) async fn panicked(&mut self) {
        if self.memory.last().is_some() {
            self.reporter.relists(RelistReason::Panicked);
        }
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

    /// Waits until the budget allows the next request.
    async fn wait_for_turn(&mut self, phase: &Phase, pause: &state::Pause) {
        let Some(budget) = self.budget.clone() else {
            return;
        };
        self.turn = None;
        let is_read = matches!(phase, Phase::WatchList { .. } | Phase::List { .. });
        if is_read {
            self.turn = budget.read(&mut self.random).await;
        }
        let lane = match pause {
            state::Pause::None | state::Pause::Minimum if !is_read => Lane::Resumed,
            _ => Lane::AfterFailure,
        };
        budget.start(lane).await;
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
            state::Pause::OverLimit => scale(OVER_LIMIT, 1.0 + self.random.random::<f64>()),
            state::Pause::Refused => {
                let delay = self.backoff.at_least_minimum(self.config.refused_delay);
                scale(delay, 1.0 + self.random.random::<f64>())
            }
        }
    }

    /// A random timeout, so that many informers do not reconnect at the same time.
    fn watch_timeout(&mut self) -> Duration {
        let shortest = self.config.min_watch_timeout.max(Duration::from_secs(300));
        scale(shortest, 1.0 + self.random.random::<f64>())
    }

    /// When a watch that is requested now with this timeout is abandoned.
    fn watch_deadline(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        let limit = timeout.saturating_add(self.config.watch_margin);
        // The configured margin may be `Duration::MAX`, meant as "never".
        now.checked_add(limit).unwrap_or(now + A_YEAR)
    }
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What follows a request; an error if the queue is closed.
type Step = Result<Next, Closed>;
