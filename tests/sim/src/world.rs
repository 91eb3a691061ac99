//! Runs a plan: creates the server and the informers, takes the steps, and checks everything after each of
//! them.

mod faults;
mod hostile;
mod rewind;
mod scenarios;
mod settle;
mod waits;
mod writes;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::simulation;
use informer_testing::{ApiServer, Clock, Profile};
use jiff::Timestamp;

use crate::coverage::Coverage;
use crate::history::History;
use crate::plan::{Action, Pause, Plan, Step};
use crate::subject::Subject;
use crate::verdict::{Verdict, Violation};

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The first violation.
    pub violation: Option<Violation>,
    /// The number of steps.
    pub steps: u64,
    /// The number of observed events, requests and states.
    pub events: u64,
    /// A hash of all observations: the same for the same plan.
    pub hash: u64,
    /// How often each fault, transition and step occurred.
    pub coverage: Coverage,
}

/// Runs a plan on a new runtime with the paused clock.
pub fn run(plan: &Plan) -> Outcome {
    let played = play_on_new_runtime(plan.seed, plan.yields, plan.work, |verdict| play(plan, verdict));
    played.outcome("step", plan.steps.iter().map(|step| step.action.name()))
}

/// What a run left.
pub(crate) struct Played {
    pub(crate) verdict: Verdict,
    pub(crate) struck: BTreeMap<String, u64>,
    pub(crate) transitions: BTreeMap<(&'static str, &'static str, &'static str), u64>,
}

impl Played {
    /// The result of a run with these steps; `kind` is what the coverage calls them.
    pub(crate) fn outcome(self, kind: &str, steps: impl ExactSizeIterator<Item = String>) -> Outcome {
        Outcome {
            violation: self.verdict.first(),
            steps: steps.len() as u64,
            events: self.verdict.events(),
            hash: self.verdict.hash(),
            coverage: Coverage::of(kind, steps, self.struck, self.transitions),
        }
    }
}

/// Runs `play`, which returns how often each fault occurred, on a new runtime with the paused clock.
pub(crate) fn play_on_new_runtime<F>(
    seed: u64,
    yields: u32,
    work: Duration,
    play: impl FnOnce(Verdict) -> F,
) -> Played
where
    F: Future<Output = BTreeMap<String, u64>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs no system resources");
    simulation::begin(seed, yields);
    simulation::set_work_time(work);
    let verdict = Verdict::begin();
    let played = {
        let verdict = verdict.clone();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(play(verdict))))
    };
    let struck = played.unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        verdict.report("panic", text.unwrap_or_default());
        BTreeMap::new()
    });
    drop(runtime);
    let seen = simulation::end();
    if let Some((what, size, limit)) = seen.past_limits.first() {
        verdict.report(
            "I12",
            format!("{what} has {size} entries, more than its limit of {limit}"),
        );
    }
    Verdict::end();
    Played {
        verdict,
        struck,
        transitions: seen.transitions,
    }
}

struct World<'a> {
    plan: &'a Plan,
    server: ApiServer,
    history: Arc<Mutex<History>>,
    subjects: Vec<Subject>,
    verdict: Verdict,
    /// Set once a fault makes the exact state of a store unknown.
    doubted: Arc<AtomicBool>,
    /// Whether objects were garbled in this run.
    spoiled: Cell<bool>,
    /// Whether older states were sent again in this run.
    repeated: Cell<bool>,
    /// How often scenarios changed objects, so that each change differs from the last.
    touched: Cell<usize>,
}

async fn play(plan: &Plan, verdict: Verdict) -> BTreeMap<String, u64> {
    let server = ApiServer::builder()
        .seed(plan.seed)
        .clock(Clock::Tokio(Timestamp::UNIX_EPOCH))
        .history(plan.server.history)
        .watch_cache(plan.server.watch_cache)
        .watch_list(plan.server.watch_list)
        .bookmark_interval(plan.server.bookmark_interval)
        .watch_buffer(plan.server.watch_buffer)
        .start();
    let mut world = World {
        plan,
        server,
        history: Arc::default(),
        subjects: Vec::new(),
        verdict,
        doubted: Arc::default(),
        spoiled: Cell::new(false),
        repeated: Cell::new(false),
        touched: Cell::new(0),
    };
    for number in 0..plan.informers.len() {
        let subject = world.new_subject(number);
        world.subjects.push(subject);
    }
    let finished = world.play().await;
    for subject in &mut world.subjects {
        subject.stop().await;
    }
    if finished.is_some() {
        world.check_nothing_left().await;
    }
    world.server.faults().struck()
}

impl World<'_> {
    fn new_subject(&self, number: usize) -> Subject {
        let plan = &self.plan.informers[number];
        Subject::new(
            &self.server,
            number,
            self.plan.seed,
            plan,
            &self.history,
            &self.doubted,
        )
    }

    /// Returns `None` if a violation was found before the end.
    async fn play(&mut self) -> Option<()> {
        for step in &self.plan.steps {
            self.verdict.at_step(step.number);
            self.act(step).await;
            self.pause(step.pause).await;
            self.check()?;
        }
        self.settle().await;
        self.check()
    }

    fn check(&mut self) -> Option<()> {
        for subject in &mut self.subjects {
            if !subject.is_stopped() {
                subject.check();
            }
        }
        self.verdict.first().is_none().then_some(())
    }

    async fn pause(&mut self, pause: Pause) {
        match pause {
            Pause::Turns(turns) => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            }
            Pause::Millis(millis) => self.advance(Duration::from_millis(millis)).await,
        }
    }

    /// Lets time pass in short periods, and returns at the first violation.
    async fn advance(&mut self, time: Duration) {
        let mut left = time;
        while !left.is_zero() && self.verdict.first().is_none() {
            let piece = left.min(Duration::from_secs(5));
            tokio::time::sleep(piece).await;
            left -= piece;
        }
    }

    async fn act(&mut self, step: &Step) {
        match &step.action {
            Action::Write(write) => self.write(*write),
            Action::Burst(writes) => writes.iter().for_each(|write| self.write(*write)),
            Action::Fault(fault) => self.add_fault(fault),
            Action::RandomFaults { seed, harsh } => {
                let profile = if *harsh { Profile::harsh() } else { Profile::mild() };
                self.server.faults().random(*seed, profile);
            }
            Action::EndFaults => self.server.faults().clear(),
            Action::Compact { keep } => self.server.compact(self.server.revision().saturating_sub(*keep)),
            Action::Rewind { back } => self.rewind(*back).await,
            Action::CloseWatches => self.server.close_watches(),
            Action::Unseen(writes) => self.act_unseen(writes),
            Action::AddHandler { informer, handler } => self.subjects[*informer].add_handler(*handler),
            Action::RemoveHandler { informer, which } => {
                self.subjects[*informer].remove_handler(*which).await
            }
            Action::ReadStreams { events } => {
                for subject in &mut self.subjects {
                    subject.read_streams(*events).await;
                }
            }
            Action::AddIndex { informer, panics } => {
                if !self.subjects[*informer].is_stopped() {
                    self.subjects[*informer].add_index(*panics);
                }
            }
            Action::Start { informer } => {
                if self.subjects[*informer].is_stopped() {
                    self.subjects[*informer] = self.new_subject(*informer);
                }
                self.subjects[*informer].start();
            }
            Action::Stop { informer } => self.subjects[*informer].stop().await,
            Action::WaitUntil { informer, timeout } => {
                let version = self.server.resource_version();
                self.subjects[*informer].wait_until(&version, *timeout).await;
            }
            Action::WaitFor {
                informer,
                write,
                timeout,
            } => {
                if let Some(written) = self.put(*write) {
                    self.subjects[*informer].wait_for(&written, *timeout).await;
                }
            }
            Action::CancelledStart(cancelled) => self.cancelled_start(*cancelled).await,
            Action::Refusals {
                first,
                times,
                emptied,
            } => self.refuse(*first, *times, *emptied).await,
            Action::Stall { then } => self.stall(*then).await,
            Action::Scenario(scenario) => self.scenario(scenario).await,
            Action::ShortStreams { informer, count } => self.subjects[*informer].short_streams(*count).await,
            Action::Calm => {
                self.server.faults().clear();
                self.converge().await;
            }
            Action::Advance(time) => self.advance(*time).await,
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
