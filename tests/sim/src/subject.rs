//! One informer under test: built from its plan, with handlers, streams and indexes that are added and
//! removed.

mod check;
mod handlers;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use informer_core::delta::QueueOptions;
use informer_core::store::{Index, Snapshot};
use informer_core::{
    InitialState, NeverShown, ReflectorConfig, ResourceVersion, ScopeStatus, SharedInformer, State,
    WaitError, WaitForError,
};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::history::{History, Key, State as ObjectState, data};
use crate::observer::{Facts, Slot, number, object_key};
use crate::plan::{InformerPlan, NAMESPACES, Transform};
use crate::verdict::report;
use crate::wire::{self, Contact, Traffic};
use handlers::Listening;

/// One informer under test. A stopped informer is replaced by a new one with the same plan.
pub(crate) struct Subject {
    number: usize,
    plan: InformerPlan,
    informer: SharedInformer<ConfigMap>,
    slot: Slot,
    history: Arc<Mutex<History>>,
    phase: Phase,
    listening: Vec<Listening>,
    added: usize,
    indexes: Vec<(Index<ConfigMap, String>, bool)>,
    scopes: BTreeMap<String, ScopeRecord>,
    /// The store as of the last check.
    last: Option<Snapshot<ConfigMap>>,
    /// Whether a fault of this run made the exact state of a store unknown.
    doubted: Arc<AtomicBool>,
    reader: Arc<Mutex<Option<check::Reader>>>,
    traffic: Arc<Mutex<Traffic>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Made,
    Running,
    Stopped,
}

/// The values of one scope in the last check.
#[derive(Clone, Copy, Default)]
struct ScopeRecord {
    version: u64,
    unreadable: u64,
    rewinds: u64,
    doubt: Doubt,
}

/// Why a store may differ from the server's state at the store's version. Even then no object is invented,
/// and none is deleted without reason.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    /// An object with an unreadable name was received after this many lists. The next list may already have
    /// been in flight; the one after it is complete.
    Unreadable { lists: u64 },
    /// The second list was received; the store must still reach its version.
    Healing { version: u64 },
    /// The server was rewound, perhaps during a list.
    Rewound,
}

impl Subject {
    pub(crate) fn new(
        server: &ApiServer,
        number: usize,
        seed: u64,
        plan: &InformerPlan,
        history: &Arc<Mutex<History>>,
        doubted: &Arc<AtomicBool>,
    ) -> Self {
        let slot: Slot = Arc::default();
        let mut config = ReflectorConfig::default();
        config.seed = Some(seed.wrapping_add(number as u64));
        config.initial = plan.initial;
        config.page_size = plan.page_size;
        let traffic: Arc<Mutex<Traffic>> = Arc::default();
        let client = wire::client(server, slot.clone(), traffic.clone(), plan.gzip);
        let queue = QueueOptions::default().capacity(plan.capacity).batch(plan.batch);
        let mut builder = wire::builder(client, seed.wrapping_add(number as u64))
            .reflector(|_| config)
            .queue(queue)
            .storage(wire::storage(seed))
            .offload(plan.offload);
        if let Some(count) = plan.namespaces {
            builder = builder.namespaces(NAMESPACES.into_iter().take(count));
        }
        if plan.selective {
            builder = builder.labels("tier=a");
        }
        if let Some(period) = plan.resync {
            builder = builder.resync(period);
        }
        if plan.transform != Transform::None {
            let transform = plan.transform;
            builder = builder.try_transform(move |object| transformed(transform, object));
        }
        let informer = builder.build().expect("every drawn plan is valid");
        let reader = Arc::new(Mutex::new(Some(check::Reader::new(informer.indexer()))));
        Self {
            number,
            plan: plan.clone(),
            informer,
            slot,
            history: history.clone(),
            phase: Phase::Made,
            listening: Vec::new(),
            added: 0,
            indexes: Vec::new(),
            scopes: BTreeMap::new(),
            last: None,
            doubted: doubted.clone(),
            reader,
            traffic,
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            history: self.history.clone(),
            indexer: self.informer.indexer(),
            informer: self.slot.clone(),
            counted: self.plan.transform != Transform::None,
            selective: self.plan.selective,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// Whether a watch was given up, and no data was received since.
    pub(crate) fn is_stalled(&self) -> bool {
        let scopes = self.informer.status().scopes;
        let mut states = scopes.iter().map(|scope| &scope.state);
        states.any(|state| matches!(state, State::Stalled))
    }

    /// Returns the status and the request counts of each scope; empty unless the informer runs.
    pub(crate) fn scopes(&self) -> Vec<(ScopeStatus, Contact)> {
        if !self.is_running() {
            return Vec::new();
        }
        let traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        let scopes = self.informer.status().scopes.into_iter();
        scopes
            .map(|scope| {
                let contact = traffic.contact(&scope.scope);
                (scope, contact)
            })
            .collect()
    }

    pub(crate) fn start(&mut self) {
        if self.phase != Phase::Made {
            return;
        }
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.informer.clone());
        if let Err(error) = self.informer.start() {
            report("I9", || {
                format!("informer {} does not start: {error}", self.number)
            });
        }
        self.phase = Phase::Running;
    }

    /// Shuts the informer down; no event may be delivered afterwards.
    pub(crate) async fn stop(&mut self) {
        if self.phase == Phase::Stopped {
            return;
        }
        let before = self.phase;
        self.phase = Phase::Stopped;
        // The longest call of a handler here takes four seconds.
        let timeout = std::time::Duration::from_secs(60);
        if let Err(error) = self.informer.shutdown_timeout(timeout).await {
            report("I14", || format!("informer {}: {error}", self.number));
        }
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if before == Phase::Running {
            self.check();
        }
        for listening in &self.listening {
            listening.check_stopped();
        }
        if self.informer.add_handler(|_| {}).is_ok() {
            report("I9", || {
                format!("informer {} accepts a handler after its shutdown", self.number)
            });
        }
    }

    /// Adds an index; a panic of its function must affect this index only. The function reads the store, as a
    /// reader in the middle of a commit does.
    pub(crate) fn add_index(&mut self, panics: bool) {
        let name = format!("index-{}", self.indexes.len());
        let probe = check::Probe::new(self);
        let added = self.informer.add_index(&name, move |object: &ConfigMap| {
            probe.look();
            assert!(!(panics && number_in(object).is_multiple_of(5)), "simulated");
            vec![data(object, "value").to_owned(), ObjectState::of(object).tier]
        });
        match added {
            Ok(index) => self.indexes.push((index, panics)),
            Err(error) => report("I6", || format!("{name} cannot be added: {error}")),
        }
    }

    /// Waits for a version; after a successful wait no read may be older.
    pub(crate) async fn wait_until(&self, version: &str, timeout: std::time::Duration) {
        if !self.is_running() {
            return;
        }
        let wanted = ResourceVersion::new(version);
        match self.informer.wait_until_within(&wanted, timeout).await {
            Ok(()) => {
                for (scope, reached) in self.informer.indexer().versions().iter() {
                    let reached = number(reached.map(ToString::to_string));
                    if reached < number(Some(version.to_owned())) {
                        report("I13", || {
                            format!("waited for {version}, but {scope} is at {reached}")
                        });
                    }
                }
            }
            Err(WaitError::Timeout { .. }) => {}
            Err(error) => report("I13", || format!("a wait for {version} ended with: {error}")),
        }
    }

    /// Waits for a write, twice; after a successful wait no read may be older.
    pub(crate) async fn wait_for(&self, written: &ConfigMap, timeout: std::time::Duration) {
        if !self.is_running() {
            return;
        }
        let (key, state) = (object_key(&Key::of(written)), ObjectState::of(written));
        for _ in 0..2 {
            let begun = tokio::time::Instant::now();
            let outcome = self.informer.wait_for_within(written, timeout).await;
            let snapshot = self.informer.indexer().snapshot();
            let reached = number(snapshot.versions().of_key(&key).map(ToString::to_string));
            let held = snapshot.get(&key).map(|object| ObjectState::of(&object).revision);
            let wrong = match outcome {
                Ok(()) if reached < state.revision && held.is_none_or(|held| held < state.revision) => {
                    format!("succeeded with {held:?} in the cache, which is at {reached}")
                }
                Err(WaitForError::Timeout { .. }) if begun.elapsed() < timeout => {
                    format!("timed out after {:?}", begun.elapsed())
                }
                Err(WaitForError::NeverShown { .. }) if !self.covers(&key, &state) => continue,
                // A failed transform, or a garbled state: the cache keeps an older one.
                Err(WaitForError::NeverShown {
                    reason: NeverShown::Unusable(_),
                    ..
                }) => continue,
                Ok(()) | Err(WaitForError::Timeout { .. }) => continue,
                Err(error) => format!("ended with: {error}"),
            };
            report("I13", || format!("a wait for {key}, {state}, {wrong}"));
        }
    }

    /// Whether the informer reads the whole state by LIST only.
    pub(crate) fn only_lists(&self) -> bool {
        self.plan.initial == InitialState::List
    }

    /// The server was rewound: until the informer notices, its exact state is unknown.
    pub(crate) fn rewinding(&mut self) {
        for record in self.scopes.values_mut() {
            record.doubt = Doubt::Rewound;
        }
    }

    /// The informer noticed the rewind: it has no version that the server does not have.
    pub(crate) fn rewound(&mut self) {
        let status = self.informer.status();
        for scope in &status.scopes {
            let record = self.scopes.entry(scope.scope.to_string()).or_default();
            // With unreadable objects in between, the last list may be incomplete.
            record.doubt = match scope.counts.unreadable == record.unreadable && record.unreadable == 0 {
                true => Doubt::None,
                false => Doubt::Unreadable {
                    lists: scope.counts.lists,
                },
            };
            record.unreadable = scope.counts.unreadable;
        }
    }

    /// Whether no scope has seen more than this revision.
    pub(crate) fn is_not_past(&self, revision: u64) -> bool {
        let status = self.informer.status();
        let stored = status
            .versions
            .iter()
            .map(|(_, version)| version.map(ToString::to_string));
        let seen = status
            .scopes
            .iter()
            .map(|scope| scope.version.as_ref().map(ToString::to_string));
        stored.chain(seen).all(|version| match version {
            Some(text) => text.parse().is_ok_and(|version: u64| version <= revision),
            None => true,
        })
    }

    /// Whether the exact state is known, without stale objects.
    pub(crate) fn is_certain(&self) -> bool {
        self.scopes.values().all(|record| record.doubt == Doubt::None)
            && self.informer.status().stale.is_empty()
    }

    /// Reads up to this many events from each stream.
    pub(crate) async fn read_streams(&mut self, events: usize) {
        for listening in &mut self.listening {
            listening.read(events).await;
        }
    }
}

/// Returns the number in an object's value.
fn number_in(object: &ConfigMap) -> u64 {
    let digits: String = data(object, "value")
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or_default()
}

/// Whether failing and panicking transforms reject an object with this number.
fn is_rejected(number: u64) -> bool {
    number.is_multiple_of(7)
}

fn transformed(transform: Transform, object: &mut ConfigMap) -> Result<(), String> {
    let seen: u64 = data(object, "transformed").parse().unwrap_or_default();
    let number = number_in(object);
    let data = object.data.get_or_insert_default();
    data.insert("transformed".to_owned(), (seen + 1).to_string());
    match transform {
        Transform::Failing if is_rejected(number) => Err("simulated".to_owned()),
        Transform::Panicking => {
            assert!(!is_rejected(number), "simulated");
            Ok(())
        }
        Transform::None | Transform::Counting | Transform::Failing => Ok(()),
    }
}
