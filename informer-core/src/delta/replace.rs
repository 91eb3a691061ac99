//! The state of one scope, put together while a list or a watch-list streams in.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::intake::{Admitted, Intake};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::Undecodable;

/// The whole state of one scope at one version.
pub struct ReplaceAll<K> {
    /// The scope.
    pub scope: Scope,
    /// The version of the state.
    pub version: ResourceVersion,
    /// The objects, in the order of the list; each key once.
    pub items: Vec<(ObjectKey, Arc<K>)>,
    /// Objects that exist but could not be decoded or transformed, and why.
    pub unusable: Vec<(ObjectKey, String)>,
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

/// Collects the state of one scope. Nothing of it is visible until it is sent; dropping it forgets it.
pub struct ReplaceBuilder<K> {
    intake: Intake<K>,
    scope: Scope,
    /// Objects in the order of arrival; `None` where one was deleted again before the state was complete.
    items: Vec<Option<(ObjectKey, Arc<K>)>>,
    places: HashMap<ObjectKey, usize>,
    unusable: HashMap<ObjectKey, String>,
    unreadable: usize,
}

impl<K: Object> ReplaceBuilder<K> {
    pub(super) fn new(scope: Scope, intake: Intake<K>) -> Self {
        Self {
            intake,
            scope,
            items: Vec::new(),
            places: HashMap::new(),
            unusable: HashMap::new(),
            unreadable: 0,
        }
    }

    /// An object exists in this state; a later state of the same key takes its place.
    pub fn upsert(&mut self, object: Arc<K>) {
        let Some(Admitted { key, object, .. }) = self.intake.admit(object) else {
            self.unreadable += 1;
            return;
        };
        match object {
            Ok(object) => {
                self.unusable.remove(&key);
                match self.places.get(&key) {
                    Some(&place) => self.items[place] = Some((key, object)),
                    None => {
                        self.places.insert(key.clone(), self.items.len());
                        self.items.push(Some((key, object)));
                    }
                }
            }
            Err(reason) => self.unusable(key, reason),
        }
    }

    /// An object was deleted again before the state was complete.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.unusable.remove(key);
        if let Some(place) = self.places.remove(key) {
            self.items[place] = None;
        }
    }

    /// An object exists but could not be decoded.
    pub fn undecodable(&mut self, object: &Undecodable) {
        match &object.key {
            Some(key) => self.unusable(key.clone(), object.reason.clone()),
            None if mutant::is("I16") => {}
            None => self.unreadable += 1,
        }
    }

    /// The newest state of an object cannot be used. One that came before it may be older than what the cache has, and the cache's
    /// is the last good one.
    fn unusable(&mut self, key: ObjectKey, reason: String) {
        self.remove(&key);
        self.unusable.insert(key, reason);
    }

    /// How many objects are part of the state so far, usable or not: what a list reports as progress.
    pub(crate) fn seen(&self) -> usize {
        self.places.len() + self.unusable.len() + self.unreadable
    }

    /// How many objects there are so far.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no object so far.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Closes the collection at the version the server gave it.
    pub fn finish(self, version: ResourceVersion, rewind: Rewind) -> ReplaceAll<K> {
        ReplaceAll {
            scope: self.scope,
            version,
            items: self.items.into_iter().flatten().collect(),
            unusable: self.unusable.into_iter().collect(),
            unreadable: self.unreadable,
            rewind,
            first: false,
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
            .field("unusable", &self.unusable)
            .field("unreadable", &self.unreadable)
            .finish_non_exhaustive()
    }
}
