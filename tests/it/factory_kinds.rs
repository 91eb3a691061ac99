//! Kinds known only at run time, custom resources, metadata, and invalid options.

use informer_testing::ApiServer;
use informers::error::{BuildError, FactoryBuildError, LookupError, ResourceError};
use informers::{
    Selector, SharedInformer, SharedInformerFactory, SharedInformerFactoryBuilder, WaitingFor, source,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::core::{ApiResource, DynamicObject, GroupVersionResource, PartialObjectMeta};

use crate::factory::{factory_of, request_counts};
use crate::support::{Door, LONG, item, item_in, pod, server_with};

fn gvr(group: &str, version: &str, resource: &str) -> GroupVersionResource {
    GroupVersionResource::gvr(group, version, resource)
}

#[tokio::test(start_paused = true)]
async fn for_resource_gives_the_typed_informer_if_there_is_one() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let typed = factory.core().v1().config_maps().informer();
    let _metadata = factory.metadata_for::<Pod>();
    let untyped = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    let others = factory.for_resource(&gvr("", "v1", "pods")).unwrap();
    let (delivered, mut inbox) = tokio::sync::mpsc::unbounded_channel();
    untyped
        .add_handler(move |event| delivered.send(event.key().unwrap().to_string()).unwrap())
        .unwrap();
    factory.start();
    factory.wait_for_sync().await.unwrap();

    assert_eq!(inbox.recv().await.unwrap(), "default/a");
    assert_eq!(request_counts(&server, "configmaps"), (0, 1), "one informer");
    let same = untyped.typed::<ConfigMap>().unwrap();
    assert_eq!(same.indexer().len(), typed.indexer().len());
    let object = untyped.get(&"default/a".parse().unwrap()).unwrap();
    assert!(object.downcast::<ConfigMap>().is_ok());
    assert!(
        others.typed::<DynamicObject>().is_some(),
        "metadata alone does not stand for the kind"
    );
    factory.shutdown().await;
}

/// Upstream: TestWatchListSemanticsSimple: one watch and no list.
#[tokio::test(start_paused = true)]
async fn for_resource_reads_dynamic_objects_without_knowing_their_kind() {
    let server = server_with(&["a", "b"]);
    let mut labelled = item("c", "1");
    labelled.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    server.create(&labelled).unwrap();
    let factory = factory_of(&server);
    let maps = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    let again = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!((maps.len(), again.len(), maps.resource()), (3, 3, "configmaps"));
    assert_eq!(maps.list(&Selector::everything()).len(), 3);
    assert_eq!(maps.list(&"app=web".parse().unwrap()).len(), 1);
    assert_eq!(request_counts(&server, "configmaps"), (0, 1));
    server.update(&item("a", "2")).unwrap();
    server.delete(&item("b", "1")).unwrap();
    let typed = maps.typed::<DynamicObject>().unwrap();
    crate::support::settled(&typed, &server).await;
    let a = maps.get(&"default/a".parse().unwrap()).unwrap();
    let a = a.downcast_ref::<DynamicObject>().unwrap();
    assert_eq!(a.data["data"]["value"], "2");
    assert_eq!(maps.keys().len(), 2);
    assert!(maps.status().stale.is_empty());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_the_server_does_not_have_is_named_by_the_wait() {
    let server = ApiServer::start();
    let factory = factory_of(&server);
    factory
        .for_resource(&gvr("example.com", "v1", "widgets"))
        .unwrap();
    factory.start();
    let error = factory.wait_for_sync().await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("1 of 1 informers not in sync: widgets.example.com: not found"),
        "{text}"
    );
    assert!(text.contains("install its CustomResourceDefinitions"), "{text}");
    assert!(matches!(error.unsynced[0].waiting_for, WaitingFor::Cache(_)));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_no_resource_can_have_is_refused() {
    let server = ApiServer::start();
    let factory = factory_of(&server);
    for (group, version, resource, part) in [
        ("", "v1", "", "resource"),
        ("", "", "pods", "version"),
        ("apps/../..", "v1", "deployments", "group"),
        ("", "v1", "pods?watch=1", "resource"),
    ] {
        let ResourceError { part: refused, .. } =
            factory.for_resource(&gvr(group, version, resource)).unwrap_err();
        assert_eq!(refused, part);
    }
    let broken = ApiResource {
        plural: "a/b".to_owned(),
        ..ApiResource::erase::<Pod>(&())
    };
    assert!(factory.informer_with::<DynamicObject>(broken).is_err());
    assert!(factory.informers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_found_by_any_name_kubectl_takes() {
    let server = ApiServer::start();
    let factory = factory_of(&server);
    let deployments = factory.apps().v1().deployments().informer();
    for name in [
        "deployments",
        "deployment",
        "Deployment",
        "deploy",
        "deploy.apps",
        "deployments.v1.apps",
    ] {
        let found = factory.find(name).await.unwrap();
        assert_eq!(found.resource(), "deployments.apps", "{name}");
        assert!(
            found.typed::<Deployment>().is_some(),
            "{name}: it is the typed one"
        );
    }
    assert_eq!(factory.find("po").await.unwrap().resource(), "pods");
    assert_eq!(factory.find("pods.v1.").await.unwrap().resource(), "pods");
    assert_eq!(
        factory.find("ing.networking").await.unwrap().resource(),
        "ingresses.networking.k8s.io"
    );
    assert_eq!(factory.find("events").await.unwrap().resource(), "events");
    assert_eq!(
        factory.find("events.events.k8s.io").await.unwrap().resource(),
        "events.events.k8s.io"
    );
    assert_eq!(factory.informers().len(), 5);
    drop(deployments);
}

#[tokio::test(start_paused = true)]
async fn a_found_kind_outside_of_namespaces_does_not_mind_the_factorys() {
    let server = ApiServer::start();
    let mut node = Node::default();
    node.metadata.name = Some("node-1".to_owned());
    server.create(&node).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .build()
        .unwrap();
    let nodes = factory.find("no").await.unwrap();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(nodes.len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_taken_to_be_namespaced_is_not_found_as_if_it_were_well() {
    let server = ApiServer::start();
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .build()
        .unwrap();
    factory.for_resource(&gvr("", "v1", "nodes")).unwrap();
    let error = factory.find("nodes").await.unwrap_err();
    assert!(
        matches!(&error, LookupError::TakenAsNamespaced { resource } if resource == "nodes"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn options_of_a_kind_apply_to_every_caller() {
    let server = ApiServer::start();
    server.create(&item_in("web", "a", "1")).unwrap();
    server.create(&item_in("db", "a", "1")).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<ConfigMap>(|maps| maps.namespace("web").transform(|map| map.data = None))
        .build()
        .unwrap();
    let untyped = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    let typed = factory.core().v1().config_maps().lister();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(untyped.keys(), ["web/a".parse().unwrap()]);
    assert!(typed.config_maps("web").get("a").unwrap().data.is_none());
    assert_eq!(request_counts(&server, "configmaps"), (0, 1), "one informer");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn metadata_of_a_resource_known_at_run_time_can_be_kept() {
    let server = server_with(&["a", "b"]);
    let factory = factory_of(&server);
    let maps = factory
        .metadata_for_resource(&gvr("", "v1", "configmaps"))
        .unwrap();
    assert!(
        factory
            .metadata_for_resource(&gvr("", "v1", "config/maps"))
            .is_err()
    );
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(maps.indexer().len(), 2);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn events_of_any_kind_are_a_stream_too() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let maps = factory.for_resource(&gvr("", "v1", "configmaps")).unwrap();
    let mut events = maps.events();
    factory.start();
    let first = futures::StreamExt::next(&mut events).await.unwrap();
    assert_eq!(first.key().unwrap().to_string(), "default/a");
    maps.synced_within(LONG).await.unwrap();
    maps.wait_until(&informers::ResourceVersion::new(&server.resource_version()))
        .await
        .unwrap();
    factory.shutdown().await;
    assert!(futures::StreamExt::next(&mut events).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn kinds_not_found_and_not_watchable_are_distinguished() {
    let server = ApiServer::start();
    let factory = factory_of(&server);
    let unknown = factory.find("widgets").await.unwrap_err();
    assert!(
        matches!(&unknown, LookupError::Unknown { name, .. } if name == "widgets"),
        "{unknown}"
    );
    let unwatchable = factory.find("componentstatuses").await.unwrap_err();
    assert!(
        matches!(unwatchable, LookupError::NotWatchable { .. }),
        "{unwatchable}"
    );
    assert!(factory.informers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_without_discovery_differs_from_a_silent_one() {
    let server = ApiServer::start();
    let door = Door::default();
    door.shut(503, "ServiceUnavailable");
    let refused = SharedInformerFactory::new(door.client(&server))
        .find("pods")
        .await
        .unwrap_err();
    assert!(matches!(refused, LookupError::Discovery(_)), "{refused}");

    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
    });
    let factory = SharedInformerFactory::new(kube::Client::new(silent, "default"));
    let silent = factory.find("pods").await.unwrap_err();
    assert!(matches!(silent, LookupError::Timeout { .. }), "{silent}");
    assert!(factory.informers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn metadata_informers_stand_beside_full_ones() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let full = factory.core().v1().config_maps().informer();
    let slim: SharedInformer<PartialObjectMeta<ConfigMap>> = factory.metadata_for::<ConfigMap>();
    let lister = factory.kind::<PartialObjectMeta<ConfigMap>>().lister();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!((full.indexer().len(), slim.indexer().len()), (1, 1));
    assert!(lister.namespace("default").get("a").is_some());
    assert_eq!(request_counts(&server, "configmaps"), (0, 2));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_kind_has_its_own_options() {
    let server = ApiServer::start();
    server.create(&item_in("web", "a", "1")).unwrap();
    server.create(&item_in("db", "a", "1")).unwrap();
    let resource = ApiResource::erase::<ConfigMap>(&());
    let factory = SharedInformerFactory::builder(server.client())
        .kind_with::<DynamicObject>(resource.clone(), |maps| maps.namespace("web"))
        .build()
        .unwrap();
    let maps = factory.informer_with::<DynamicObject>(resource).unwrap();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(maps.indexer().len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn options_that_cannot_work_are_refused_by_build() {
    let server = ApiServer::start();
    let builder = || SharedInformerFactory::builder(server.client());
    let check = |builder: SharedInformerFactoryBuilder, expected: &str| {
        let error = builder.build().unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
    };
    check(
        builder().namespace(""),
        "cannot use an option of the factory: a namespace name is empty",
    );
    check(
        builder().namespaces(Vec::<String>::new()),
        "the list of namespaces is empty",
    );
    check(builder().namespaces(["web", "web"]), "named twice");
    check(builder().namespace("Web/.."), "invalid namespace");
    check(builder().page_size(0), "the page size is zero");
    check(
        builder().tweak_list_options(|options| options.labels("tier in (front")),
        "  tier in (front\n                ^",
    );
    check(
        builder().kind::<Pod>(|pods| pods.page_size(0)),
        "cannot use the options for pods: the page size is zero",
    );
    check(
        builder().kind::<Deployment>(|deployments| deployments.labels("a==b==c")),
        "cannot use the options for deployments.apps",
    );
    check(
        builder().kind::<Node>(|nodes| nodes.namespace("web")),
        "cluster-scoped",
    );
    check(
        builder()
            .kind::<Secret>(|secrets| secrets)
            .kind::<Secret>(|secrets| secrets),
        "the options for secrets are set twice",
    );
    let error = builder().page_size(0).build().unwrap_err();
    assert!(matches!(
        error,
        FactoryBuildError::Defaults(BuildError::ZeroPageSize)
    ));
    let error = builder()
        .tweak_list_options(|options| options.labels("tier in (front"))
        .build()
        .unwrap_err();
    let FactoryBuildError::Defaults(BuildError::Source(source::KubeSourceError::ListOptions(error))) = error
    else {
        panic!("{error:?}");
    };
    assert!(
        error.to_string().contains('^'),
        "it points at the character:\n{error}"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn handlers_of_any_kind_receive_what_typed_ones_receive() {
    let server = server_with(&["a"]);
    server.create(&pod("p", "node-1")).unwrap();
    let factory = factory_of(&server);
    let (delivered, mut inbox) = tokio::sync::mpsc::unbounded_channel();
    for resource in ["configmaps", "pods"] {
        let informer = factory.for_resource(&gvr("", "v1", resource)).unwrap();
        let delivered = delivered.clone();
        informer
            .add_handler(move |event| delivered.send(format!("{event:?}")).unwrap())
            .unwrap();
    }
    factory.start();
    factory.wait_for_sync().await.unwrap();
    server.delete(&pod("p", "node-1")).unwrap();
    let mut received = Vec::new();
    for _ in 0..3 {
        received.push(inbox.recv().await.unwrap());
    }
    received.sort();
    assert!(received[0].starts_with("Added(default/a@"), "{received:?}");
    assert!(received[1].starts_with("Added(default/p@"), "{received:?}");
    assert!(
        received[2].starts_with("Deleted(Observed(default/p@"),
        "{received:?}"
    );
    factory.shutdown().await;
}

/// `main` prints an error it returns by `Debug`.
#[tokio::test(start_paused = true)]
async fn errors_print_as_their_message_with_the_reason() {
    let server = ApiServer::start();
    let shown = |error: Box<dyn std::error::Error>, expected: &str| {
        assert_eq!(error.to_string(), expected);
        assert_eq!(format!("{error:?}"), expected);
    };
    let builder = || SharedInformerFactory::builder(server.client());
    let of_a_kind = builder()
        .kind::<Pod>(|pods| pods.page_size(0))
        .build()
        .unwrap_err();
    shown(
        of_a_kind.into(),
        "cannot use the options for pods: the page size is zero; leave it out for the default",
    );
    let of_all = builder().namespace("").build().unwrap_err();
    shown(
        of_all.into(),
        "cannot use an option of the factory: a namespace name is empty; \
         leave the namespace out to cover all namespaces",
    );
    let factory = factory_of(&server);
    factory.core().v1().pods().informer();
    let not_started = factory.wait_for_sync().await.unwrap_err();
    shown(
        not_started.into(),
        "1 of 1 informers not in sync: pods: not started",
    );
    let no_cluster = informers::client::ClientError::NoConfiguration;
    let text = no_cluster.to_string();
    shown(no_cluster.into(), &text);
}
