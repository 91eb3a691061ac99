//! What the tests of whole informers share: objects, a record of what a handler received, and ways to wait
//! and to disturb.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Either;
use informer_core::{Event, HandlerStatus, Object, ResourceVersion, SharedInformer, SharedInformerBuilder};
use informer_it::recorder::final_state;
pub(crate) use informer_it::recorder::{Recorder, summary as words};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
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

/// A builder of an informer that reads its kind as a factory's informers do: as protobuf, if it is built in.
///
/// [`FORMAT`](informer_testing::FORMAT) runs the same tests over JSON.
pub(crate) fn builder_of<K>(client: Client) -> SharedInformerBuilder<K>
where
    K: Object<DynamicType: Default + Clone> + DeserializeOwned,
{
    let builder = SharedInformer::builder(client);
    match informer_protobuf::decoder::<K>() {
        Some(decode) => builder.protobuf(decode),
        None => builder,
    }
}

/// An informer over the ConfigMaps of a server, not started.
pub(crate) fn informer_of(server: &ApiServer) -> SharedInformer<ConfigMap> {
    builder_of(server.client()).build().unwrap()
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

/// Starts an informer and waits until it and its handlers are in sync.
pub(crate) async fn start<K: Object>(informer: &SharedInformer<K>) {
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    quiet(informer).await;
}

/// Waits until the cache equals the server, and the handlers have received every event.
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

/// Makes changes that no watch can see: only a new list shows them.
pub(crate) fn unseen(server: &ApiServer, happening: impl FnOnce()) {
    server.close_watches();
    happening();
    server.compact(server.revision());
}

/// The number of tasks of the runtime, without the test itself.
pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Checks that events are consistent, and returns the objects that the handler knows at the end, as
/// `name=value`.
pub(crate) fn final_items(events: &[Event<ConfigMap>]) -> Vec<String> {
    let known = final_state(events).unwrap_or_else(|reason| panic!("{reason}"));
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
    /// A client of the server behind this door.
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
