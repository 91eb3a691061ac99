//! Clusters, and requests to a router.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use informer_testing::ApiServer;
use informers::SharedInformerFactory;
use informers::debug::Router;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// Creates ConfigMaps with these names in a namespace, and a value that must not be shown.
pub(crate) fn config_maps(server: &ApiServer, namespace: &str, names: impl IntoIterator<Item = String>) {
    for name in names {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "namespace": namespace, "name": name },
            "data": { "value": "never-shown" },
        });
        server.create(&map).unwrap();
    }
}

/// A factory whose ConfigMaps are in sync.
pub(crate) async fn synced(server: &ApiServer) -> SharedInformerFactory {
    let factory = SharedInformerFactory::new(server.client());
    factory.core().v1().config_maps().informer();
    start(&factory).await;
    factory
}

pub(crate) async fn start(factory: &SharedInformerFactory) {
    factory.start();
    factory
        .wait_for_sync_within(Duration::from_secs(600))
        .await
        .unwrap();
}

/// An answer, with its body as text.
pub(crate) async fn ask(router: &Router, method: &str, target: &str) -> Response<String> {
    let request = Request::builder().method(method).uri(target);
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Response::from_parts(parts, String::from_utf8(body.to_vec()).unwrap())
}

/// The body of a GET that must succeed.
pub(crate) async fn get(router: &Router, target: &str) -> String {
    let answer = ask(router, "GET", target).await;
    assert_eq!(answer.status(), StatusCode::OK, "{target}: {}", answer.body());
    answer.into_body()
}

pub(crate) async fn get_json(router: &Router, target: &str) -> Value {
    serde_json::from_str(&get(router, target).await).unwrap()
}

/// Every page and document of a router, with those of the named informers and controllers.
pub(crate) async fn everything(router: &Router, informers: &[&str], controllers: &[&str]) -> Vec<String> {
    let mut targets = vec!["/".to_owned(), "/informers.json".to_owned()];
    for informer in informers {
        targets.push(format!("/?informer={informer}"));
        targets.push(format!("/keys.json?informer={informer}"));
    }
    targets.extend(controllers.iter().map(|name| format!("/?controller={name}")));
    let mut texts = Vec::new();
    for target in targets {
        texts.push(get(router, &target).await);
    }
    texts
}
