//! Checks the events of one handler, one by one: I1, I7, I8, I9, I10 and I15.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use informer_core::store::Indexer;
use informer_core::{Deleted, Event, ObjectKey, Origin, Registration, SharedInformer, UpdateCause};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::history::{History, Key, State, data};
use crate::verdict::{observe, report};

/// The informer, for its handlers and requests while it runs. Emptied when it stops, because it would keep
/// itself alive.
pub(crate) type Slot = Arc<Mutex<Option<SharedInformer<ConfigMap>>>>;

/// The facts that all handlers of an informer are checked against.
#[derive(Clone)]
pub(crate) struct Facts {
    pub(crate) history: Arc<Mutex<History>>,
    pub(crate) indexer: Indexer<ConfigMap>,
    /// The informer itself, while it runs.
    pub(crate) informer: Slot,
    /// Whether every object was counted by a transform.
    pub(crate) counted: bool,
    /// Whether only objects of tier `a` are covered.
    pub(crate) selective: bool,
}

/// Checks the events of one handler against the history, the store and the events before.
pub(crate) struct Observer {
    name: String,
    facts: Facts,
    registration: OnceLock<Registration>,
    received: Mutex<Received>,
}

#[derive(Default)]
struct Received {
    known: BTreeMap<Key, Arc<ConfigMap>>,
    calls: u64,
    /// Set when the handler was removed, or its informer was shut down.
    ended: bool,
}

impl Observer {
    pub(crate) fn new(name: String, facts: Facts) -> Arc<Self> {
        Arc::new(Self {
            name,
            facts,
            registration: OnceLock::new(),
            received: Mutex::default(),
        })
    }

    pub(crate) fn registered(&self, registration: Registration) {
        let _ = self.registration.set(registration);
    }

    pub(crate) fn registration(&self) -> Option<&Registration> {
        self.registration.get()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// From now on the handler must receive nothing.
    pub(crate) fn end(&self) {
        self.received().ended = true;
    }

    pub(crate) fn known(&self) -> BTreeMap<Key, Arc<ConfigMap>> {
        self.received().known.clone()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks one event, and returns the number of the call.
    pub(crate) fn receive(&self, event: &Event<ConfigMap>) -> u64 {
        let mut received = self.received();
        received.calls += 1;
        observe(&format!("{} {event:?}", self.name));
        if received.ended {
            self.wrong("I7", event, "delivered after the removal or shutdown");
        }
        let object = event.object();
        let key = Key::of(object);
        let state = State::of(object);
        match event {
            Event::Added { object, origin, .. } => {
                if received.known.insert(key.clone(), object.clone()).is_some() {
                    self.wrong("I7", event, "an addition of an object that the handler has");
                }
                if *origin == Origin::Initial && self.registration().is_some_and(Registration::has_synced) {
                    self.wrong(
                        "I9",
                        event,
                        "part of the initial state, delivered to a synced handler",
                    );
                }
                self.check_state(event, &key, &state);
            }
            Event::Updated { old, new, cause, .. } => {
                match received.known.insert(key.clone(), new.clone()) {
                    None => self.wrong("I8", event, "an update of an object that was never added"),
                    Some(before) if !Arc::ptr_eq(&before, old) => {
                        self.wrong("I7", event, "its old object is not the last one delivered");
                    }
                    Some(_) => {}
                }
                self.check_update(event, &State::of(old), &state, *cause, Arc::ptr_eq(old, new));
                self.check_state(event, &key, &state);
            }
            Event::Deleted(deleted) => match (received.known.remove(&key), deleted) {
                (None, _) => self.wrong("I8", event, "a deletion of an object that was never added"),
                (Some(before), Deleted::Missed { last_known, .. })
                    if self.is_exact() && !Arc::ptr_eq(&before, last_known) =>
                {
                    self.wrong("I7", event, "its last known state is not the last one delivered");
                }
                (Some(before), _) if State::of(&before).uid != state.uid => {
                    self.wrong("I10", event, "the UID is not that of the last object delivered");
                }
                (Some(_), _) => {}
            },
        }
        if self.facts.counted && data(object, "transformed") != "1" {
            self.wrong("I15", event, "not transformed once");
        }
        self.check_store(event, &state);
        received.calls
    }

    /// Whether every event is delivered, without folding.
    fn is_exact(&self) -> bool {
        !self.name.contains("folding")
    }

    /// Whether the informer has reported that the server's history went back.
    fn was_rewound(&self) -> bool {
        let slot = self.facts.informer.lock().unwrap_or_else(PoisonError::into_inner);
        let scopes = slot.as_ref().map(|informer| informer.status().scopes);
        scopes.is_none_or(|scopes| scopes.iter().any(|scope| scope.counts.rewinds > 0))
    }

    fn check_state(&self, event: &Event<ConfigMap>, key: &Key, state: &State) {
        let history = self.facts.history.lock().unwrap_or_else(PoisonError::into_inner);
        if !history.knows(key, state) {
            self.wrong("I4", event, "a state the server never had");
        }
        if self.facts.selective && state.tier != "a" {
            self.wrong("I4", event, "an object that the selector does not match");
        }
    }

    fn check_update(
        &self,
        event: &Event<ConfigMap>,
        old: &State,
        new: &State,
        cause: UpdateCause,
        same: bool,
    ) {
        if old.uid != new.uid {
            self.wrong(
                "I10",
                event,
                "another object of the same name, delivered as an update",
            );
        }
        match cause {
            UpdateCause::Resync if !same => self.wrong("I7", event, "a resync that changes something"),
            UpdateCause::Change if new.revision < old.revision && !self.was_rewound() => {
                self.wrong("I1", event, "goes backwards");
            }
            _ => {}
        }
    }

    /// I7: the store is never behind the event.
    fn check_store(&self, event: &Event<ConfigMap>, state: &State) {
        let Some(key) = event.key() else { return };
        let snapshot = self.facts.indexer.snapshot();
        let reached = snapshot.versions().of_key(&key).map(ToString::to_string);
        // A version that is not a number has no order.
        if reached.as_ref().is_some_and(|text| text.parse::<u64>().is_err()) {
            return;
        }
        let reached = number(reached);
        let older = snapshot
            .get(&key)
            .is_some_and(|stored| State::of(&stored).revision < state.revision);
        // After a rewind a slow handler may receive events of the history that was undone.
        if (reached < state.revision || older) && !self.was_rewound() {
            self.wrong(
                "I7",
                event,
                &format!("the store is at {reached}, with an older state: {older}"),
            );
        }
    }

    fn wrong(&self, guarantee: &'static str, event: &Event<ConfigMap>, why: &str) {
        report(guarantee, || format!("{} received {event:?}: {why}", self.name));
    }
}

/// Returns a version as a number; zero for none.
pub(crate) fn number(version: Option<String>) -> u64 {
    version.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Converts a key.
pub(crate) fn object_key(key: &Key) -> ObjectKey {
    ObjectKey::namespaced(key.namespace.as_str(), key.name.as_str())
}
