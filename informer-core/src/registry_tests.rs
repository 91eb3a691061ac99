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

/// Whether a future is ready at once.
fn is_ready(future: impl Future<Output = ()>) -> bool {
    use futures::FutureExt as _;
    future.now_or_never().is_some()
}

#[tokio::test]
async fn a_registry_reports_when_it_is_shut_down_or_dropped() {
    let registry = Registry::new();
    let (one, other) = (registry.closed(), registry.closed());
    registry.start();
    assert!(!is_ready(one), "a start is a change, and not the end");
    registry.shutdown().await;
    assert!(is_ready(other) && is_ready(registry.closed()));

    let dropped = Registry::new();
    let closed = dropped.closed();
    drop(dropped);
    assert!(is_ready(closed));
}
