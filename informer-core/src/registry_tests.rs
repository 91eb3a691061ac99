//! Which informers a registry accepts, and that none starts after it was closed.

use std::convert::Infallible;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::client::Body;
use serde::de::DeserializeOwned;

use super::*;

fn informer<K: Object<DynamicType = ()> + DeserializeOwned>() -> SharedInformer<K> {
    let service = tower::service_fn(|_: http::Request<Body>| {
        std::future::pending::<Result<http::Response<Body>, Infallible>>()
    });
    let client = kube::Client::new(service, "default");
    SharedInformer::builder(client)
        .build()
        .expect("the defaults are valid")
}

fn resource(plural: &str) -> GroupVersionResource {
    GroupVersionResource::gvr("", "v1", plural)
}

/// One type may serve several resources, and several types one resource.
#[tokio::test]
async fn an_informer_is_prepared_once_per_type_and_resource() {
    let registry = Registry::new();
    assert!(
        registry
            .prepare(resource("configmaps"), informer::<ConfigMap>())
            .is_ok()
    );
    assert!(
        registry
            .prepare(resource("others"), informer::<ConfigMap>())
            .is_ok()
    );
    assert!(
        registry
            .prepare(resource("configmaps"), informer::<Secret>())
            .is_ok()
    );
    assert!(
        registry
            .prepare(resource("others"), informer::<ConfigMap>())
            .is_err()
    );
    assert!(registry.informers().is_empty(), "none was requested");
}

#[tokio::test]
async fn nothing_is_started_after_the_registry_was_closed() {
    let registry = Registry::new();
    let make = || Ok::<_, Infallible>(informer::<ConfigMap>());
    registry.get_or_make(&resource("configmaps"), make).unwrap();
    registry.shutdown().await;
    registry.start();
    let contents = registry.inner.contents.lock();
    // A failed start would be logged, and reported as an error of its own.
    assert!(matches!(contents.entries[0].stage, Stage::Created));
}
