//! Collects the whole state of one scope while a list or a watch-list streams in.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::intake::{Admission, Identified, Intake};
use super::transform::{Transformer, Unusable};
use super::{Delta, Departed};
use crate::fast_paths;
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{Identity, Known, Lookup, SourceObject, Undecodable};
use crate::storage::{Arrival, Stored};
use crate::store::{Indexer, Snapshot};
use crate::sync::{Offload, offload};

/// The whole state of one scope at one version.
pub struct ReplaceAll<K> {
    /// The scope.
    pub scope: Scope,
    /// The version of the state.
    pub version: ResourceVersion,
    /// The objects in list order, each key once.
    pub items: Vec<(ObjectKey, Stored<K>)>,
    /// Objects that exist but could not be decoded or transformed, and why.
    pub unusable: Vec<(ObjectKey, Unusable)>,
    /// How many items had no readable key. If this is not zero, a missing object must not be deleted: it may
    /// be one of these items.
    pub unreadable: usize,
    /// Whether the server's history was rewound, so that older versions are valid.
    pub(crate) rewind: Rewind,
    pub(crate) provenance: Provenance,
}

/// Where a whole state comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    Server,
    /// The file of a warm start: the server has not confirmed it.
    File,
}

/// Whether a state may be older than what was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewind {
    /// No: versions only grow.
    No,
    /// Yes: the server itself went back (an etcd restore), and the reflector has reported it.
    Yes,
}

/// How many objects are transformed at a time. One switch of threads per object would be slow. Collecting the
/// whole list first would need the memory that the transform saves.
const TRANSFORM_BATCH: usize = 128;

/// Collects the state of one scope. None of it is visible until it is sent; dropping the builder discards it.
///
/// Transforms run while the state is collected, 128 objects at a time, and the methods wait for them. A call
/// that is dropped while it waits leaves the state incomplete: drop the builder too.
pub struct ReplaceBuilder<K> {
    intake: Intake,
    transformer: Transformer<K>,
    /// What the store had when the state began to arrive.
    before: Arc<Before<K>>,
    /// Received and not transformed or packed yet, in arrival order. Always empty if there is nothing to do.
    pending: Vec<(ObjectKey, Received<K>)>,
    /// Objects in arrival order; `None` where one was deleted before the state was complete.
    items: Vec<Option<(ObjectKey, Stored<K>)>>,
    /// The position of each key in `items`.
    places: HashMap<ObjectKey, usize>,
    unusable: HashMap<ObjectKey, Unusable>,
    unreadable: usize,
    /// The size of the objects in `items`.
    bytes: u64,
    /// The size of the objects in `pending`, as they were received.
    pending_bytes: u64,
}

/// The state of the store when a whole state began to arrive.
struct Before<K> {
    scope: Scope,
    /// `None` if it was empty, or is not known.
    snapshot: Option<Snapshot<K>>,
}

impl<K: Object> Lookup for Before<K> {
    fn contains(&self, identity: &Identity) -> bool {
        let (Some(snapshot), Some(key)) = (&self.snapshot, &identity.key) else {
            return false;
        };
        let (version, uid) = (identity.version.as_ref(), identity.uid.as_deref());
        snapshot.unchanged(&self.scope, key, version, uid).is_some()
    }
}

/// What arrived for one key.
enum Received<K> {
    New(Delta<K>),
    /// The state that the store has, transformed and packed when it arrived first. The store's own object
    /// takes the place of the new one, so that an unchanged set is not in memory twice.
    Unchanged(Stored<K>),
}

impl<K: Object> Received<K> {
    fn bytes(&self) -> u64 {
        match self {
            Self::New(Delta::Added(object) | Delta::Updated(object)) | Self::Unchanged(object) => {
                u64::from(object.bytes())
            }
            Self::New(Delta::Deleted(_) | Delta::Unusable(_)) => 0,
        }
    }

    /// The delta to apply. Call it where user code may run.
    fn prepare(self, key: &ObjectKey, transformer: &Transformer<K>) -> Delta<K> {
        match self {
            Self::New(delta) => transformer.transform(key, None, delta, Arrival::Listed),
            Self::Unchanged(stored) => Delta::Added(stored),
        }
    }
}

impl<K: Object> ReplaceBuilder<K> {
    pub(super) fn new(intake: Intake, transformer: Transformer<K>, store: Option<&Indexer<K>>) -> Self {
        let before = Arc::new(Before {
            scope: intake.scope().clone(),
            snapshot: store.map(Indexer::peek).filter(|snapshot| !snapshot.is_empty()),
        });
        Self {
            intake,
            transformer,
            before,
            pending: Vec::new(),
            items: Vec::new(),
            places: HashMap::new(),
            unusable: HashMap::new(),
            unreadable: 0,
            bytes: 0,
            pending_bytes: 0,
        }
    }

    /// Adds an object, or replaces the earlier state of its key.
    pub async fn upsert(&mut self, object: impl Into<SourceObject<K>>) {
        let object = object.into();
        match self.intake.identify(object.meta()) {
            Identified::Key(key) => {
                let received = match self.unchanged(&key, object.meta()) {
                    Some(stored) => Received::Unchanged(stored),
                    None => Received::New(Delta::Added(object.into())),
                };
                self.receive(key, received).await;
            }
            Identified::Nameless => self.unreadable += 1,
            Identified::Elsewhere => {}
        }
    }

    fn unchanged(&self, key: &ObjectKey, meta: &ObjectMeta) -> Option<Stored<K>> {
        let snapshot = self.before.snapshot.as_ref()?;
        let (version, uid) = (ResourceVersion::of(meta), meta.uid.as_deref());
        snapshot
            .unchanged(self.intake.scope(), key, version.as_ref(), uid)
            .cloned()
    }

    /// The objects that a source need not decode: [`keep`](Self::keep) finds them. Empty once the state is
    /// complete.
    pub(crate) fn known(&self) -> Known {
        match self.before.snapshot {
            Some(_) if fast_paths::are_on() => Known::of(&self.before),
            _ => Known::nothing(),
        }
    }

    /// Adds the object that the store had under this key, because its state is listed again.
    pub(crate) async fn keep(&mut self, key: ObjectKey) {
        let snapshot = self.before.snapshot.as_ref();
        match snapshot.and_then(|snapshot| snapshot.stored(&key)).cloned() {
            Some(stored) => {
                if let Admission::Granted = self.intake.admit(&key) {
                    self.receive(key, Received::Unchanged(stored)).await;
                }
            }
            // The source yielded what it was not given. The object exists, but its state is unknown.
            None => self.unreadable += 1,
        }
    }

    /// Removes an object that was deleted before the state was complete.
    pub async fn remove(&mut self, key: &ObjectKey) {
        if let Admission::Granted = self.intake.admit(key) {
            let deleted = Delta::Deleted(Departed::KeyOnly);
            self.receive(key.clone(), Received::New(deleted)).await;
        }
    }

    /// Records an object that exists but could not be decoded.
    pub async fn undecodable(&mut self, object: &Undecodable) {
        match &object.key {
            Some(key) => {
                if let Admission::Granted = self.intake.admit(key) {
                    let unusable = Delta::Unusable(object.clone().into());
                    self.receive(key.clone(), Received::New(unusable)).await;
                }
            }
            None if mutant::is("I16") => {}
            None => self.unreadable += 1,
        }
    }

    /// Applies what arrived after that which arrived before it.
    async fn receive(&mut self, key: ObjectKey, received: Received<K>) {
        if self.transformer.runs_on() == Offload::Inline {
            let delta = received.prepare(&key, &self.transformer);
            self.apply(key, delta);
            return;
        }
        self.pending_bytes += received.bytes();
        self.pending.push((key, received));
        if self.pending.len() >= TRANSFORM_BATCH {
            self.apply_pending().await;
        }
    }

    /// Transforms what is pending, off the async worker, and applies it.
    pub(crate) async fn apply_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        if pending.is_empty() {
            return;
        }
        let transformer = self.transformer.clone();
        let transform = move || -> Vec<_> {
            pending
                .into_iter()
                .map(|(key, received)| {
                    let delta = received.prepare(&key, &transformer);
                    (key, delta)
                })
                .collect()
        };
        for (key, delta) in offload::run(transform).await {
            self.apply(key, delta);
        }
    }

    /// How many objects are part of the state so far, usable or not. Reported as the progress of a list.
    pub(crate) fn seen(&self) -> usize {
        self.named() + self.unreadable
    }

    /// The size of the objects so far. Before [`apply_pending`](Self::apply_pending) an object that was sent
    /// twice may count twice, and none is packed.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.pending_bytes
    }

    /// Whether objects wait for their transform. Until then, an object that was sent twice may count twice.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// How many of them have a known name. Exact after [`apply_pending`](Self::apply_pending): before that,
    /// an object that was sent twice may count twice.
    pub(crate) fn named(&self) -> usize {
        self.len() + self.unusable.len()
    }

    /// The number of objects so far.
    pub fn len(&self) -> usize {
        self.places.len() + self.pending.len()
    }

    /// Whether there are no objects so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Completes the state at the version the server gave it.
    pub async fn finish(self, version: ResourceVersion) -> ReplaceAll<K> {
        self.finish_with(version, Rewind::No).await
    }

    /// Like [`finish`](Self::finish), for a state from a file.
    pub(crate) async fn finish_seed(self, version: ResourceVersion) -> ReplaceAll<K> {
        ReplaceAll {
            provenance: Provenance::File,
            ..self.finish(version).await
        }
    }

    /// Like [`finish`](Self::finish), also after a rewind of the server.
    pub(crate) async fn finish_with(mut self, version: ResourceVersion, rewind: Rewind) -> ReplaceAll<K> {
        self.apply_pending().await;
        ReplaceAll {
            scope: self.intake.scope().clone(),
            version,
            items: self.items.into_iter().flatten().collect(),
            unusable: self.unusable.into_iter().collect(),
            unreadable: self.unreadable,
            rewind,
            provenance: Provenance::Server,
        }
    }

    fn apply(&mut self, key: ObjectKey, delta: Delta<K>) {
        // The earlier state of the key goes in any case. Also where the new one is unusable: the earlier one
        // may be older than what the cache has, and the cache keeps its own last good state.
        self.unusable.remove(&key);
        let place = self.places.get(&key).copied();
        match delta {
            Delta::Added(object) | Delta::Updated(object) => match place {
                Some(place) => {
                    self.bytes += u64::from(object.bytes());
                    let before = self.items[place].replace((key, object));
                    self.bytes -= before.map_or(0, |(_, before)| u64::from(before.bytes()));
                }
                None => {
                    self.bytes += u64::from(object.bytes());
                    self.places.insert(key.clone(), self.items.len());
                    self.items.push(Some((key, object)));
                }
            },
            Delta::Deleted(_) => self.discard(&key),
            Delta::Unusable(unusable) => {
                self.discard(&key);
                self.unusable.insert(key, unusable);
            }
        }
    }

    fn discard(&mut self, key: &ObjectKey) {
        if let Some(place) = self.places.remove(key) {
            let before = self.items[place].take();
            self.bytes -= before.map_or(0, |(_, before)| u64::from(before.bytes()));
        }
    }
}

impl<K> ReplaceAll<K> {
    /// The keys of [`unusable`](Self::unusable): they count as present.
    pub fn unusable_keys(&self) -> HashSet<ObjectKey> {
        self.unusable.iter().map(|(key, _)| key.clone()).collect()
    }
}

impl<K> fmt::Debug for ReplaceAll<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplaceAll")
            .field("scope", &self.scope)
            .field("version", &self.version)
            .field("items", &self.items.len())
            .field("unusable", &self.unusable_keys())
            .field("unreadable", &self.unreadable)
            .finish_non_exhaustive()
    }
}
