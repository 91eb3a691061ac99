//! The state of one scope, put together while a list or a watch-list streams in.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::intake::{Admission, Arrival, Identified, Intake, Transformer, Unusable};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::Undecodable;
use crate::sync::{Offload, offload};

/// The whole state of one scope at one version.
pub struct ReplaceAll<K> {
    /// The scope.
    pub scope: Scope,
    /// The version of the state.
    pub version: ResourceVersion,
    /// The objects, in the order of the list; each key once.
    pub items: Vec<(ObjectKey, Arc<K>)>,
    /// Objects that exist but could not be decoded or transformed, and why.
    pub unusable: Vec<(ObjectKey, Unusable)>,
    /// How many items had not even a readable key. If there is one, nothing may be deleted for being absent.
    pub unreadable: usize,
    /// Whether the server's history went back, so that older versions are right.
    pub rewind: Rewind,
    /// Whether this is the first state of its scope. Set by the queue when it is taken out.
    pub first: bool,
}

/// Whether a state may be older than what was seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewind {
    /// No: versions only grow.
    #[default]
    No,
    /// Yes: the server itself went back (an etcd restore), and the reflector has reported it.
    Yes,
}

/// How many objects are transformed at a time. A change of threads per object would be expensive, and a whole
/// list of objects that are not transformed yet would take the memory that the transform is to save.
const CHUNK: usize = 128;

/// Collects the state of one scope. Nothing of it is visible until it is sent; dropping it forgets it.
///
/// Transforms run while it is collected, 128 objects at a time, which its calls wait for. After a call
/// that was dropped while it waited, the state is incomplete: drop the builder too.
pub struct ReplaceBuilder<K> {
    intake: Intake,
    transformer: Transformer<K>,
    /// What arrived and is not transformed yet, in order. Always empty without a transform.
    pending: Vec<Step<Arrival<K>>>,
    collected: Collected<K>,
}

/// One step on the way to the state.
enum Step<T> {
    Upsert(T),
    Remove(ObjectKey),
    Unusable(ObjectKey, Unusable),
}

/// An object after its transform.
type Transformed<K> = (ObjectKey, Result<Arc<K>, Unusable>);

impl<K> Step<Arrival<K>> {
    fn transformed(self, transformer: &Transformer<K>) -> Step<Transformed<K>>
    where
        K: Object,
    {
        match self {
            Self::Upsert(Arrival { key, object, .. }) => {
                let object = transformer.apply(&key, object);
                Step::Upsert((key, object))
            }
            Self::Remove(key) => Step::Remove(key),
            Self::Unusable(key, unusable) => Step::Unusable(key, unusable),
        }
    }
}

impl<K: Object> ReplaceBuilder<K> {
    pub(super) fn new(intake: Intake, transformer: Transformer<K>) -> Self {
        Self {
            intake,
            transformer,
            pending: Vec::new(),
            collected: Collected::new(),
        }
    }

    /// An object exists in this state; a later state of the same key takes its place.
    pub async fn upsert(&mut self, object: Arc<K>) {
        match self.intake.identify(object) {
            Identified::Known(arrival) => self.step(Step::Upsert(arrival)).await,
            Identified::Nameless => self.collected.unreadable += 1,
            Identified::Elsewhere => {}
        }
    }

    /// An object was deleted again before the state was complete.
    pub async fn remove(&mut self, key: &ObjectKey) {
        if let Admission::Granted = self.intake.admit(key) {
            self.step(Step::Remove(key.clone())).await;
        }
    }

    /// An object exists but could not be decoded.
    pub async fn undecodable(&mut self, object: &Undecodable) {
        match &object.key {
            Some(key) => {
                if let Admission::Granted = self.intake.admit(key) {
                    self.step(Step::Unusable(key.clone(), object.clone().into()))
                        .await;
                }
            }
            None if mutant::is("I16") => {}
            None => self.collected.unreadable += 1,
        }
    }

    /// Takes one step, after those that came before it.
    async fn step(&mut self, step: Step<Arrival<K>>) {
        if self.transformer.runs_on() == Offload::Inline {
            self.collected.play(step.transformed(&self.transformer));
            return;
        }
        self.pending.push(step);
        if self.pending.len() >= CHUNK {
            self.settle().await;
        }
    }

    /// Transforms what is pending, off the async worker.
    pub(crate) async fn settle(&mut self) {
        let steps = std::mem::take(&mut self.pending);
        if steps.is_empty() {
            return;
        }
        let transformer = self.transformer.clone();
        let transform = move || -> Vec<_> {
            steps
                .into_iter()
                .map(|step| step.transformed(&transformer))
                .collect()
        };
        for step in offload::run(transform).await {
            self.collected.play(step);
        }
    }

    /// How many objects are part of the state so far, usable or not: what a list reports as progress.
    pub(crate) fn seen(&self) -> usize {
        self.named() + self.collected.unreadable
    }

    /// Of these, how many are known by name. Exact after [`settle`](Self::settle): before that, an object
    /// that was sent twice may count twice.
    pub(crate) fn named(&self) -> usize {
        self.len() + self.collected.unusable.len()
    }

    /// How many objects there are so far.
    pub fn len(&self) -> usize {
        self.collected.places.len() + self.pending.len()
    }

    /// Whether there is no object so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes the collection at the version the server gave it.
    pub async fn finish(mut self, version: ResourceVersion, rewind: Rewind) -> ReplaceAll<K> {
        self.settle().await;
        let collected = self.collected;
        ReplaceAll {
            scope: self.intake.scope().clone(),
            version,
            items: collected.items.into_iter().flatten().collect(),
            unusable: collected.unusable.into_iter().collect(),
            unreadable: collected.unreadable,
            rewind,
            first: false,
        }
    }
}

/// The newest state of each key so far.
struct Collected<K> {
    /// Objects in the order of arrival; `None` where one was deleted again before the state was complete.
    items: Vec<Option<(ObjectKey, Arc<K>)>>,
    places: HashMap<ObjectKey, usize>,
    unusable: HashMap<ObjectKey, Unusable>,
    unreadable: usize,
}

impl<K> Collected<K> {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            places: HashMap::new(),
            unusable: HashMap::new(),
            unreadable: 0,
        }
    }

    fn play(&mut self, step: Step<Transformed<K>>) {
        match step {
            Step::Upsert((key, Ok(object))) => self.upsert(key, object),
            // The newest state of an object cannot be used. One that came before it may be older than what
            // the cache has, and the cache's is the last good one.
            Step::Upsert((key, Err(unusable))) | Step::Unusable(key, unusable) => {
                self.remove(&key);
                self.unusable.insert(key, unusable);
            }
            Step::Remove(key) => self.remove(&key),
        }
    }

    fn upsert(&mut self, key: ObjectKey, object: Arc<K>) {
        self.unusable.remove(&key);
        match self.places.get(&key) {
            Some(&place) => self.items[place] = Some((key, object)),
            None => {
                self.places.insert(key.clone(), self.items.len());
                self.items.push(Some((key, object)));
            }
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.unusable.remove(key);
        if let Some(place) = self.places.remove(key) {
            self.items[place] = None;
        }
    }
}

impl<K> ReplaceAll<K> {
    /// The keys that count as present without being among the items.
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
