//! What really happened on the server: every revision of every object, read through a plain watch; and the
//! judge of what an informer delivered about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use informer_core::{Deleted, Event, Object, Origin};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

/// One event that an informer delivered, as both sides write it: a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// What happened.
    #[serde(rename = "type")]
    pub verb: EventVerb,
    /// Namespace and name.
    #[serde(default)]
    pub key: String,
    /// The version of the object that came with it.
    #[serde(default)]
    pub rv: String,
    /// The UID of that object.
    #[serde(default)]
    pub uid: String,
    /// Delivered as part of the state the handler started from.
    #[serde(default)]
    pub initial: bool,
    /// A deletion that was found out afterwards.
    #[serde(default)]
    pub missed: bool,
}

/// The kind of a [`Delivered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventVerb {
    /// An object exists.
    Add,
    /// It changed.
    Update,
    /// It was deleted.
    Delete,
    /// It is in the store, at the end.
    Store,
    /// The store has no further object.
    End,
}

impl Delivered {
    /// Converts an event of our informer.
    pub fn of<K: Object>(event: &Event<K>) -> Self {
        let (verb, object, initial, missed) = match event {
            Event::Added { object, origin, .. } => {
                (EventVerb::Add, object, *origin == Origin::Initial, false)
            }
            Event::Updated { new, .. } => (EventVerb::Update, new, false, false),
            Event::Deleted(Deleted::Observed(object)) => (EventVerb::Delete, object, false, false),
            Event::Deleted(Deleted::Missed { last_known, .. }) => {
                (EventVerb::Delete, last_known, false, true)
            }
        };
        let mut delivered = Self::stored(&**object);
        (delivered.verb, delivered.initial, delivered.missed) = (verb, initial, missed);
        delivered
    }

    /// An object in a store.
    pub fn stored<K: Object>(object: &K) -> Self {
        let meta = object.meta();
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            verb: EventVerb::Store,
            key: format!("{}/{}", text(&meta.namespace), text(&meta.name)),
            rv: text(&meta.resource_version),
            uid: text(&meta.uid),
            initial: false,
            missed: false,
        }
    }
}

/// One revision of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its version.
    pub rv: u64,
    /// Which object of this name it is a revision of.
    pub uid: String,
    /// Whether the object exists since then, or was deleted.
    pub presence: Presence,
}

/// Whether an object exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Created or changed.
    There,
    /// Deleted.
    Gone,
}

/// Every revision by key, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History(BTreeMap<String, Vec<Revision>>);

impl History {
    /// The revisions of one name.
    pub fn of(&self, key: &str) -> &[Revision] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Every name there ever was.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// How many revisions there are.
    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether nothing ever happened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects at the end: version and UID by key.
    pub fn last(&self) -> BTreeMap<String, (u64, String)> {
        let last = self
            .0
            .iter()
            .filter_map(|(key, revisions)| Some((key, revisions.last()?)));
        last.filter(|(_, revision)| revision.presence == Presence::There)
            .map(|(key, revision)| (key.clone(), (revision.rv, revision.uid.clone())))
            .collect()
    }

    /// Adds the next revision of a name.
    pub fn push(&mut self, key: &str, revision: Revision) {
        self.0.entry(key.to_owned()).or_default().push(revision);
    }
}

/// Reads the history of the ConfigMaps of one namespace while it happens. It ends when dropped.
pub struct Oracle {
    history: Arc<Mutex<History>>,
    task: JoinHandle<()>,
}

/// The time between two checks whether the oracle has reached a version.
const CHECK_EVERY: Duration = Duration::from_millis(20);

impl Oracle {
    /// Begins with a namespace in which there is nothing yet.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn start(api: Api<ConfigMap>) -> kube::Result<Self> {
        let version = api
            .list(&ListParams::default())
            .await?
            .metadata
            .resource_version
            .unwrap_or_default();
        let history = Arc::new(Mutex::new(History::default()));
        let task = tokio::spawn(read(api, version, history.clone()));
        Ok(Self { history, task })
    }

    /// The history up to the creation of the object of this key, which must be the last thing written.
    ///
    /// # Errors
    /// It has not been seen within the limit.
    pub async fn until(&self, key: &str, limit: Duration) -> Result<History, String> {
        let seen = async {
            while self.lock().of(key).is_empty() {
                tokio::time::sleep(CHECK_EVERY).await;
            }
        };
        match tokio::time::timeout(limit, seen).await {
            Ok(()) => Ok(self.lock().clone()),
            Err(_) => Err(format!(
                "the oracle saw no {key} within {limit:?}, only {} revisions",
                self.lock().len()
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    // A push either happened or not: what a panic leaves is sound.
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches without end, each time from where the last watch ended.
async fn read(api: Api<ConfigMap>, mut version: String, history: Arc<Mutex<History>>) {
    loop {
        let Ok(events) = api.watch(&WatchParams::default(), &version).await else {
            tokio::time::sleep(CHECK_EVERY).await;
            continue;
        };
        pin_mut!(events);
        while let Some(Ok(event)) = events.next().await {
            let (object, presence) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, Presence::There),
                WatchEvent::Deleted(object) => (object, Presence::Gone),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                // Nothing here is older than the server remembers; a loop is stopped by the limit of `until`.
                WatchEvent::Error(_) => break,
            };
            let delivered = Delivered::stored(&object);
            let revision = Revision {
                rv: delivered.rv.parse().unwrap_or_default(),
                uid: delivered.uid,
                presence,
            };
            version = delivered.rv;
            lock(&history).push(&delivered.key, revision);
        }
    }
}
