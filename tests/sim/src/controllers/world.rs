//! Runs a plan: creates the server and the replicas, takes the steps, and checks the guarantees meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_testing::{ApiServer, Clock, Fault, FaultId, Rule};
use jiff::Timestamp;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use tokio::time::Instant;

use super::judge::Court;
use super::objects::{self, Everything, Role};
use super::plan::{
    Action, ChildChange, ControllerPlan, Mood, PARENTS, ParentChange, ParentChangeKind, Weather,
};
use super::process::{Phase, Process};
use super::reconciler::Behaviour;
use super::replica::Replica;
use crate::verdict::Verdict;
use crate::world::{Outcome, play_on_new_runtime};

/// After the faults the children must be as desired within this time: a silent watch is given up after ten
/// minutes and a margin, a lease expires, and a key waits for its longest backoff.
const BOUND: Duration = Duration::from_secs(1_200);

/// How often the processes are checked while time passes.
const PIECE: Duration = Duration::from_millis(500);

/// Runs a plan on a new runtime with the paused clock.
pub(super) fn run(plan: &ControllerPlan) -> Outcome {
    let played = play_on_new_runtime(plan.seed, plan.yields, plan.work, |verdict| play(plan, verdict));
    played.outcome(
        "controller step",
        plan.steps.iter().map(|step| step.action.name()),
    )
}

struct World<'a> {
    plan: &'a ControllerPlan,
    server: ApiServer,
    replicas: Vec<Replica>,
    court: Court,
    behaviour: Behaviour,
    verdict: Verdict,
    mood: Mood,
    /// What ends at a later time.
    later: Vec<(Instant, Later)>,
    /// The number of changes in floods, so that each differs from the last.
    flooded: u32,
}

enum Later {
    Thaw(Arc<Process>),
    RemoveFault(FaultId),
    Start(usize),
}

async fn play(plan: &ControllerPlan, verdict: Verdict) -> BTreeMap<String, u64> {
    let server = ApiServer::builder()
        .seed(plan.seed)
        .clock(Clock::Tokio(Timestamp::UNIX_EPOCH))
        .watch_list(plan.watch_list)
        .bookmark_interval(plan.bookmark_interval)
        .start();
    let mut world = World {
        plan,
        server,
        replicas: (0..plan.rates.len()).map(Replica::new).collect(),
        court: Court::default(),
        behaviour: Behaviour::new(SmallRng::seed_from_u64(plan.seed)),
        verdict,
        mood: Mood::default(),
        later: Vec::new(),
        flooded: 0,
    };
    world.start_all();
    world.play().await;
    for replica in &mut world.replicas {
        replica.stop().await;
    }
    world.server.faults().struck()
}

impl World<'_> {
    fn start(&mut self, replica: usize) {
        self.replicas[replica].start(self.plan, &self.server, &self.court, &self.behaviour);
    }

    fn start_all(&mut self) {
        (0..self.replicas.len()).for_each(|replica| self.start(replica));
    }

    async fn play(&mut self) {
        for step in &self.plan.steps {
            self.verdict.at_step(step.number);
            self.act(&step.action).await;
            match step.pause {
                0 => {
                    for _ in 0..4 {
                        tokio::task::yield_now().await;
                    }
                }
                millis => self.advance(Duration::from_millis(millis)).await,
            }
            self.check();
            if self.verdict.first().is_some() {
                return;
            }
        }
        self.settle().await;
    }

    fn check(&mut self) {
        self.court.check_leaders();
        for process in self.replicas.iter().filter_map(Replica::process) {
            process.check();
        }
    }

    /// Lets time pass in short periods, and returns at the first violation.
    async fn advance(&mut self, time: Duration) {
        let mut left = time;
        while !left.is_zero() && self.verdict.first().is_none() {
            let piece = left.min(PIECE);
            tokio::time::sleep(piece).await;
            left -= piece;
            self.end_what_is_due(Instant::now());
            for replica in 0..self.replicas.len() {
                if self.replicas[replica].has_ended() {
                    self.start(replica);
                }
            }
            self.check();
        }
    }

    fn end_what_is_due(&mut self, now: Instant) {
        let (due, later) = std::mem::take(&mut self.later)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.later = later;
        for (_, what) in due {
            match what {
                Later::Thaw(process) => process.thaw(),
                Later::RemoveFault(id) => self.server.faults().remove(id),
                Later::Start(replica) => self.start(replica),
            }
        }
    }

    async fn act(&mut self, action: &Action) {
        match action {
            Action::Parents(changes) => changes.iter().for_each(|change| self.change_parent(*change)),
            Action::Child {
                parent,
                child,
                change,
            } => self.change_child(*parent, *child, *change),
            Action::Annotate { parent, child, value } => self.annotate(*parent, *child, *value),
            Action::Setting {
                which,
                parents,
                value,
            } => {
                let setting = objects::setting(*which, parents.unwrap_or_default(), *value);
                match parents {
                    Some(_) => self.put(&setting),
                    None => drop(self.server.delete(&setting)),
                }
            }
            Action::Fault { fault, on, times } => {
                let mut rule = Rule::new(fault.clone());
                if let Some(verb) = on {
                    rule = rule.on(*verb);
                }
                if let Some(times) = times {
                    rule = rule.times(*times);
                }
                self.server.faults().add(rule);
            }
            Action::EndFaults => self.server.faults().clear(),
            Action::Lag(time) => {
                let lag = self.server.faults().add(Fault::Stale(self.server.revision()));
                self.server.close_watches();
                self.later.push((Instant::now() + *time, Later::RemoveFault(lag)));
            }
            Action::CloseWatches => self.server.close_watches(),
            Action::Relist => {
                self.server.close_watches();
                self.server.compact(self.server.revision());
            }
            Action::Mood(mood) => self.set_mood(*mood),
            Action::Weather { replica, weather } => {
                if let Some(process) = self.replicas[*replica].process() {
                    process.set_weather(*weather);
                }
            }
            Action::LateThenCut { replica } => self.late_then_cut(*replica).await,
            Action::Stop { replica, down } => {
                self.replicas[*replica].stop().await;
                self.later.push((Instant::now() + *down, Later::Start(*replica)));
            }
            Action::Kill { replica, down } => {
                self.replicas[*replica].kill();
                self.later.push((Instant::now() + *down, Later::Start(*replica)));
            }
            Action::Freeze {
                replica,
                freeze,
                time,
            } => {
                if let Some(process) = self.replicas[*replica].process() {
                    process.freeze(*freeze);
                    self.later
                        .push((Instant::now() + *time, Later::Thaw(process.clone())));
                }
            }
            Action::SetWall { replica, seconds } => {
                if let Some(process) = self.replicas[*replica].process() {
                    process.set_wall(f64::from(*seconds));
                }
            }
            Action::Trigger { parent } => {
                for parts in self.processes().filter_map(|process| process.parts()) {
                    parts
                        .controller
                        .reconcile(objects::key(&objects::parent_name(*parent)));
                }
            }
            Action::ReconcileAll => {
                for parts in self.processes().filter_map(|process| process.parts()) {
                    parts.controller.reconcile_all();
                }
            }
            Action::Flood => self.flood().await,
            Action::Calm => self.settle().await,
            Action::Advance(time) => self.advance(*time).await,
        }
    }

    fn processes(&self) -> impl Iterator<Item = &Arc<Process>> {
        self.replicas.iter().filter_map(Replica::process)
    }

    fn set_mood(&mut self, mood: Mood) {
        self.mood = mood;
        self.behaviour.set(mood);
    }

    fn put(&self, object: &k8s_openapi::api::core::v1::ConfigMap) {
        let stored = self.server.create(object).or_else(|_| self.server.update(object));
        stored.expect("a ConfigMap with a name can be created or changed");
    }

    fn change_parent(&self, change: ParentChange) {
        let parent = objects::parent(change.parent, change.children, change.value);
        if change.kind != ParentChangeKind::Put {
            let _ = self.server.delete(&parent);
        }
        if change.kind != ParentChangeKind::Delete {
            self.put(&parent);
        }
    }

    fn change_child(&self, parent: usize, child: usize, change: ChildChange) {
        let everything = Everything::on(&self.server);
        let name = objects::parent_name(parent);
        let Some(parent) = everything
            .with(Role::Parent)
            .find(|object| objects::name(object) == name)
        else {
            return;
        };
        let child = objects::child(parent, objects::child_name(&name, child), 7);
        match change {
            ChildChange::Spoil => self.put(&child),
            ChildChange::Delete => drop(self.server.delete(&child)),
        }
    }

    fn annotate(&self, parent: usize, child: Option<usize>, value: u32) {
        let parent = objects::parent_name(parent);
        let name = match child {
            Some(child) => objects::child_name(&parent, child),
            None => parent,
        };
        let found = Everything::on(&self.server).find(&name);
        if let Some(mut object) = found {
            let annotations = object.metadata.annotations.get_or_insert_default();
            annotations.insert("note".to_owned(), value.to_string());
            self.put(&object);
        }
    }

    async fn late_then_cut(&mut self, replica: usize) {
        let Some(process) = self.replicas[replica].process().cloned() else {
            return;
        };
        for (weather, seconds) in [(Weather::Late, 5), (Weather::Cut, 14), (Weather::Good, 0)] {
            process.set_weather(weather);
            self.advance(Duration::from_secs(seconds)).await;
        }
    }

    /// Adds all keys with low priority to the working process, and changes some parents faster than they are
    /// reconciled, until each of the others was reconciled.
    async fn flood(&mut self) {
        // The calls of a frozen process reach no reconciler, and their keys then wait for a retry.
        let working = self
            .processes()
            .find(|process| process.phase() == Phase::Running && process.may_work() && !process.is_frozen());
        let Some(process) = working.cloned() else { return };
        let mood = self.mood;
        self.set_mood(Mood {
            slow: 200,
            ..Mood::default()
        });
        if process.begin_flood() {
            let workers = process.options.workers;
            let hot = (workers + 2).min(PARENTS - 1);
            for turn in 0..1_000 {
                if !process.is_flooded()
                    || self.verdict.first().is_some()
                    || process.phase() != Phase::Running
                {
                    break;
                }
                self.flooded += 1;
                self.change_parent(ParentChange {
                    parent: turn % hot,
                    kind: ParentChangeKind::Put,
                    children: 1,
                    value: self.flooded,
                });
                self.advance(Duration::from_millis(80 / workers as u64)).await;
            }
            process.end_flood();
        }
        self.set_mood(mood);
    }

    /// Ends all faults, starts all replicas, and waits until the children are as desired.
    async fn settle(&mut self) {
        self.server.faults().clear();
        self.set_mood(Mood::default());
        for (_, what) in std::mem::take(&mut self.later) {
            if let Later::Thaw(process) = what {
                process.thaw();
            }
        }
        for process in self.processes() {
            process.set_weather(Weather::Good);
        }
        self.start_all();
        let start = Instant::now();
        while self.verdict.first().is_none() {
            let everything = Everything::on(&self.server);
            let Some(difference) = everything.difference() else {
                return;
            };
            for orphan in everything.orphans() {
                let _ = self.server.delete(orphan);
            }
            if start.elapsed() > BOUND {
                let what = format!("{BOUND:?} after the last fault, {difference}");
                return self.verdict.report("convergence", what);
            }
            self.advance(Duration::from_secs(1)).await;
        }
    }
}
