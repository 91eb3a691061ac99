//! Projections of objects on a server.

use std::sync::{Arc, Mutex};

use informer_testing::ApiServer;
use informers::{Event, ResourceVersion, Selector, SharedInformerFactory};

use super::types::{
    PodOnNode, PodOnNodeFactoryExt as _, PodOnNodeIndexes as _, PodOnNodeInformer, PodOnNodeLister,
    PodOnNodeNamespaceLister, ServiceAddressFactoryExt as _, pod, service,
};
use crate::support::{names, synced};

/// Waits until the cache has the current state of the server.
async fn caught_up(server: &ApiServer, pods: &PodOnNodeInformer) {
    let now = ResourceVersion::new(&server.resource_version());
    pods.informer().wait_until(&now).await.unwrap();
}

fn address(pods: &PodOnNodeLister, name: &str) -> Option<String> {
    let web: PodOnNodeNamespaceLister = pods.namespace("web");
    web.get(name)?.status.as_ref()?.pod_ip.clone()
}

#[tokio::test(start_paused = true)]
async fn a_projection_follows_changes_of_its_kind() {
    let server = ApiServer::start();
    let mut a = server.create(&pod("web", "a", "node-1", "10.1.0.1")).unwrap();
    let factory = SharedInformerFactory::new(server.client());
    let pods = factory.pods_on_nodes();
    let lister = pods.lister();
    synced(&factory).await;
    assert_eq!(address(&lister, "a").as_deref(), Some("10.1.0.1"));

    a.status.as_mut().unwrap().pod_ip = Some("10.1.0.9".to_owned());
    let a = server.update(&a).unwrap();
    server.create(&pod("web", "b", "node-1", "10.1.0.2")).unwrap();
    caught_up(&server, &pods).await;
    assert_eq!(address(&lister, "a").as_deref(), Some("10.1.0.9"));
    assert_eq!(address(&lister, "b").as_deref(), Some("10.1.0.2"));

    server.delete(&a).unwrap();
    caught_up(&server, &pods).await;
    assert_eq!(names(&lister.list(&Selector::everything())), ["b"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn handlers_receive_projections() {
    let server = ApiServer::start();
    server.create(&pod("web", "a", "node-1", "10.1.0.1")).unwrap();
    let factory = SharedInformerFactory::new(server.client());
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = Arc::clone(&received);
    let handler = move |event: Event<PodOnNode>| {
        if let Event::Added { object, .. } = event {
            let node = object.spec.as_ref().and_then(|spec| spec.node_name.clone());
            record.lock().unwrap().extend(node);
        }
    };
    factory.pods_on_nodes().informer().add_handler(handler).unwrap();
    synced(&factory).await;
    assert_eq!(*received.lock().unwrap(), ["node-1"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_index_on_a_projected_field_follows_it() {
    let server = ApiServer::start();
    for (name, node, ip) in [("a", "node-1", "10.1.0.1"), ("b", "node-2", "10.1.0.2")] {
        server.create(&pod("web", name, node, ip)).unwrap();
    }
    let factory = SharedInformerFactory::new(server.client());
    let pods = factory.pods_on_nodes();
    let by_node = pods.by_node().unwrap();
    let by_ip = pods.by_ip().unwrap();
    synced(&factory).await;
    assert_eq!(names(&by_node.get("node-1")), ["a"]);
    assert_eq!(names(&by_ip.get("10.1.0.2")), ["b"]);

    let mut c = pod("db", "c", "node-1", "10.1.0.3");
    c.status = None;
    server.create(&c).unwrap();
    caught_up(&server, &pods).await;
    // Ordered by namespace: `db` before `web`.
    assert_eq!(names(&by_node.get("node-1")), ["c", "a"]);
    assert_eq!(by_ip.values(), ["10.1.0.1", "10.1.0.2"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_selectors_of_a_projection_reach_the_server() {
    let server = ApiServer::start();
    for (namespace, name) in [("web", "a"), ("web", "b"), ("db", "a"), ("other", "a")] {
        server
            .create(&pod(namespace, name, "node-1", "10.1.0.1"))
            .unwrap();
    }
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces(["web", "db"])
        .kind::<PodOnNode>(|pods| pods.labels("app=a").label_index("app"))
        .build()
        .unwrap();
    let lister = factory.pods_on_nodes().lister();
    synced(&factory).await;
    let everything = Selector::everything();
    assert_eq!(names(&lister.list(&everything)), ["a", "a"]);
    assert_eq!(names(&lister.namespace("web").list(&everything)), ["a"]);
    assert!(lister.namespace("other").is_empty());
    assert_eq!(lister.list(&"app=a".parse().unwrap()).len(), 2);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn one_factory_can_project_several_kinds() {
    let server = ApiServer::start();
    server.create(&pod("default", "a", "node-1", "10.1.0.1")).unwrap();
    server.create(&service("web", "10.2.0.1")).unwrap();
    let factory = SharedInformerFactory::new(server.client());
    let (pods, services) = (
        factory.pods_on_nodes().lister(),
        factory.service_addresses().lister(),
    );
    synced(&factory).await;
    assert_eq!((pods.len(), services.len()), (1, 1));
    let web = services.namespace("default").get("web").unwrap();
    assert_eq!(web.spec.as_ref().unwrap().cluster_ip.as_deref(), Some("10.2.0.1"));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn kube_api_reads_projections_too() {
    let server = ApiServer::start();
    server.create(&pod("web", "a", "node-1", "10.1.0.1")).unwrap();
    let pods: kube::Api<PodOnNode> = kube::Api::namespaced(server.client(), "web");
    let a = pods.get("a").await.unwrap();
    assert_eq!(a.status.unwrap().pod_ip.as_deref(), Some("10.1.0.1"));
    assert_eq!(pods.list(&Default::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_projected_is_reported_and_stops_nothing() {
    let server = ApiServer::start();
    server.create(&pod("web", "a", "node-1", "10.1.0.1")).unwrap();
    let broken = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "broken", "namespace": "web"},
        "spec": {"nodeName": ["not", "a", "name"]},
    });
    server.create(&broken).unwrap();
    let factory = SharedInformerFactory::new(server.client());
    let lister = factory.pods_on_nodes().lister();
    synced(&factory).await;
    assert_eq!(names(&lister.list(&Selector::everything())), ["a"]);
    let status = factory.status();
    assert!(format!("{status:?}").contains("spec.nodeName"), "{status:?}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_dropped_from_a_projection_unless_it_keeps_them() {
    let server = ApiServer::start();
    let mut a = pod("web", "a", "node-1", "10.1.0.1");
    a.metadata.managed_fields = Some(vec![Default::default()]);
    server.create(&a).unwrap();
    for (managed_fields, kept) in [
        (informers::ManagedFields::Drop, false),
        (informers::ManagedFields::Keep, true),
    ] {
        let factory = SharedInformerFactory::builder(server.client())
            .managed_fields(managed_fields)
            .build()
            .unwrap();
        let lister = factory.pods_on_nodes().lister();
        synced(&factory).await;
        let a = lister.namespace("web").get("a").unwrap();
        assert_eq!(a.metadata.managed_fields.is_some(), kept, "{managed_fields:?}");
        factory.shutdown().await;
    }
}
