//! What one seed means: a server, one or two informers, and a list of steps that can be cut short.

mod draw;
mod faults;
mod text;

use std::time::Duration;

use informer_core::{InitialState, Offload, Overflow};
use informer_testing::{Fault, Verb, WatchCache, WatchList};

pub use text::{Keep, ParseKeepError};

/// The namespaces objects live in.
pub(crate) const NAMESPACES: [&str; 3] = ["default", "kube-system", "web"];

/// How many objects can exist at once.
pub(crate) const PLACES: usize = 12;

/// Everything a run does. The same plan gives the same run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where all of it comes from.
    pub seed: u64,
    /// How the server is set up.
    pub server: ServerPlan,
    /// The informers; the second is started by a step.
    pub informers: Vec<InformerPlan>,
    /// How likely a task yields at one of its yield points, in percent.
    pub yields: u32,
    /// The longest time that work off the async workers takes.
    pub work: Duration,
    /// What happens, in order.
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
    /// `None` for all namespaces; else the first so many.
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

/// One step, and how long the rest of the world gets afterwards.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it stands in the uncut plan.
    pub number: usize,
    pub(crate) action: Action,
    pub(crate) pause: Pause,
}

/// What the rest of the world gets after a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    /// So many turns of the runtime, and no time.
    Turns(u32),
    /// So much time.
    Millis(u64),
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Write(Write),
    Burst(Vec<Write>),
    Fault(FaultPlan),
    /// Random faults of every kind the server draws, in addition.
    RandomFaults {
        seed: u64,
        harsh: bool,
    },
    EndFaults,
    /// Forgets the history up to so many revisions ago.
    Compact {
        keep: u64,
    },
    /// Goes back so many revisions, as a restored backup does.
    Rewind {
        back: u64,
    },
    CloseWatches,
    /// Writes that no watch can tell of: only a new list shows them.
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
        patience: Duration,
    },
    /// Writes, and waits for the write twice.
    WaitFor {
        informer: usize,
        write: Write,
        timeout: Duration,
    },
    /// An informer whose token is cancelled early: every wait ends, and nothing is requested.
    CancelledStart(Cancelled),
    /// The server refuses, first in one way and then in another; perhaps when there is nothing left to list.
    Refusals {
        first: Refusal,
        times: u64,
        emptied: bool,
    },
    /// A watch falls silent until it is given up, and what comes then goes wrong, too.
    Stall {
        then: AfterStall,
    },
    /// One fault that lasts for minutes or hours, and a check of the informers' behaviour meanwhile.
    Scenario(Scenario),
    /// Streams that are dropped right after they were made, every other one with an event in hand.
    ShortStreams {
        informer: usize,
        count: usize,
    },
    /// No faults, until caches and handlers agree with the server.
    Calm,
    Advance(Duration),
}

/// One kind of fault that lasts, without any other: the informer is judged while it lasts, not only by its
/// cache afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Every watch is cut at this age, and brings events before.
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
    /// The server goes back so many revisions, and keeps watches from later ones open.
    SilentRewind { back: u64 },
    /// Work off the async workers takes up to this time.
    SlowWork(Duration),
    /// Waits for the sync of an informer that is refused, one after the other.
    RefusedWaits,
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
    /// The state is read again, because an object in the last list could not be read.
    List,
    /// Nothing is answered, and the informer is stopped meanwhile.
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

/// One fault and how often it strikes.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) fault: Fault,
    pub(crate) on: Option<Verb>,
    pub(crate) times: Option<u64>,
}

/// What a handler is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerPlan {
    pub(crate) kind: HandlerKind,
    pub(crate) buffer: Option<usize>,
    pub(crate) overflow: Overflow,
    /// `None`: as the informer; else so many seconds.
    pub(crate) resync: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandlerKind {
    /// Returns at once.
    Quick,
    /// Takes up to so long for each event.
    Slow(Duration),
    /// Gives way to other tasks in each call.
    Async,
    /// Panics in every n-th call.
    Panicking(u64),
    /// An async handler that panics after it gave way.
    AsyncPanicking(u64),
    /// A stream that is read by steps.
    Stream,
}

impl Plan {
    /// The plan of a seed, with as many steps as it says.
    pub fn of(seed: u64) -> Self {
        draw::plan(seed)
    }

    /// The plan without the steps that are not in `keep`.
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
