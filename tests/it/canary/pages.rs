//! What operators read of a whole factory: the debug page with its JSON, metrics, status and health.

use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Full};
use informer_testing::{ApiServer, Fault, Rule};
use informers::debug::{self, Router};
use informers::metrics::Metrics;
use informers::{Event, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tower::ServiceExt as _;

use crate::secret;
use crate::surfaces::Surfaces;

/// The text of a page or of a JSON document.
async fn get(router: &Router, target: &str) -> String {
    let request = Request::get(target).body(Full::<&[u8]>::default()).unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_debug_page_and_the_metrics_of_a_factory() {
    let surfaces = Surfaces::begin();
    let server = ApiServer::start();
    for name in ["good", "denied"] {
        server.create(&secret(name)).unwrap();
    }
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("configmaps"));
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<Secret>(|secrets| {
            secrets.try_transform(|object: &mut Secret| match object.metadata.name.as_deref() {
                Some("denied") => panic!("cannot use {object:?}"),
                _ => Ok(()),
            })
        })
        .build()
        .unwrap();
    let secrets = factory.informer_for::<Secret>();
    factory.informer_for::<ConfigMap>();
    secrets
        .add_index("contents", |object: &Secret| -> Vec<String> {
            panic!("cannot index {object:?}")
        })
        .unwrap();
    secrets
        .add_handler(|event: Event<Secret>| panic!("cannot use {:?}", event.object()))
        .unwrap();
    let metrics = Metrics::new();
    metrics.add_factory("canary", &factory);
    let router = debug::router(&factory);
    factory.start();
    tokio::time::sleep(Duration::from_secs(10)).await;

    let mut page = String::new();
    for target in [
        "/",
        "/informers.json",
        "/?informer=secrets",
        "/keys.json?informer=secrets",
        "/?informer=configmaps",
    ] {
        let text = get(&router, target).await;
        page += &text;
        surfaces.text(target, text);
    }
    // The page has what it should show, so the search is not in vain.
    for part in ["default/good", "forbidden", "contents"] {
        assert!(page.contains(part), "no {part:?} in {page}");
    }

    surfaces.debug("families", &metrics.gather());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert!(text.contains("resource=\"secrets\""), "{text}");
    surfaces.text("metrics", text);

    surfaces.debug("factory status", &factory.status());
    surfaces.text("factory status", factory.status().to_string());
    surfaces.debug("health", &factory.health());
    let refused = factory.wait_for_sync().await.unwrap_err();
    surfaces.error("sync", &refused);
    factory.shutdown().await;
    surfaces.check();
}
