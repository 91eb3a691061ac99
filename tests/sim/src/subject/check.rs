//! Checks of one informer: at any time, and after the last fault.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use informer_core::store::{Indexer, Snapshot};
use informer_core::{HandlerState, InformerStatus, ObjectKey, Overflow, Registration, Scope};
use k8s_openapi::api::core::v1::ConfigMap;

use super::handlers::Listening;
use super::{Doubt, ScopeRecord, Subject, is_rejected, number_in};
use crate::history::{History, Key, State, data};
use crate::observer::{number, object_key};
use crate::plan::{InformerPlan, NAMESPACES, PLACES, Transform};
use crate::verdict::{observe, report};

impl Subject {
    /// Checks everything that must hold at any time.
    pub(crate) fn check(&mut self) {
        let status = self.informer.status();
        let snapshot = self.informer.indexer().snapshot();
        self.check_versions(&status, &snapshot);
        self.check_sync(&status);
        self.check_handlers(&status);
        if self.last.as_ref().is_none_or(|last| !last.is_same(&snapshot)) {
            self.check_objects(&snapshot);
            self.check_indexes(&snapshot);
            self.last = Some(snapshot);
        }
    }

    /// I2: versions only grow, unless a rewind was reported. Also records which scopes are in doubt.
    fn check_versions(&mut self, status: &InformerStatus, snapshot: &Snapshot<ConfigMap>) {
        for scope in &status.scopes {
            let name = scope.scope.to_string();
            let stored = snapshot.versions().get(&scope.scope).map(ToString::to_string);
            // A version that is not a number has no order. A scenario that sends one sets a doubt.
            if stored.as_ref().is_some_and(|text| text.parse::<u64>().is_err()) {
                continue;
            }
            let version = number(stored);
            let record = self.scopes.entry(name.clone()).or_default();
            if version < record.version && scope.counts.rewinds == record.rewinds {
                let before = record.version;
                report("I2", || {
                    format!("{name}: the store went from {before} back to {version}")
                });
            }
            record.doubt = doubt_after(
                record,
                version,
                scope.counts.unreadable,
                scope.counts.lists,
                || number(scope.version.as_ref().map(ToString::to_string)),
            );
            record.version = version;
            record.rewinds = scope.counts.rewinds;
            record.unreadable = scope.counts.unreadable;
            observe(&format!("{} {name} {version} {}", self.number, scope.state));
        }
    }

    /// Whether the informer's cache shows an object in this state.
    pub(super) fn covers(&self, key: &ObjectKey, state: &State) -> bool {
        covers(&self.plan, key.namespace().unwrap_or_default(), state)
    }

    /// I9: in sync only when every scope has been listed, and a handler only after its informer.
    fn check_sync(&self, status: &InformerStatus) {
        if status.synced && status.versions.iter().any(|(_, version)| version.is_none()) {
            report("I9", || {
                format!(
                    "informer {} is in sync before every scope was listed",
                    self.number
                )
            });
        }
        for listening in &self.listening {
            let synced = listening
                .observer
                .registration()
                .is_some_and(Registration::has_synced);
            if synced && !status.synced {
                report("I9", || {
                    format!("{} is in sync before its informer", listening.observer.name())
                });
            }
        }
    }

    /// I12: the number of events that wait for a handler is bounded.
    fn check_handlers(&self, status: &InformerStatus) {
        for handler in &status.handlers {
            let listening = self
                .listening
                .iter()
                .find(|one| one.observer.name() == handler.name);
            let Some(listening) = listening else { continue };
            // The replayed state does not count towards the buffer, and folding keeps one entry per object.
            let bound = listening.plan.buffer.map(|buffer| buffer + 3 * PLACES);
            if listening.plan.overflow != Overflow::Grow
                && let Some(bound) = bound
                && handler.depth > bound
            {
                report("I12", || {
                    format!("{} events wait for {}", handler.depth, handler.name)
                });
            }
        }
    }

    /// I1, I3, I4, I10, I15, I16: the store equals the server's state at the store's version.
    fn check_objects(&self, snapshot: &Snapshot<ConfigMap>) {
        let scopes: Vec<_> = snapshot
            .versions()
            .iter()
            .map(|(scope, _)| scope.clone())
            .collect();
        let keys = snapshot.iter().map(|(key, _)| key.to_key());
        for key in keys.filter(|key| !scopes.iter().any(|scope| scope.contains(key))) {
            report("I4", || {
                format!(
                    "informer {} has {key}, which is in none of its scopes",
                    self.number
                )
            });
        }
        let view = View {
            plan: &self.plan,
            history: &self.history,
            snapshot,
        };
        for (scope, version) in snapshot.versions().iter() {
            let version = number(version.map(ToString::to_string));
            let record = self.scopes.get(&scope.to_string()).copied().unwrap_or_default();
            let found = match record.doubt {
                Doubt::None => view.compare(scope, version),
                _ => self
                    .last
                    .as_ref()
                    .and_then(|last| view.compare_doubtful(scope, version, last)),
            };
            if let Some((guarantee, what)) = found {
                report(guarantee, || {
                    format!("informer {} in {scope} at {version}: {what}", self.number)
                });
            }
        }
    }

    /// I6: each index equals one computed from the same snapshot.
    fn check_indexes(&self, snapshot: &Snapshot<ConfigMap>) {
        for (index, panics) in &self.indexes {
            let mut fresh: BTreeMap<String, BTreeSet<ObjectKey>> = BTreeMap::new();
            for (key, object) in snapshot.iter() {
                if *panics && number_in(&object).is_multiple_of(5) {
                    continue;
                }
                for value in [data(&object, "value").to_owned(), State::of(&object).tier] {
                    fresh.entry(value).or_default().insert(key.to_key());
                }
            }
            let view = snapshot.index(index);
            let held: BTreeMap<String, BTreeSet<ObjectKey>> = view
                .values()
                .into_iter()
                .map(|value| {
                    let keys = view.keys(value.as_str()).into_iter().collect();
                    (value, keys)
                })
                .collect();
            if held != fresh {
                report("I6", || format!("{} has {held:?}, not {fresh:?}", index.name()));
            }
        }
    }

    /// Returns the first difference from the server after all faults; `None` if cache and handlers agree with
    /// it.
    pub(crate) fn difference(&self, revision: u64) -> Option<String> {
        let snapshot = self.informer.indexer().snapshot();
        let view = View {
            plan: &self.plan,
            history: &self.history,
            snapshot: &snapshot,
        };
        for (scope, _) in snapshot.versions().iter() {
            let doubtful = self
                .scopes
                .get(&scope.to_string())
                .is_some_and(|record| record.doubt != Doubt::None);
            if doubtful {
                continue;
            }
            if let Some((_, what)) = view.compare(scope, revision) {
                return Some(format!("informer {}: {what}", self.number));
            }
        }
        self.listening
            .iter()
            .find_map(|listening| self.missing_events(listening, &snapshot))
    }

    /// Returns an object that is marked stale although its newest state is usable.
    pub(crate) fn marked_without_reason(&self) -> Option<String> {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let fails = matches!(self.plan.transform, Transform::Failing | Transform::Panicking);
        self.informer
            .status()
            .stale
            .into_iter()
            .find_map(|(key, reason)| {
                let key = Key {
                    namespace: key.namespace().unwrap_or_default().to_owned(),
                    name: key.name().to_owned(),
                };
                let state = history.at(&key, u64::MAX);
                let digits = |state: &State| -> u64 {
                    let digits: String = state.value.chars().filter(char::is_ascii_digit).collect();
                    digits.parse().unwrap_or_default()
                };
                let excused = fails && state.is_some_and(|state| is_rejected(digits(state)));
                (!excused).then(|| format!("{key} is marked stale: {reason}"))
            })
    }

    /// Returns what a handler has not received or not finished.
    fn missing_events(&self, listening: &Listening, snapshot: &Snapshot<ConfigMap>) -> Option<String> {
        if listening.removed || listening.state() != HandlerState::Active {
            return None;
        }
        let name = listening.observer.name();
        let known = listening.observer.known();
        if known.len() != snapshot.len() {
            return Some(format!(
                "{name} knows {} objects of {}",
                known.len(),
                snapshot.len()
            ));
        }
        known.iter().find_map(|(key, object)| {
            let stored = snapshot.get(&object_key(key));
            let same = stored.is_some_and(|stored| Arc::ptr_eq(&stored, object));
            (!same).then(|| format!("{name} has another state of {key}"))
        })
    }
}

/// Returns the doubt about a scope after a check.
fn doubt_after(
    record: &ScopeRecord,
    stored: u64,
    unreadable: u64,
    lists: u64,
    seen: impl FnOnce() -> u64,
) -> Doubt {
    if record.doubt == Doubt::Rewound {
        return Doubt::Rewound;
    }
    if unreadable > record.unreadable {
        return Doubt::Unreadable { lists };
    }
    match record.doubt {
        Doubt::Unreadable { lists: then } if lists >= then + 2 => Doubt::Healing { version: seen() },
        Doubt::Healing { version } if stored == version => Doubt::None,
        // Beyond it: the list is in the store.
        Doubt::Healing { version } if stored > version && stored > record.version => Doubt::None,
        doubt => doubt,
    }
}

/// A store and the server's history to compare it with.
struct View<'a> {
    plan: &'a InformerPlan,
    history: &'a Mutex<History>,
    snapshot: &'a Snapshot<ConfigMap>,
}

type Found = Option<(&'static str, String)>;

impl View<'_> {
    /// Returns the first difference between the store and the server's state at a revision, in one scope.
    fn compare(&self, scope: &Scope, revision: u64) -> Found {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let mut expected: BTreeMap<&Key, &State> = history
            .all_at(revision)
            .filter(|(key, state)| self.covers(key, state) && scope.contains(&object_key(key)))
            .collect();
        for (key, object) in self.snapshot.iter() {
            let key = key.to_key();
            if !scope.contains(&key) {
                continue;
            }
            let (own, held) = (Key::of(&object), State::of(&object));
            let wanted = expected.remove(&own);
            if self.plan.transform != Transform::None && data(&object, "transformed") != "1" {
                return Some(("I15", format!("{key} was not transformed once")));
            }
            if self.snapshot.stale().contains(&key) {
                if !history.knows(&own, &held) {
                    return Some(("I16", format!("{key} has a state the server never had: {held}")));
                }
                // The UID of the unusable state was readable: an older state of the same object may stay,
                // another object may not.
                match wanted {
                    Some(wanted) if wanted.uid == held.uid => continue,
                    Some(wanted) => {
                        let what = format!("{key} is {held}, marked stale, not {wanted}: another object");
                        return Some(("I16", what));
                    }
                    None => return Some(("I3", format!("{key} is {held}, marked stale, which was deleted"))),
                }
            }
            match wanted {
                Some(wanted) if *wanted == held => {}
                Some(wanted) if wanted.uid != held.uid => {
                    return Some(("I10", format!("{key} is {held}, not {wanted}: another object")));
                }
                Some(wanted) => return Some(("I1", format!("{key} is {held}, not {wanted}"))),
                None if history.knows(&own, &held) => {
                    return Some(("I3", format!("{key} is {held}, which was deleted")));
                }
                None => return Some(("I4", format!("{key} is {held}, which never existed"))),
            }
        }
        let missing = expected
            .into_iter()
            .find(|(key, _)| !self.snapshot.stale().contains(&object_key(key)));
        missing.map(|(key, state)| ("I4", format!("{key} is missing, {state}")))
    }

    /// Checks what must hold even with unreadable objects: no object is invented, and none is deleted that
    /// still exists.
    fn compare_doubtful(&self, scope: &Scope, revision: u64, last: &Snapshot<ConfigMap>) -> Found {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, object) in self.snapshot.iter() {
            let (own, held) = (Key::of(&object), State::of(&object));
            if scope.contains(&key.to_key()) && !history.knows(&own, &held) {
                return Some(("I4", format!("{key} is {held}, which never existed")));
            }
        }
        for (key, object) in last.iter() {
            let (key, before) = (key.to_key(), State::of(&object));
            if !scope.contains(&key) || self.snapshot.contains(&key) {
                continue;
            }
            let own = Key::of(&object);
            let exists = |state: &State| state.uid == before.uid && self.covers(&own, state);
            let mut since = history.between(&own, before.revision, revision);
            // It existed before and in every state since, and is missing. One that left the selection and
            // returned unreadable may be missing.
            if before.revision <= revision
                && history.at(&own, revision).is_some_and(exists)
                && since.all(|state| state.is_some_and(exists))
            {
                return Some((
                    "I16",
                    format!("{key} is missing, though the server has it: {before}"),
                ));
            }
        }
        None
    }

    fn covers(&self, key: &Key, state: &State) -> bool {
        covers(self.plan, &key.namespace, state)
    }
}

/// Whether an informer with this plan caches this state.
fn covers(plan: &InformerPlan, namespace: &str, state: &State) -> bool {
    let within = plan
        .namespaces
        .is_none_or(|count| NAMESPACES.iter().take(count).any(|covered| *covered == namespace));
    within && (!plan.selective || state.tier == "a")
}

/// A reader in the middle of a commit, called by an index function: it must see a complete state (I5).
pub(super) struct Probe {
    number: usize,
    plan: InformerPlan,
    history: Arc<Mutex<History>>,
    doubted: Arc<AtomicBool>,
    reader: Arc<Mutex<Option<Reader>>>,
}

/// The store that a probe reads, and its last snapshot. Removed at the end: an index that held its store, or
/// a snapshot of it, would leak both.
pub(super) struct Reader {
    indexer: Indexer<ConfigMap>,
    seen: Option<Snapshot<ConfigMap>>,
}

impl Reader {
    pub(super) fn new(indexer: Indexer<ConfigMap>) -> Self {
        Self { indexer, seen: None }
    }
}

impl Probe {
    pub(super) fn new(subject: &Subject) -> Self {
        Self {
            number: subject.number,
            plan: subject.plan.clone(),
            history: subject.history.clone(),
            doubted: subject.doubted.clone(),
            reader: subject.reader.clone(),
        }
    }

    pub(super) fn look(&self) {
        if self.doubted.load(Ordering::Relaxed) {
            return;
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reader) = reader.as_mut() else { return };
        let snapshot = reader.indexer.snapshot();
        if reader.seen.as_ref().is_some_and(|seen| seen.is_same(&snapshot)) {
            return;
        }
        let view = View {
            plan: &self.plan,
            history: &self.history,
            snapshot: &snapshot,
        };
        for (scope, version) in snapshot.versions().iter() {
            let version = number(version.map(ToString::to_string));
            if let Some((_, what)) = view.compare(scope, version) {
                report("I5", || {
                    format!(
                        "informer {} in a commit, {scope} at {version}: {what}",
                        self.number
                    )
                });
            }
        }
        reader.seen = Some(snapshot);
    }
}
