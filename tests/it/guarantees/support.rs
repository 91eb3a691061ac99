//! What the guarantee tests share: a cluster, a recorder of events, and a way to let everything settle.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::{Deleted, Event, Origin, Registration, ResourceVersion, SharedInformer, UpdateCause};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A ConfigMap in `default`.
pub(crate) fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// A ConfigMap in `default` with one value under `key`.
pub(crate) fn config_map_with(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        data: Some(BTreeMap::from([("key".into(), value.into())])),
        ..config_map(name)
    }
}

/// The value under `key`.
pub(crate) fn value(object: &ConfigMap) -> &str {
    object
        .data
        .as_ref()
        .and_then(|data| data.get("key"))
        .map_or("", String::as_str)
}

/// The names in the cache, in order.
pub(crate) fn names(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    informer
        .indexer()
        .keys()
        .iter()
        .map(|key| key.name().to_owned())
        .collect()
}

/// An informer over the ConfigMaps of a server, not started.
pub(crate) fn informer_of(server: &ApiServer) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(server.client()).build().unwrap()
}

/// Writes down the events of one handler: `add(initial) a`, `update a`, `resync a`, `delete a`, `delete(missed) a`.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Event<ConfigMap>>>>);

impl Recorder {
    pub(crate) fn handler(&self) -> impl FnMut(Event<ConfigMap>) + Send + 'static {
        let events = self.0.clone();
        move |event| events.lock().unwrap().push(event)
    }

    pub(crate) fn events(&self) -> Vec<Event<ConfigMap>> {
        self.0.lock().unwrap().clone()
    }

    /// What was heard since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap()
            .drain(..)
            .map(|event| describe(&event))
            .collect()
    }
}

pub(crate) fn describe(event: &Event<ConfigMap>) -> String {
    let name = event.key().map(|key| key.name().to_owned()).unwrap_or_default();
    match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => format!("add(initial) {name}"),
        Event::Added { .. } => format!("add {name}"),
        Event::Updated {
            cause: UpdateCause::Resync,
            ..
        } => format!("resync {name}"),
        Event::Updated { .. } => format!("update {name}"),
        Event::Deleted(Deleted::Observed(_)) => format!("delete {name}"),
        Event::Deleted(Deleted::Missed { .. }) => format!("delete(missed) {name}"),
    }
}

/// Waits until the cache has everything the server has, and every handler has heard it.
pub(crate) async fn settled(informer: &SharedInformer<ConfigMap>, server: &ApiServer) {
    let version = ResourceVersion::new(&server.resource_version());
    informer
        .wait_until_within(&version, Duration::from_secs(600))
        .await
        .unwrap();
    quiet(informer).await;
}

/// Waits until every handler has heard what there is to hear.
pub(crate) async fn quiet(informer: &SharedInformer<ConfigMap>) {
    loop {
        // Under the paused clock a sleep ends only when nothing else can run.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let busy = |handler: &informer_core::HandlerStatus| handler.depth > 0 || handler.busy_for.is_some();
        if !informer.status().handlers.iter().any(busy) {
            return;
        }
    }
}

/// Cuts every watch and forgets the history, so that only a new list can tell what happened. `gap` happens unseen.
pub(crate) fn lose_history(server: &ApiServer, gap: impl FnOnce()) {
    server.close_watches();
    gap();
    server.compact(server.revision());
}

/// Starts the informer and waits for it and one handler.
pub(crate) async fn start(informer: &SharedInformer<ConfigMap>, registration: &Registration) {
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    registration.synced().await.unwrap();
}

/// What a handler heard, replayed: panics unless each object is added, updated and deleted in turn, each update starts from
/// what was heard last, and versions never go back. Gives the state the handler ends up with.
pub(crate) fn replay(events: &[Event<ConfigMap>]) -> BTreeMap<String, Arc<ConfigMap>> {
    let mut known: BTreeMap<String, Arc<ConfigMap>> = BTreeMap::new();
    for event in events {
        let key = event.key().unwrap().to_string();
        let last = known.get(&key).cloned();
        match event {
            Event::Added { object, .. } => {
                assert!(
                    last.is_none(),
                    "{event:?} although the handler already knows the object"
                );
                known.insert(key, object.clone());
            }
            Event::Updated { old, new, .. } => {
                let last =
                    last.unwrap_or_else(|| panic!("{event:?} of an object the handler never heard of"));
                assert!(
                    Arc::ptr_eq(&last, old),
                    "{event:?} does not start from what was heard last"
                );
                assert!(version(new) >= version(old), "{event:?} goes back");
                known.insert(key, new.clone());
            }
            Event::Deleted(_) => {
                assert!(
                    last.is_some(),
                    "{event:?} of an object the handler never heard of"
                );
                known.remove(&key);
            }
        }
    }
    known
}

pub(crate) fn version(object: &ConfigMap) -> ResourceVersion {
    ResourceVersion::of(&object.metadata).expect("the server gives every object a version")
}
