//! Tests of listers on the caches of running informers.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use informer_core::selector::Selector;
use informer_core::{Object, ResourceVersion, SharedInformer, SharedInformerBuilder};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject};
use listers::Lister;

fn meta(namespace: Option<&str>, name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

/// A server with the config map `a` in three namespaces, and a node.
fn server() -> ApiServer {
    let server = ApiServer::start();
    for namespace in ["web", "db", "other"] {
        let map = ConfigMap {
            metadata: meta(Some(namespace), "a"),
            ..ConfigMap::default()
        };
        server.create(&map).unwrap();
    }
    let node = Node {
        metadata: meta(None, "node-1"),
        ..Node::default()
    };
    server.create(&node).unwrap();
    server
}

/// Starts an informer, waits until it is in sync, and returns it with a lister.
async fn synced<K: Object>(builder: SharedInformerBuilder<K>) -> (SharedInformer<K>, Lister<K>) {
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    let lister = Lister::new(informer.indexer());
    (informer, lister)
}

#[tokio::test(start_paused = true)]
async fn a_namespace_outside_the_informers_is_empty() {
    let server = server();
    let builder = SharedInformer::<ConfigMap>::builder(server.client()).namespaces(["web", "db"]);
    let (_informer, maps) = synced(builder).await;
    assert_eq!(maps.list(&Selector::everything()).len(), 2);
    for (namespace, expected) in [("web", 1), ("other", 0)] {
        let lister = maps.namespace(namespace);
        assert_eq!(lister.list(&Selector::everything()).len(), expected);
        assert_eq!(lister.len(), expected);
        assert_eq!(lister.get("a").is_some(), expected == 1);
        let mut visited = 0;
        lister.for_each(&Selector::everything(), |_| visited += 1);
        assert_eq!(visited, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_has_the_version_of_its_objects() {
    let server = server();
    let (informer, nodes) = synced(SharedInformer::<Node>::builder(server.client())).await;
    let snapshot = nodes.snapshot();
    assert_eq!(snapshot.len(), 1);
    assert!(snapshot.resource_version().is_some());
    assert_eq!(snapshot.resource_version(), informer.indexer().resource_version());
}

/// Waits until the cache has the newest state of the server.
async fn follow<K: Object>(informer: &SharedInformer<K>, server: &ApiServer) {
    let newest = ResourceVersion::new(&server.resource_version());
    informer.wait_until(&newest).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lister_follows_the_cache_and_a_snapshot_does_not() {
    let server = server();
    let (informer, nodes) = synced(SharedInformer::<Node>::builder(server.client())).await;
    let (before, node) = (nodes.snapshot(), nodes.get("node-1").unwrap());
    server.delete(&*node).unwrap();
    follow(&informer, &server).await;
    assert_eq!((before.len(), nodes.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lister_outlives_its_informer() {
    let server = server();
    let (informer, nodes) = synced(SharedInformer::<Node>::builder(server.client())).await;
    informer.shutdown().await;
    drop(informer);
    assert!(nodes.clone().get("node-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_selector_follows_the_cache() {
    let server = server();
    let (informer, maps) = synced(SharedInformer::<ConfigMap>::builder(server.client())).await;
    maps.indexer().add_label_index("app").unwrap();
    let label = async |value: &str| {
        let mut map = ConfigMap {
            metadata: meta(Some("web"), "a"),
            ..ConfigMap::default()
        };
        map.metadata.labels = Some([("app".to_owned(), value.to_owned())].into());
        server.update(&map).unwrap();
        follow(&informer, &server).await;
    };
    let selected = |value: &str| maps.list(&format!("app={value}").parse().unwrap()).len();

    label("shop").await;
    let before = maps.snapshot();
    label("cart").await;
    assert_eq!((selected("shop"), selected("cart")), (0, 1));
    let shop = "app=shop".parse().unwrap();
    assert_eq!(before.select(&shop).count(), 1, "a snapshot has its own index");
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_object_that_is_missing_is_named_by_its_resource() {
    let server = server();
    let dynamic = |resource| SharedInformer::<DynamicObject>::builder_with(server.client(), resource);
    let (_informer, maps) = synced(dynamic(ApiResource::erase::<ConfigMap>(&()))).await;
    assert!(maps.namespace("web").require("a").is_ok());
    let missing = maps.namespace("web").require("b").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "configmaps web/b is not in the cache; the server may have it"
    );

    let (_informer, nodes) = synced(dynamic(ApiResource::erase::<Node>(&()))).await;
    assert!(nodes.get("node-1").is_some());
    assert_eq!(nodes.require("node-2").unwrap_err().kind(), "nodes");
}
