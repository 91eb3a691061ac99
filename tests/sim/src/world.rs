//! Runs a plan: creates the server and the informers, takes the steps, and checks everything after each of
//! them.

mod hostile;
mod scenarios;
mod waits;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use informer_core::simulation;
use informer_testing::{ApiServer, Clock, Fault, Garble, Profile, Rule, Verb};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::coverage::Coverage;
use crate::history::{History, Key};
use crate::plan::{
    Action, AfterStall, FaultPlan, NAMESPACES, PLACES, Pause, Plan, Refusal, Step, Transform, Write,
    WriteKind, key_of,
};
use crate::stage::Stage;
use crate::verdict::{Verdict, Violation};

/// After the faults the caches must equal the server within this time: a silent watch is given up after ten
/// minutes and a margin, and one backoff follows.
const BOUND: Duration = Duration::from_secs(900);

/// A rewind must be noticed within this time while other faults last; then they are ended.
const REWIND_TIMEOUT: Duration = Duration::from_secs(180);

/// The most lists that are forced at the end because of unreadable objects.
const FORCED_LISTS: usize = 6;

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs no system resources");
    simulation::begin(plan.seed, plan.yields);
    simulation::set_work_time(plan.work);
    let verdict = Verdict::begin();
    let played = {
        let verdict = verdict.clone();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(play(plan, verdict))
        }))
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
    let outcome = Outcome {
        violation: verdict.first(),
        steps: plan.steps.len() as u64,
        events: verdict.events(),
        hash: verdict.hash(),
        coverage: Coverage::of(plan, struck, seen.transitions),
    };
    Verdict::end();
    outcome
}

struct World<'a> {
    plan: &'a Plan,
    server: ApiServer,
    history: Arc<Mutex<History>>,
    stages: Vec<Stage>,
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
        stages: Vec::new(),
        verdict,
        doubted: Arc::default(),
        spoiled: Cell::new(false),
        repeated: Cell::new(false),
        touched: Cell::new(0),
    };
    for number in 0..plan.informers.len() {
        let stage = world.new_stage(number);
        world.stages.push(stage);
    }
    let finished = world.play().await;
    for stage in &mut world.stages {
        stage.stop().await;
    }
    if finished.is_some() {
        world.check_nothing_left().await;
    }
    world.server.faults().struck()
}

impl World<'_> {
    fn new_stage(&self, number: usize) -> Stage {
        let plan = &self.plan.informers[number];
        Stage::new(
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
        for stage in &mut self.stages {
            if !stage.is_stopped() {
                stage.check();
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
            Action::AddHandler { informer, handler } => self.stages[*informer].add_handler(*handler),
            Action::RemoveHandler { informer, which } => self.stages[*informer].remove_handler(*which).await,
            Action::ReadStreams { events } => {
                for stage in &mut self.stages {
                    stage.read_streams(*events).await;
                }
            }
            Action::AddIndex { informer, panics } => {
                if !self.stages[*informer].is_stopped() {
                    self.stages[*informer].add_index(*panics);
                }
            }
            Action::Start { informer } => {
                if self.stages[*informer].is_stopped() {
                    self.stages[*informer] = self.new_stage(*informer);
                }
                self.stages[*informer].start();
            }
            Action::Stop { informer } => self.stages[*informer].stop().await,
            Action::WaitUntil { informer, timeout } => {
                let version = self.server.resource_version();
                self.stages[*informer].wait_until(&version, *timeout).await;
            }
            Action::WaitFor {
                informer,
                write,
                timeout,
            } => {
                if let Some(written) = self.put(*write) {
                    self.stages[*informer].wait_for(&written, *timeout).await;
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
            Action::ShortStreams { informer, count } => self.stages[*informer].short_streams(*count).await,
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

    fn write(&self, write: Write) {
        self.put(write);
    }

    /// Writes, and returns the object as the server has it; `None` after a deletion.
    fn put(&self, write: Write) -> Option<ConfigMap> {
        let object = object(write);
        if write.kind != WriteKind::Put && self.server.delete(&object).is_ok() {
            self.history().deleted(&Key::of(&object), self.server.revision());
        }
        if write.kind == WriteKind::Delete {
            return None;
        }
        let stored = self
            .server
            .create(&object)
            .or_else(|_| self.server.update(&object))
            .expect("a ConfigMap with a name can be created or changed");
        self.history().put(&stored);
        Some(stored)
    }

    fn add_fault(&self, plan: &FaultPlan) {
        let fault = match plan.fault {
            // The plan has a lag, because the revision is known only now.
            Fault::Stale(lag) => Fault::Stale(self.server.revision().saturating_sub(lag)),
            ref other => other.clone(),
        };
        if let Fault::GarbleItem { garble, .. } | Fault::GarbleEvent { garble, .. } = &fault
            && *garble != Garble::Content
        {
            self.doubted.store(true, Ordering::Relaxed);
        }
        // A client that cannot use the newest state of an object may accept an older one that is sent again.
        // That is no violation, so the two kinds of faults are never combined.
        let spoils = matches!(fault, Fault::GarbleItem { .. } | Fault::GarbleEvent { .. });
        let repeats = matches!(fault, Fault::RepeatEvents { .. });
        let plans = &self.plan.informers;
        let fails = plans
            .iter()
            .any(|plan| matches!(plan.transform, Transform::Failing | Transform::Panicking));
        if (repeats && (fails || self.spoiled.get())) || (spoils && self.repeated.get()) {
            return;
        }
        self.spoiled.set(self.spoiled.get() || spoils);
        self.repeated.set(self.repeated.get() || repeats);
        let mut rule = Rule::new(fault);
        if let Some(verb) = plan.on {
            rule = rule.on(verb);
        }
        if let Some(times) = plan.times {
            rule = rule.times(times);
        }
        self.server.faults().add(rule);
    }

    async fn refuse(&mut self, first: Refusal, times: u64, emptied: bool) {
        if emptied {
            for place in 0..PLACES {
                self.write(Write {
                    place,
                    value: 0,
                    kind: WriteKind::Delete,
                });
            }
        }
        let (one, other) = match first {
            Refusal::Forbidden => (Fault::Forbidden, Fault::not_found()),
            Refusal::NotFound => (Fault::not_found(), Fault::Forbidden),
        };
        let faults = self.server.faults();
        faults.add(Rule::new(one).times(times));
        faults.add(Rule::new(other).after(times).times(times));
        self.server.close_watches();
        self.advance(Duration::from_secs(60)).await;
    }

    async fn stall(&mut self, then: AfterStall) {
        let faults = self.server.faults();
        if then == AfterStall::List {
            self.doubted.store(true, Ordering::Relaxed);
            let spoiled = Fault::GarbleItem {
                index: 0,
                garble: Garble::Key,
            };
            self.add_fault(&FaultPlan {
                fault: spoiled,
                on: None,
                times: Some(3),
            });
            self.act_unseen(&[Write {
                place: 1,
                value: 1,
                kind: WriteKind::Recreate,
            }]);
            self.advance(Duration::from_secs(5)).await;
        }
        // Each scope of each informer gets a silent watch.
        let watches = (self.stages.len() * NAMESPACES.len()) as u64;
        let silent = faults.add(
            Rule::new(Fault::HalfOpen { after: 0 })
                .on(Verb::Watch)
                .times(watches),
        );
        self.server.close_watches();
        self.advance(Duration::from_secs(40)).await;
        let next = match then {
            AfterStall::Nothing | AfterStall::List => None,
            AfterStall::Refused(Refusal::Forbidden) => Some(Fault::Forbidden),
            AfterStall::Refused(Refusal::NotFound) => Some(Fault::not_found()),
            AfterStall::Unavailable => Some(Fault::unavailable()),
            AfterStall::Stop => Some(Fault::Hang),
        };
        let next = next.map(|fault| faults.add(Rule::new(fault)));
        let mut waited = Duration::ZERO;
        let piece = Duration::from_secs(10);
        while waited < Duration::from_secs(700) && self.verdict.first().is_none() {
            self.advance(piece).await;
            waited += piece;
            if then == AfterStall::Stop {
                for stage in &mut self.stages {
                    if stage.is_stalled() {
                        stage.stop().await;
                    }
                }
            }
        }
        faults.remove(silent);
        next.into_iter().for_each(|rule| faults.remove(rule));
    }

    fn act_unseen(&self, writes: &[Write]) {
        self.server.close_watches();
        writes.iter().for_each(|write| self.write(*write));
        self.server.compact(self.server.revision());
    }

    /// Restores an older state and refuses watches from lost revisions, as after a restore that marks them as
    /// compacted. Nothing is written before every informer has noticed, because lost and new versions of the
    /// same number cannot be distinguished.
    async fn rewind(&mut self, back: u64) {
        let Some(revision) = self.begin_rewind(back) else {
            return;
        };
        let from_the_future = move |request: &informer_testing::Request| {
            let requested = request.resource_version().parse().unwrap_or(0);
            requested > revision && !request.is_watch_list()
        };
        let faults = self.server.faults();
        let mut rules = vec![
            faults.add(Rule::new(Fault::expired()).on(Verb::Watch).when(from_the_future)),
            faults.add(Rule::new(Fault::ExpireToken)),
        ];
        // Requests that were in flight during the rewind must have ended.
        let mut waited = Duration::ZERO;
        let step = Duration::from_secs(10);
        while waited < Duration::from_secs(120) || !self.is_not_past(revision) {
            if waited == REWIND_TIMEOUT {
                faults.clear();
                rules = vec![faults.add(Rule::new(Fault::expired()).on(Verb::Watch).when(from_the_future))];
            }
            if waited > REWIND_TIMEOUT + BOUND {
                self.verdict
                    .report("I12", format!("the rewind to {revision} was not noticed"));
                return;
            }
            self.advance(step).await;
            waited += step;
            if self.verdict.first().is_some() {
                return;
            }
        }
        rules.into_iter().for_each(|rule| faults.remove(rule));
        self.settle_rewind();
    }

    /// Goes back in the server's history. Returns the revision, or `None` if the history does not reach that
    /// far.
    fn begin_rewind(&mut self, back: u64) -> Option<u64> {
        let revision = self.server.revision().saturating_sub(back);
        self.server.rewind(revision).ok()?;
        self.doubted.store(true, Ordering::Relaxed);
        let revision = self.server.revision();
        self.history().rewind(revision);
        for stage in &mut self.stages {
            stage.rewinding();
        }
        Some(revision)
    }

    /// Every informer has seen nothing that the server does not have: from now on all of it is certain.
    fn settle_rewind(&mut self) {
        for stage in &mut self.stages {
            if stage.is_running() {
                stage.rewound();
            }
        }
    }

    fn is_not_past(&self, revision: u64) -> bool {
        let mut running = self.stages.iter().filter(|stage| stage.is_running());
        running.all(|stage| stage.is_not_past(revision))
    }

    /// Waits until caches and handlers agree with the server.
    async fn converge(&mut self) {
        let mut waited = Duration::ZERO;
        loop {
            for stage in &mut self.stages {
                stage.read_streams(usize::MAX).await;
            }
            if self.check().is_none() {
                return;
            }
            let revision = self.server.revision();
            let mut running = self.stages.iter().filter(|stage| stage.is_running());
            let Some(difference) = running.find_map(|stage| stage.difference(revision)) else {
                return;
            };
            if waited > BOUND {
                self.verdict.report(
                    "I12",
                    format!("still different {BOUND:?} after the last fault: {difference}"),
                );
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            waited += Duration::from_secs(1);
        }
    }

    /// Ends all faults, and lists again what was unreadable.
    async fn settle(&mut self) {
        self.server.faults().clear();
        self.converge().await;
        for _ in 0..FORCED_LISTS {
            let mut running = self.stages.iter().filter(|stage| stage.is_running());
            if self.verdict.first().is_some() || running.all(Stage::is_certain) {
                break;
            }
            // A watch that ends before the oldest revision is followed by a list.
            self.server.close_watches();
            self.write(Write {
                place: 0,
                value: 1,
                kind: WriteKind::Recreate,
            });
            self.server.compact(self.server.revision());
            self.converge().await;
            self.advance(Duration::from_secs(90)).await;
            let _ = self.check();
        }
        self.converge().await;
        let stages = self.stages.iter().filter(|stage| stage.is_running());
        if let Some(what) = stages.filter_map(Stage::marked_without_reason).next() {
            self.verdict.report("I16", what);
        }
    }

    /// Checks that stopped informers have no tasks.
    async fn check_nothing_left(&mut self) {
        self.stages.clear();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        if tasks > 0 {
            self.verdict
                .report("I12", format!("{tasks} tasks are still running"));
        }
    }
}

/// Returns the object of a write. Its text has characters of more than one byte, for faults that cut within
/// one.
fn object(write: Write) -> ConfigMap {
    let (namespace, name) = key_of(write.place);
    let tier = if write.value.is_multiple_of(3) { "b" } else { "a" };
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([("tier".to_owned(), tier.to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(
            "value".to_owned(),
            format!("größe-{}", write.value),
        )])),
        ..ConfigMap::default()
    }
}
