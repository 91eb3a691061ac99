//! What the tests of whole informers share: objects, a record of what a handler heard, and ways to wait and to disturb.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Either;
use informer_core::{
    Deleted, Event, HandlerStatus, Object, Origin, Registration, ResourceVersion, SharedInformer, UpdateCause,
};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::client::Body;
use tower::ServiceExt as _;

/// Longer than anything here takes by the paused clock; reached only when something hangs.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A ConfigMap in `default` with one value.
pub(crate) fn item(name: &str, value: &str) -> ConfigMap {
    item_in("default", name, value)
}

pub(crate) fn item_in(namespace: &str, name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some(namespace.into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".into(), value.into())])),
        ..ConfigMap::default()
    }
}

/// The value of an [`item`].
pub(crate) fn value(object: &ConfigMap) -> &str {
    let value = object.data.as_ref().and_then(|data| data.get("value"));
    value.map_or("", String::as_str)
}

/// A Pod in `default` on a node.
pub(crate) fn pod(name: &str, node: &str) -> Pod {
    let object = serde_json::json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "busybox"}]},
    });
    serde_json::from_value(object).unwrap()
}

/// A server that holds these items, each with the value `1`.
pub(crate) fn server_with(names: &[&str]) -> ApiServer {
    let server = ApiServer::start();
    for name in names {
        server.create(&item(name, "1")).unwrap();
    }
    server
}

/// An informer over the ConfigMaps of a server, not started.
pub(crate) fn informer_of(server: &ApiServer) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(server.client()).build().unwrap()
}

/// The keys in the cache, in order.
pub(crate) fn keys<K: Object>(informer: &SharedInformer<K>) -> Vec<String> {
    informer
        .indexer()
        .keys()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The items in the cache, as `name=value`.
pub(crate) fn items(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    informer
        .indexer()
        .list()
        .iter()
        .map(|object| label(object))
        .collect()
}

pub(crate) fn label(object: &ConfigMap) -> String {
    format!(
        "{}={}",
        object.metadata.name.as_deref().unwrap_or_default(),
        value(object)
    )
}

pub(crate) fn version_of<K: Object>(object: &K) -> ResourceVersion {
    ResourceVersion::of(object.meta()).expect("the server gives every object a version")
}

/// Keeps what one handler hears.
pub(crate) struct Heard<K>(Arc<Mutex<Vec<Event<K>>>>);

impl<K: Object> Heard<K> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// A handler that does nothing but keep its events.
    pub(crate) fn handler(&self) -> impl FnMut(Event<K>) + Send + 'static {
        let events = self.0.clone();
        move |event| events.lock().unwrap().push(event)
    }

    pub(crate) fn add_to(&self, informer: &SharedInformer<K>) -> Registration {
        informer.add_handler(self.handler()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event<K>> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// What was heard since the last call, in words.
    pub(crate) fn take(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap()
            .drain(..)
            .map(|event| words(&event))
            .collect()
    }
}

impl<K> Clone for Heard<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// An event in words: `initial a`, `add a`, `update a`, `resync a`, `delete a`, `missed a`.
pub(crate) fn words<K: Object>(event: &Event<K>) -> String {
    let verb = match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => "initial",
        Event::Added { .. } => "add",
        Event::Updated {
            cause: UpdateCause::Resync,
            ..
        } => "resync",
        Event::Updated { .. } => "update",
        Event::Deleted(Deleted::Observed(_)) => "delete",
        Event::Deleted(Deleted::Missed { .. }) => "missed",
    };
    let key = event.key().expect("every object here has a name");
    format!("{verb} {}", key.name())
}

/// Starts an informer and waits until it and its handlers are in sync.
pub(crate) async fn start<K: Object>(informer: &SharedInformer<K>) {
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    quiet(informer).await;
}

/// Waits until the cache has all that the server has, and the handlers have heard it.
pub(crate) async fn settled<K: Object>(informer: &SharedInformer<K>, server: &ApiServer) {
    let version = ResourceVersion::new(&server.resource_version());
    informer.wait_until_within(&version, LONG).await.unwrap();
    quiet(informer).await;
}

/// Waits until no handler has anything to do.
pub(crate) async fn quiet<K: Object>(informer: &SharedInformer<K>) {
    let is_at_work = |handler: &HandlerStatus| handler.depth > 0 || handler.busy_for.is_some();
    let mut pause = Duration::from_millis(1);
    loop {
        // The paused clock moves only when nothing else can run.
        tokio::time::sleep(pause).await;
        if !informer.status().handlers.iter().any(is_at_work) {
            return;
        }
        // Some handlers here take hours.
        pause *= 2;
    }
}

/// Lets something happen that no watch can tell of: only a new list shows it.
pub(crate) fn unseen(server: &ApiServer, happening: impl FnOnce()) {
    server.close_watches();
    happening();
    server.compact(server.revision());
}

/// How many tasks the runtime has, the test itself not counted.
pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Fails unless what a handler heard is a story: each object added, updated from what was heard last, and deleted, and no
/// version older than the one before. Gives what the handler believes in the end, as `name=value`.
pub(crate) fn believed(events: &[Event<ConfigMap>]) -> Vec<String> {
    let mut known: BTreeMap<String, Arc<ConfigMap>> = BTreeMap::new();
    for event in events {
        let key = event.key().unwrap().to_string();
        match event {
            Event::Added { object, .. } => {
                let before = known.insert(key, object.clone());
                assert!(before.is_none(), "{event:?}, which the handler had already");
            }
            Event::Updated { old, new, .. } => {
                let before = known.insert(key, new.clone());
                let before = before.unwrap_or_else(|| panic!("{event:?}, never added"));
                assert!(
                    Arc::ptr_eq(&before, old),
                    "{event:?}: its old side is not what was heard last"
                );
                assert!(
                    version_of(new.as_ref()) >= version_of(old.as_ref()),
                    "{event:?} goes backwards"
                );
            }
            Event::Deleted(_) => {
                assert!(known.remove(&key).is_some(), "{event:?}, never added");
            }
        }
    }
    known.values().map(|object| label(object)).collect()
}

/// A door between a client and a server that can be shut: requests are then refused with a status.
#[derive(Clone, Default)]
pub(crate) struct Door(Arc<Mutex<Option<Refusal>>>);

#[derive(Clone, Copy)]
struct Refusal {
    code: u16,
    reason: &'static str,
}

impl Door {
    /// A client of the server that goes through this door.
    pub(crate) fn client(&self, server: &ApiServer) -> Client {
        let (door, service) = (self.clone(), server.service());
        let guarded = tower::service_fn(move |request: Request<Body>| {
            let (refusal, service) = (*door.0.lock().unwrap(), service.clone());
            async move {
                match refusal {
                    Some(refusal) => Ok(refusal.response().map(Either::Left)),
                    None => service
                        .oneshot(request)
                        .await
                        .map(|response| response.map(Either::Right)),
                }
            }
        });
        Client::new(guarded, "default")
    }

    pub(crate) fn shut(&self, code: u16, reason: &'static str) {
        *self.0.lock().unwrap() = Some(Refusal { code, reason });
    }

    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = None;
    }
}

impl Refusal {
    fn response(self) -> Response<Body> {
        let status = serde_json::json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure",
            "code": self.code, "reason": self.reason, "message": "the door is shut",
        });
        let response = Response::builder()
            .status(self.code)
            .header("content-type", "application/json");
        response
            .body(Body::from(status.to_string().into_bytes()))
            .unwrap()
    }
}
