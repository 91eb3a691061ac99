//! A projection, its full kind and another projection of it in one factory: separate informers and caches.

use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule};
use informers::{Informer, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, GroupVersionResource};

use super::types::{PodOnNode, PodOnNodeFactoryExt as _, pod};
use crate::support::synced;

/// Another projection of the same kind.
#[derive(Informer, Debug)]
#[informer(of = Pod, accessor = "bare_pods")]
struct BarePod {
    metadata: ObjectMeta,
}

fn pods() -> GroupVersionResource {
    GroupVersionResource::gvr("", "v1", "pods")
}

fn server() -> ApiServer {
    let server = ApiServer::start();
    server.create(&pod("web", "a", "node-1", "10.1.0.1")).unwrap();
    server
}

#[tokio::test(start_paused = true)]
async fn a_projection_and_its_kind_have_separate_caches() {
    let server = server();
    let factory = SharedInformerFactory::new(server.client());
    let (whole, slim, bare) = (
        factory.kind::<Pod>().lister(),
        factory.pods_on_nodes().lister(),
        factory.bare_pods().lister(),
    );
    synced(&factory).await;
    assert_eq!(server.requests().of("pods").watches().len(), 3);
    let whole = whole.namespace("web").get("a").unwrap();
    assert_eq!(
        whole.spec.as_ref().unwrap().containers[0].image.as_deref(),
        Some("busybox")
    );
    let slim = slim.namespace("web").get("a").unwrap();
    assert_eq!(slim.spec.as_ref().unwrap().node_name.as_deref(), Some("node-1"));
    let bare = bare.namespace("web").get("a").unwrap();
    assert_eq!(bare.metadata.resource_version, whole.metadata.resource_version);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_projection_alone_does_not_request_the_full_kind() {
    let server = server();
    let factory = SharedInformerFactory::new(server.client());
    factory.pods_on_nodes().lister();
    factory.pods_on_nodes().informer();
    synced(&factory).await;
    assert_eq!(server.requests().of("pods").watches().len(), 1);
    assert_eq!(factory.informers().len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_requested_by_name_is_never_a_projection() {
    let server = server();
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<PodOnNode>(|pods| pods.label_index("app"))
        .build()
        .unwrap();
    let slim = factory.pods_on_nodes().informer();
    let by_resource = factory.for_resource(&pods()).unwrap();
    let found = factory.find("po").await.unwrap();
    synced(&factory).await;
    for informer in [by_resource, found] {
        assert!(informer.typed::<PodOnNode>().is_none());
        let object = informer.get(&"web/a".parse().unwrap()).unwrap();
        let object = object.downcast::<DynamicObject>().unwrap();
        assert_eq!(object.data["spec"]["containers"][0]["image"], "busybox");
    }
    assert_eq!(slim.indexer().len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_full_kind_is_found_by_name_beside_a_projection() {
    let server = server();
    let factory = SharedInformerFactory::new(server.client());
    factory.pods_on_nodes().informer();
    factory.kind::<Pod>().informer();
    assert!(factory.for_resource(&pods()).unwrap().typed::<Pod>().is_some());
    assert_eq!(factory.informers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn states_reports_and_errors_distinguish_a_projection_from_its_kind() {
    let server = server();
    server.faults().add(Rule::new(Fault::Forbidden).resource("pods"));
    let factory = SharedInformerFactory::new(server.client());
    factory.pods_on_nodes().informer();
    factory.kind::<Pod>().informer();
    factory.start();

    let named: Vec<String> = factory
        .status()
        .informers
        .into_iter()
        .map(|status| status.resource)
        .collect();
    assert_eq!(named, ["pods (PodOnNode)", "pods"]);
    let report = factory.progress().next().await.unwrap().to_string();
    assert!(
        report.contains("pods (PodOnNode): ") && report.contains("pods: "),
        "{report}"
    );
    let error = factory
        .wait_for_sync_within(Duration::from_secs(60))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("pods (PodOnNode): ") && error.contains("pods: "),
        "{error}"
    );
    factory.shutdown().await;
}
