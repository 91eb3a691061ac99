//! The plan of one seed: a server, one to three replicas of a controller, and a list of steps.

use std::fmt;
use std::time::Duration;

use informer_testing::{Fault, Verb, WatchList};

use super::{draw, world};
use crate::plan::Keep;
use crate::playable::Playable;
use crate::world::Outcome;

/// The number of parents that can exist at once.
pub(super) const PARENTS: usize = 8;
/// The number of children that a parent can have.
pub(super) const CHILDREN: usize = 3;
/// The number of settings that can exist at once.
pub(super) const SETTINGS: usize = 2;

/// Everything a run of the controllers does. The same plan always gives the same run.
#[derive(Clone, Debug)]
pub struct ControllerPlan {
    /// The seed from which all else is drawn.
    pub seed: u64,
    /// How likely a task yields at one of its yield points, in percent.
    pub(super) yields: u32,
    /// The longest time that work off the async workers takes.
    pub(super) work: Duration,
    pub(super) watch_list: WatchList,
    pub(super) bookmark_interval: Duration,
    /// The rate of each replica's clock.
    pub(super) rates: Vec<f64>,
    pub(super) uptime: Uptime,
    pub(super) election: Election,
    pub(super) host: Host,
    pub(super) controller: Options,
    pub(super) steps: Vec<Step>,
}

/// Whether machines have a clock that counts while they are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uptime {
    /// As `CLOCK_BOOTTIME` of Linux.
    Counted,
    /// Only the wall clock shows a suspension. It is then not set in the same step: no clock would show the
    /// suspension any more, a limit that `Leadership::is_valid` documents.
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Election {
    /// One replica, which does not campaign.
    Off,
    On,
}

/// What runs the controller of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// `Controller::run`, with a leadership that the replica acquires.
    Replica,
    /// `informers::controller::Manager`.
    Manager,
}

/// The options of the controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) workers: usize,
    pub(super) order: Order,
    pub(super) debounce: Option<Duration>,
    pub(super) time_limit: Duration,
    pub(super) write_deadline: Duration,
    pub(super) grace: Duration,
    /// The first and the longest delay of a failed key.
    pub(super) backoff: (Duration, Duration),
    /// By which fraction the delays of failed keys are shortened at random.
    pub(super) jitter: f64,
    pub(super) filter: Filter,
    pub(super) children: Notice,
    pub(super) settings: Notice,
    pub(super) resync: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Priorities,
    FirstInFirstOut,
}

/// Which changes of objects lead to a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// All of them.
    None,
    /// Additions, deletions, and updates that change the data, by a predicate.
    Data,
}

/// How the controller notices changes of objects other than the parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// By `owns` or `watches`.
    Event,
    /// By a requeue of each parent.
    Requeue,
}

/// One step, and the pause after it in milliseconds; with zero, only a few turns of other tasks.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its position in the full plan.
    pub(super) number: usize,
    pub(super) action: Action,
    pub(super) pause: u64,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Changes parents, one after the other without a pause.
    Parents(Vec<ParentChange>),
    /// Changes a child behind the controller's back.
    Child {
        parent: usize,
        child: usize,
        change: ChildChange,
    },
    /// Annotates a parent, or a child of it. No reconcile needs the annotation.
    Annotate {
        parent: usize,
        child: Option<usize>,
        value: u32,
    },
    /// Writes or deletes a setting.
    Setting {
        which: usize,
        /// The parents it applies to, as bits; `None` deletes it.
        parents: Option<u32>,
        value: u32,
    },
    Fault {
        fault: Fault,
        on: Option<Verb>,
        times: Option<u64>,
    },
    EndFaults,
    /// Caches do not see any change for this time.
    Lag(Duration),
    CloseWatches,
    /// Compacts the history, and ends all watches: caches list again.
    Relist,
    Mood(Mood),
    Weather {
        replica: usize,
        weather: Weather,
    },
    /// Answers for a replica are late, then it is cut off: a lease counts from the request, not the answer.
    LateThenCut {
        replica: usize,
    },
    /// Stops a replica in order, and starts it again after this time.
    Stop {
        replica: usize,
        down: Duration,
    },
    /// Kills a replica, and starts it again after this time.
    Kill {
        replica: usize,
        down: Duration,
    },
    /// The process, or its whole machine, does not run for this time.
    Freeze {
        replica: usize,
        freeze: Freeze,
        time: Duration,
    },
    /// Sets the wall clock of a replica ahead or back.
    SetWall {
        replica: usize,
        seconds: i32,
    },
    Trigger {
        parent: usize,
    },
    ReconcileAll,
    /// All keys wait with low priority, while some change faster than they are reconciled.
    Flood,
    /// Ends all faults, and waits until the children are as desired.
    Calm,
    Advance(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ParentChange {
    pub(super) parent: usize,
    pub(super) kind: ParentChangeKind,
    /// The children it wants, as bits.
    pub(super) children: u32,
    pub(super) value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParentChangeKind {
    /// Creates the parent, or changes it.
    Put,
    Delete,
    /// Deletes it and creates another one under its name.
    Recreate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildChange {
    /// Creates it with a wrong value, or gives it one.
    Spoil,
    Delete,
}

/// How reconciles behave: each probability in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mood {
    pub(super) errors: u32,
    pub(super) panics: u32,
    /// The longest time that a reconcile sleeps, in milliseconds.
    pub(super) slow: u64,
}

/// The network of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    Good,
    /// Requests and answers are late or lost.
    Bad,
    /// Answers take more than a second.
    Late,
    /// Requests and open streams fail.
    Cut,
    /// Nothing is answered any more: the process was killed.
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freeze {
    /// The process is stopped, as by SIGSTOP: when it continues, both clocks have advanced.
    Process,
    /// The machine is suspended: only the wall clock and the uptime advance.
    Machine,
}

impl Action {
    /// Returns the name of the action, without its details.
    pub(super) fn name(&self) -> String {
        let text = format!("{self:?}");
        text.chars().take_while(char::is_ascii_alphanumeric).collect()
    }
}

impl Playable for ControllerPlan {
    const NAME: &'static str = "controllers";

    fn of(seed: u64) -> Self {
        draw::plan(seed)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn numbers(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.number).collect()
    }

    fn kept(&self, keep: &Keep) -> Self {
        let mut plan = self.clone();
        plan.steps.retain(|step| keep.contains(step.number));
        plan
    }

    fn run(&self) -> Outcome {
        world::run(self)
    }
}

impl fmt::Display for ControllerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, yields {} %, work {:?}",
            self.seed, self.yields, self.work
        )?;
        writeln!(
            f,
            "watch list {:?}, bookmarks every {:?}",
            self.watch_list, self.bookmark_interval
        )?;
        writeln!(
            f,
            "host {:?}, election {:?}, clock rates {:?}, uptime {:?}",
            self.host, self.election, self.rates, self.uptime
        )?;
        writeln!(f, "{:?}", self.controller)?;
        for Step {
            number,
            action,
            pause,
        } in &self.steps
        {
            writeln!(f, "{number:>3}  {action:?}, then {pause} ms")?;
        }
        Ok(())
    }
}
