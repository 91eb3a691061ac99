//! The plan of one seed: a server, one or two informers, and a list of steps.

mod draw;
mod faults;
mod text;

use std::time::Duration;

use informer_core::{InitialState, Offload, Overflow};
use informer_testing::{Fault, Verb, WatchCache, WatchList};

pub use text::{Keep, ParseKeepError};

/// The namespaces objects live in.
pub(crate) const NAMESPACES: [&str; 3] = ["default", "kube-system", "web"];

/// The number of objects that can exist at once.
pub(crate) const PLACES: usize = 12;

/// Everything a run does. The same plan gives the same run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed from which all else is drawn.
    pub seed: u64,
    /// How the server is set up.
    pub server: ServerPlan,
    /// The informers; the second is started by a step.
    pub informers: Vec<InformerPlan>,
    /// How likely a task yields at one of its yield points, in percent.
    pub yields: u32,
    /// The longest time that work off the async workers takes.
    pub work: Duration,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// How the server is set up.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    pub(crate) history: usize,
    pub(crate) watch_cache: WatchCache,
    pub(crate) watch_list: WatchList,
    pub(crate) bookmark_interval: Duration,
    pub(crate) watch_buffer: usize,
}

/// How an informer is set up.
#[derive(Clone, Debug)]
pub struct InformerPlan {
    pub(crate) initial: InitialState,
    pub(crate) page_size: Option<u32>,
    /// How many of [`NAMESPACES`] are covered; `None` for all namespaces.
    pub(crate) namespaces: Option<usize>,
    /// Whether it covers objects of tier `a` only.
    pub(crate) selective: bool,
    pub(crate) resync: Option<Duration>,
    pub(crate) transform: Transform,
    pub(crate) gzip: bool,
    pub(crate) capacity: usize,
    pub(crate) batch: usize,
    /// Where transforms and commits run. Off the async workers they take up to [`Plan::work`].
    pub(crate) offload: Offload,
}

/// What an informer's transform does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    None,
    /// Counts how often it saw the object, in the object.
    Counting,
    /// Counts, and fails for some values.
    Failing,
    /// Counts, and panics for some values.
    Panicking,
}

/// One step, and the pause after it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its position in the full plan.
    pub number: usize,
    pub(crate) action: Action,
    pub(crate) pause: Pause,
}

/// The pause after a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    /// Yields this many times; no time passes.
    Turns(u32),
    /// Sleeps for this many milliseconds.
    Millis(u64),
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Write(Write),
    Burst(Vec<Write>),
    Fault(FaultPlan),
    /// Adds random faults of every kind that the server draws.
    RandomFaults {
        seed: u64,
        harsh: bool,
    },
    EndFaults,
    /// Compacts the history, except for this many revisions.
    Compact {
        keep: u64,
    },
    /// Goes back by this many revisions, as a restored backup does.
    Rewind {
        back: u64,
    },
    CloseWatches,
    /// Writes that no watch reports: only a new list shows them.
    Unseen(Vec<Write>),
    AddHandler {
        informer: usize,
        handler: HandlerPlan,
    },
    RemoveHandler {
        informer: usize,
        which: usize,
    },
    ReadStreams {
        events: usize,
    },
    AddIndex {
        informer: usize,
        panics: bool,
    },
    Start {
        informer: usize,
    },
    Stop {
        informer: usize,
    },
    WaitUntil {
        informer: usize,
        timeout: Duration,
    },
    /// Writes an object and waits twice until the cache shows the write.
    WaitFor {
        informer: usize,
        write: Write,
        timeout: Duration,
    },
    /// An informer whose token is cancelled early: every wait ends, and nothing is requested.
    CancelledStart(Cancelled),
    /// The server refuses requests in two ways, one after the other; if `emptied`, after all objects were
    /// deleted.
    Refusals {
        first: Refusal,
        times: u64,
        emptied: bool,
    },
    /// Watches are silent until they are given up, and the next requests fail as well.
    Stall {
        then: AfterStall,
    },
    /// One fault that lasts for minutes or hours; the informers are judged meanwhile.
    Scenario(Scenario),
    /// Streams that are dropped right after their creation, every other one with a pending event.
    ShortStreams {
        informer: usize,
        count: usize,
    },
    /// Ends all faults and waits until caches and handlers agree with the server.
    Calm,
    Advance(Duration),
}

/// One kind of fault that lasts, without any other. The informers are judged while it lasts, not only by
/// their caches afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Every watch delivers events and is cut at this age.
    CutEvery(Duration),
    /// Every watch is accepted and sends nothing.
    BlackHole,
    /// Initial streams have no end bookmark, while changes arrive in them.
    BusyInitial,
    /// Each answer to a list begins this late.
    LateAnswer(Duration),
    /// Objects of this namespace, or of none, are sent to requests of another one.
    Foreign(Option<&'static str>),
    /// Every page of a list has a new continue token.
    EndlessPages,
    /// Lists and bookmarks carry something else as their version.
    InvalidVersion(InvalidVersion),
    /// The server goes back by this many revisions, and keeps watches from later ones open.
    SilentRewind { back: u64 },
    /// Work off the async workers takes up to this time.
    SlowWork(Duration),
    /// Waits for the sync of an informer that is refused, one after the other.
    RefusedWaits,
    /// Watches bring neither events nor bookmarks and end normally; the server has not reached the version of
    /// one of them.
    MuteWatches,
}

/// What is sent instead of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidVersion {
    /// A text that could be a version, a few times; the server refuses it later.
    Text,
    /// A number of 100,000 digits, in every answer.
    Long,
    /// An escape sequence, in every answer.
    Control,
}

/// When the token of an informer is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    BeforeBuild,
    BeforeStart,
    AfterStart,
}

/// How the server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Forbidden,
    NotFound,
}

/// What follows a watch that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStall {
    Nothing,
    Refused(Refusal),
    Unavailable,
    /// The state is listed again, because an object of the last list was unreadable.
    List,
    /// Requests are not answered, and the informer is stopped meanwhile.
    Stop,
}

/// One write to one of a few objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) place: usize,
    pub(crate) value: u32,
    pub(crate) kind: WriteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// Creates the object, or changes it.
    Put,
    Delete,
    /// Deletes it and creates another one under its name.
    Recreate,
}

/// One fault and how often it occurs.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) fault: Fault,
    pub(crate) on: Option<Verb>,
    pub(crate) times: Option<u64>,
}

/// The behaviour and options of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerPlan {
    pub(crate) kind: HandlerKind,
    pub(crate) buffer: Option<usize>,
    pub(crate) overflow: Overflow,
    /// The resync period in seconds; 0 for none, `None` for the informer's.
    pub(crate) resync: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandlerKind {
    /// Returns at once.
    Quick,
    /// Takes this long for each event.
    Slow(Duration),
    /// Yields to other tasks in each call.
    Async,
    /// Panics in every n-th call.
    Panicking(u64),
    /// An async handler that panics after it yielded.
    AsyncPanicking(u64),
    /// A stream that is read by steps.
    Stream,
}

impl Plan {
    /// Draws the plan of a seed.
    pub fn of(seed: u64) -> Self {
        draw::plan(seed)
    }

    /// Returns the plan without the steps that are not in `keep`.
    pub fn kept(&self, keep: &Keep) -> Self {
        let mut plan = self.clone();
        plan.steps.retain(|step| keep.contains(step.number));
        plan
    }
}

/// The namespace and name of a place.
pub(crate) fn key_of(place: usize) -> (&'static str, String) {
    (NAMESPACES[place % NAMESPACES.len()], format!("object-{place}"))
}
