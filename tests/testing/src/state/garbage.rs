//! Garbage collection by owner references, as the controller of that name does.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{DeleteRequest, Mode, Source, State, Write};
use crate::object::{self, Object, Stored, finalizers, metadata_mut, metadata_str};
use crate::registry::{Resource, Scope};
use crate::storage::ChangeKind;

/// Whether objects are deleted with their owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GarbageCollection {
    #[default]
    Off,
    On,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Held until the dependents that block the deletion are deleted.
const FOREGROUND: &str = "foregroundDeletion";
/// Held until the dependents do not refer to the object any more.
const ORPHAN: &str = "orphan";

/// One stored object, as the collector sees it.
struct Item {
    resource: Arc<Resource>,
    stored: Arc<Stored>,
    metadata: Map<String, Value>,
}

impl Propagation {
    /// Reads the policy of `DeleteOptions`.
    pub(super) fn read(options: &Value) -> Option<Self> {
        match options["propagationPolicy"].as_str() {
            Some("Foreground") => Some(Self::Foreground),
            Some("Orphan") => Some(Self::Orphan),
            Some("Background") => Some(Self::Background),
            _ if options["orphanDependents"] == true => Some(Self::Orphan),
            _ => None,
        }
    }

    /// Sets the finalizers by which the collector knows the policy. Returns whether they changed.
    pub(super) fn mark(self, object: &mut Object) -> bool {
        let before: Vec<String> = finalizers(object).into_iter().map(str::to_owned).collect();
        let mut after: Vec<String> = before.clone();
        after.retain(|name| name != FOREGROUND && name != ORPHAN);
        match self {
            Self::Background => {}
            Self::Foreground => after.push(FOREGROUND.to_owned()),
            Self::Orphan => after.push(ORPHAN.to_owned()),
        }
        set_finalizers(object, after.clone());
        before != after
    }
}

impl State {
    /// Deletes what has lost its owners, after the writes since a revision. Nothing is left to do afterwards.
    pub(crate) fn collect_garbage(&mut self, since: u64) {
        if self.garbage == GarbageCollection::Off || !self.may_have_garbage(since) {
            return;
        }
        // One change at a time, until there is none to make.
        let mut before = 0;
        while before != self.storage.revision() {
            before = self.storage.revision();
            self.collect_once();
        }
    }

    /// Only a deletion, or a write of an object that has owners or is being deleted, can make garbage.
    fn may_have_garbage(&self, since: u64) -> bool {
        let Ok(mut changes) = self.storage.changes_after(since, self.storage.revision()) else {
            return true;
        };
        changes.any(|change| {
            let metadata = metadata_of(&change.new);
            change.kind == ChangeKind::Delete
                || metadata.contains_key("ownerReferences")
                || metadata.contains_key("deletionTimestamp")
        })
    }

    /// Makes one change, if there is any to make.
    fn collect_once(&mut self) {
        let items = self.items();
        let by_uid: HashMap<&str, &Item> = items
            .iter()
            .map(|item| (item.stored.uid.as_str(), item))
            .collect();
        let owner = |item: &Item, reference: &Value| {
            let owner = by_uid.get(text(reference, "uid"))?;
            let is_reachable =
                owner.resource.scope == Scope::Cluster || owner.stored.namespace == item.stored.namespace;
            let is_same = owner.stored.name == text(reference, "name")
                && owner.resource.kind == text(reference, "kind");
            (is_reachable && is_same).then_some(*owner)
        };
        for item in &items {
            if item.has(ORPHAN) {
                match items.iter().find(|other| other.refers_to(&item.stored.uid)) {
                    Some(dependent) => {
                        self.drop_references(dependent, |reference| {
                            text(reference, "uid") == item.stored.uid
                        });
                    }
                    None => self.drop_finalizer(item, ORPHAN),
                }
                return;
            }
            let blocks = |other: &&Item| {
                let references = other.references();
                references.iter().any(|reference| {
                    text(reference, "uid") == item.stored.uid && reference["blockOwnerDeletion"] == true
                })
            };
            if item.has(FOREGROUND) && !items.iter().any(|other| blocks(&other)) {
                self.drop_finalizer(item, FOREGROUND);
                return;
            }
        }
        for item in &items {
            let references = item.references();
            let is_solid =
                |reference: &Value| owner(item, reference).is_some_and(|owner| !owner.has(FOREGROUND));
            let is_waiting_for_dependents = item.has(FOREGROUND);
            if references.is_empty() || (item.is_deleted() && !is_waiting_for_dependents) {
                continue;
            }
            let solid = references.iter().filter(|reference| is_solid(reference)).count();
            if solid == references.len() || (solid == 0 && item.is_deleted()) {
                continue;
            }
            if solid > 0 {
                self.drop_references(item, |reference| !is_solid(reference));
                return;
            }
            // Owners that wait for their dependents pass the wait on to the dependents of this one.
            let waits = references
                .iter()
                .any(|reference| owner(item, reference).is_some());
            let has_dependents = items.iter().any(|other| other.refers_to(&item.stored.uid));
            let policy = (waits && has_dependents).then_some(Propagation::Foreground);
            let request = DeleteRequest {
                propagation: policy,
                ..DeleteRequest::default()
            };
            // The object was listed under this lock, so it exists, and no precondition can fail.
            let _deleted = self.delete(&item.write(), &item.stored.name, &request);
            return;
        }
    }

    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for id in self.storage.resources() {
            let Some(resource) = self.registry.by_id(&id) else {
                continue;
            };
            let stored = self.storage.snapshot(&id, "", "", self.storage.revision());
            items.extend(stored.unwrap_or_default().into_iter().map(|stored| Item {
                resource: resource.clone(),
                metadata: metadata_of(&stored),
                stored,
            }));
        }
        items
    }

    fn drop_references(&mut self, item: &Item, is_dropped: impl Fn(&Value) -> bool) {
        let kept: Vec<Value> = item
            .references()
            .iter()
            .filter(|reference| !is_dropped(reference))
            .cloned()
            .collect();
        let mut object = item.stored.object();
        let metadata = metadata_mut(&mut object);
        match kept.is_empty() {
            true => drop(metadata.remove("ownerReferences")),
            false => drop(metadata.insert("ownerReferences".into(), kept.into())),
        }
        self.put(&item.write(), object);
    }

    /// Removes a finalizer, and the object if it was the last one.
    fn drop_finalizer(&mut self, item: &Item, name: &str) {
        let mut object = item.stored.object();
        let left: Vec<String> = finalizers(&object)
            .into_iter()
            .filter(|other| *other != name)
            .map(str::to_owned)
            .collect();
        let is_last = left.is_empty() && !metadata_str(&object, "deletionTimestamp").is_empty();
        set_finalizers(&mut object, left);
        if !is_last {
            self.put(&item.write(), object);
            return;
        }
        let last = Stored::new(object, item.stored.revision, &item.resource.selectable);
        self.remove(&item.resource.id, &last);
        self.finish_namespace(&item.stored.namespace);
    }
}

impl Item {
    fn references(&self) -> &[Value] {
        let references = self.metadata.get("ownerReferences").and_then(Value::as_array);
        references.map_or(&[], Vec::as_slice)
    }

    fn refers_to(&self, uid: &str) -> bool {
        self.references()
            .iter()
            .any(|reference| text(reference, "uid") == uid)
    }

    fn is_deleted(&self) -> bool {
        self.metadata.contains_key("deletionTimestamp")
    }

    /// Whether the object is being deleted and has this finalizer.
    fn has(&self, finalizer: &str) -> bool {
        let list = self.metadata.get("finalizers").and_then(Value::as_array);
        self.is_deleted() && list.is_some_and(|list| list.iter().any(|name| name == finalizer))
    }

    fn write(&self) -> Write<'_> {
        Write {
            resource: &self.resource,
            namespace: &self.stored.namespace,
            mode: Mode::Commit,
            source: Source::Direct,
            manager: None,
        }
    }
}

fn set_finalizers(object: &mut Object, names: Vec<String>) {
    match names.is_empty() {
        true => drop(metadata_mut(object).remove("finalizers")),
        false => object::set_metadata(object, "finalizers", names.into()),
    }
}

fn metadata_of(stored: &Stored) -> Map<String, Value> {
    serde_json::from_slice(stored.metadata()).unwrap_or_default()
}

fn text<'v>(reference: &'v Value, field: &str) -> &'v str {
    reference[field].as_str().unwrap_or_default()
}
