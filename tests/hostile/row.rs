//! A row of the table: a server, and the expected behaviour of an informer.

use std::time::Duration;

use informer_core::{InformerStatus, InitialState, SharedInformerBuilder, State};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::bodies::{GOOD_LIST, living_watch};
use crate::script::{Answer, Call, Script, Verb, json};

pub(crate) use StateName::*;

const MIB: usize = 1024 * 1024;
const HOUR: Duration = Duration::from_secs(3600);

/// The states a row may expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateName {
    Listing,
    Live,
    Stalled,
    BackingOff,
    Forbidden,
    NotFound,
    LimitReached,
    Other,
}

impl StateName {
    pub(crate) fn of(state: &State) -> Self {
        match state {
            State::Listing { .. } => Self::Listing,
            State::Live => Self::Live,
            State::Stalled => Self::Stalled,
            State::BackingOff { .. } => Self::BackingOff,
            State::Forbidden { .. } => Self::Forbidden,
            State::NotFound { .. } => Self::NotFound,
            State::LimitReached { .. } => Self::LimitReached,
            _ => Self::Other,
        }
    }
}

/// Whether the informer has a transform, which runs in batches on other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transforms {
    None,
    All,
}

/// Checks a status; the error says what is wrong.
pub(crate) type Check = Box<dyn Fn(&InformerStatus) -> Result<(), String> + Send + Sync>;

/// Sets options of the informer.
pub(crate) type Configure =
    Box<dyn FnOnce(SharedInformerBuilder<ConfigMap>) -> SharedInformerBuilder<ConfigMap> + Send>;

/// One server behaviour, and the expected behaviour of an informer.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) script: Script,
    pub(crate) initial: InitialState,
    pub(crate) namespace: Option<&'static str>,
    /// Further options of the informer.
    pub(crate) configure: Option<Configure>,
    pub(crate) transform: Transforms,
    /// How long the server misbehaves.
    pub(crate) lasting: Duration,
    /// The states allowed at the end; empty if any is.
    pub(crate) states: Vec<StateName>,
    /// A part of the expected last error.
    pub(crate) error: Option<&'static str>,
    pub(crate) synced: Option<bool>,
    pub(crate) objects: Option<usize>,
    pub(crate) check: Option<Check>,
    /// The most requests in an hour.
    pub(crate) requests: u64,
    /// The most lines of WARN and above in an hour.
    pub(crate) warnings: u64,
    /// The most memory, in bytes.
    pub(crate) memory: usize,
    /// The most chunks of a body that are read before another task runs.
    pub(crate) pieces: u64,
    /// How long after the server became healthy the cache must be equal to it.
    pub(crate) recovery: Duration,
}

/// A server with this answer to every request.
pub(crate) fn always(
    name: impl Into<String>,
    script: impl Fn(&Call) -> Answer + Send + Sync + 'static,
) -> Row {
    Row {
        name: name.into(),
        script: Box::new(script),
        initial: InitialState::WatchList,
        namespace: None,
        configure: None,
        transform: Transforms::None,
        lasting: HOUR,
        states: Vec::new(),
        error: None,
        synced: None,
        objects: None,
        check: None,
        requests: 300,
        warnings: 60,
        memory: 48 * MIB,
        pieces: 256,
        recovery: HOUR / 2,
    }
}

/// A server with this answer to lists; its watches are good.
pub(crate) fn lists(
    name: impl Into<String>,
    script: impl Fn(&Call) -> Answer + Send + Sync + 'static,
) -> Row {
    by_list(name, move |call| match call.verb {
        Verb::List => script(call),
        Verb::Watch | Verb::WatchList => living_watch(call),
    })
}

/// A server with this answer to watches; its lists are good.
pub(crate) fn watches(
    name: impl Into<String>,
    script: impl Fn(&Call) -> Answer + Send + Sync + 'static,
) -> Row {
    by_list(name, move |call| match call.verb {
        Verb::List => json(GOOD_LIST),
        Verb::Watch | Verb::WatchList => script(call),
    })
}

/// A server with this answer to every request, for an informer that lists.
pub(crate) fn by_list(
    name: impl Into<String>,
    script: impl Fn(&Call) -> Answer + Send + Sync + 'static,
) -> Row {
    Row {
        initial: InitialState::List,
        // With a server that is good for a while, the state changes with each attempt, and each change may be
        // logged.
        warnings: 150,
        ..always(name, script)
    }
}

/// A server with this answer to watches with initial events; its lists and other watches are good.
pub(crate) fn initial(
    name: impl Into<String>,
    script: impl Fn(&Call) -> Answer + Send + Sync + 'static,
) -> Row {
    always(name, move |call| match call.verb {
        Verb::List => json(GOOD_LIST),
        Verb::Watch => living_watch(call),
        Verb::WatchList => script(call),
    })
}

impl Row {
    pub(crate) fn state(mut self, state: StateName) -> Self {
        self.states.push(state);
        self
    }

    pub(crate) fn error(mut self, part: &'static str) -> Self {
        self.error = Some(part);
        self
    }

    pub(crate) fn synced(mut self, synced: bool) -> Self {
        self.synced = Some(synced);
        self
    }

    /// Unsynced, with an empty cache, backing off.
    pub(crate) fn fails(self) -> Self {
        self.state(BackingOff).synced(false).objects(0)
    }

    /// Not synced, because the first state is over a limit.
    pub(crate) fn over_limit(self) -> Self {
        self.state(LimitReached).synced(false).objects(0)
    }

    /// Synced and live, with this many objects.
    pub(crate) fn lives(self, objects: usize) -> Self {
        self.state(Live).synced(true).objects(objects)
    }

    /// How many objects are in the cache.
    pub(crate) fn objects(mut self, objects: usize) -> Self {
        self.objects = Some(objects);
        self
    }

    pub(crate) fn check(
        mut self,
        check: impl Fn(&InformerStatus) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    pub(crate) fn undecodable(self, objects: u64) -> Self {
        self.check(move |status| {
            let counted = status.scopes[0].counts.undecodable;
            (counted >= objects)
                .then_some(())
                .ok_or_else(|| format!("{counted} undecodable objects were counted, not {objects}"))
        })
    }

    pub(crate) fn namespace(mut self, namespace: &'static str) -> Self {
        self.namespace = Some(namespace);
        self
    }

    pub(crate) fn transformed(mut self) -> Self {
        self.transform = Transforms::All;
        self
    }

    /// Sets further options of the informer.
    pub(crate) fn with(
        mut self,
        configure: impl FnOnce(SharedInformerBuilder<ConfigMap>) -> SharedInformerBuilder<ConfigMap>
        + Send
        + 'static,
    ) -> Self {
        self.configure = Some(Box::new(configure));
        self
    }

    pub(crate) fn minutes(mut self, minutes: u64) -> Self {
        self.lasting = Duration::from_secs(60 * minutes);
        self
    }

    pub(crate) fn requests(mut self, in_an_hour: u64) -> Self {
        self.requests = in_an_hour;
        self
    }

    pub(crate) fn warnings(mut self, in_an_hour: u64) -> Self {
        self.warnings = in_an_hour;
        self
    }

    pub(crate) fn memory(mut self, mebibytes: usize) -> Self {
        self.memory = mebibytes * MIB;
        self
    }

    pub(crate) fn pieces(mut self, pieces: u64) -> Self {
        self.pieces = pieces;
        self
    }

    /// Scales a bound per hour to this row's time, with a minimum because most requests are in the first
    /// minutes.
    pub(crate) fn within_its_time(&self, in_an_hour: u64) -> u64 {
        (in_an_hour * self.lasting.as_secs() / HOUR.as_secs()).max(in_an_hour.min(30))
    }
}
