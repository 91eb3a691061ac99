//! Options of an informer: selectors, parameters, managed fields, limits, and invalid values.

use std::time::Duration;

use informer_core::source::ManagedFields;
use informer_core::source::{KubeSourceError, ListOptionsError};
use informer_core::{BuildError, InitialState, Object, SharedInformer, SharedInformerBuilder};
use informer_testing::{ApiServer, WatchCache};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

use crate::support::{Recorder, builder_of, item, keys, pod, server_with, settled, start, unseen};

#[tokio::test(start_paused = true)]
async fn objects_enter_and_leave_a_label_selector() {
    let server = ApiServer::start();
    let labelled = |name: &str, tier: &str| {
        let mut object = item(name, "1");
        object.metadata.labels = Some([("tier".to_owned(), tier.to_owned())].into());
        object
    };
    server.create(&labelled("in", "front")).unwrap();
    server.create(&labelled("out", "back")).unwrap();
    let informer = builder_of::<ConfigMap>(server.client())
        .labels("tier in (front, edge)")
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(keys(&informer), ["default/in"]);
    server.update(&labelled("in", "edge")).unwrap();
    server.update(&labelled("out", "front")).unwrap();
    server.update(&labelled("in", "back")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["default/out"]);
    unseen(&server, || {
        server.update(&labelled("in", "front")).unwrap();
        server.update(&labelled("out", "back")).unwrap();
    });
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["default/in"]);
    assert_eq!(
        received.take(),
        [
            "initial in",
            "update in",
            "add out",
            "delete in",
            "missed out",
            "add in"
        ]
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn objects_enter_and_leave_a_field_selector() {
    let server = ApiServer::start();
    server.create(&pod("here", "node-1")).unwrap();
    server.create(&pod("there", "node-2")).unwrap();
    let informer = builder_of::<Pod>(server.client())
        .fields("spec.nodeName=node-1,status.phase!=Failed")
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    let mut failed = pod("here", "node-1");
    failed.status.get_or_insert_default().phase = Some("Failed".into());
    server.update(&failed).unwrap();
    server.create(&pod("new", "node-1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["initial here", "delete here", "add new"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn tweaked_options_are_on_every_list_and_watch() {
    let server = ApiServer::builder().watch_cache(WatchCache::Off).start();
    for name in ["a", "b", "c"] {
        let mut object = item(name, "1");
        object.metadata.labels = Some([("tier".to_owned(), "front".to_owned())].into());
        server.create(&object).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .initial_state(InitialState::List)
        .page_size(2)
        .labels("tier=front")
        .tweak_list_options(|options| {
            options
                .fields("metadata.name!=x")
                .parameter("shardSelector", "1/2")
        })
        .build()
        .unwrap();
    start(&informer).await;
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let requests = server.requests();
    assert!(
        requests.lists().len() == 2 && requests.watches().len() >= 2,
        "{requests:?}"
    );
    for request in requests {
        for (name, value) in [
            ("labelSelector", "tier=front"),
            ("fieldSelector", "metadata.name!=x"),
            ("shardSelector", "1/2"),
        ] {
            assert_eq!(request.parameter(name), Some(value), "{:?}", request.query);
        }
    }
    informer.shutdown().await;
}

/// The error of a builder that cannot build.
fn refused<K: Object>(builder: SharedInformerBuilder<K>) -> BuildError {
    builder.build().expect_err("this must not build")
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_refused_when_it_is_built() {
    let server = ApiServer::start();
    let maps = || builder_of::<ConfigMap>(server.client());
    assert!(matches!(
        refused(maps().namespace("")),
        BuildError::EmptyNamespace
    ));
    assert!(matches!(
        refused(maps().namespaces(["web", ""])),
        BuildError::EmptyNamespace
    ));
    assert!(matches!(
        refused(maps().namespaces(Vec::<String>::new())),
        BuildError::NoNamespaces
    ));
    let repeated = refused(maps().namespaces(["web", "db", "web"]));
    assert!(
        matches!(&repeated, BuildError::RepeatedScope(scope) if scope.contains("web")),
        "{repeated}"
    );
    let escaping = refused(maps().namespace("../secrets"));
    assert!(
        matches!(&escaping, BuildError::Source(KubeSourceError::Namespace { .. })),
        "{escaping}"
    );
    assert!(matches!(refused(maps().page_size(0)), BuildError::ZeroPageSize));
    let nodes = builder_of::<Node>(server.client()).namespace("web");
    assert!(matches!(refused(nodes), BuildError::ClusterScoped(resource) if resource == "nodes"));
    let broken = refused(maps().labels("tier in (front"));
    let BuildError::Source(KubeSourceError::ListOptions(ListOptionsError::LabelSelector(error))) = &broken
    else {
        panic!("{broken:?}");
    };
    assert_eq!((error.text(), error.offset()), ("tier in (front", 14));
    assert!(
        broken
            .to_string()
            .ends_with("\n  tier in (front\n                ^"),
        "{broken}"
    );
    assert!(matches!(
        refused(maps().fields("spec.nodeName")),
        BuildError::Source(_)
    ));
    let owned = refused(maps().tweak_list_options(|options| options.parameter("watch", "1")));
    assert!(matches!(
        owned,
        BuildError::Source(KubeSourceError::ListOptions(
            ListOptionsError::OwnedParameter { .. }
        ))
    ));
    let none = SharedInformer::<ConfigMap>::builder_from_sources(Vec::new());
    assert!(matches!(refused(none), BuildError::NoSource));
    assert_eq!(server.requests().len(), 0, "no request was sent");
}

/// An item with managed fields, as every object of a real server has them.
fn managed(name: &str) -> ConfigMap {
    let mut object = item(name, "1");
    object.metadata.managed_fields = Some(vec![ManagedFieldsEntry {
        manager: Some("test".into()),
        operation: Some("Update".into()),
        api_version: Some("v1".into()),
        fields_type: Some("FieldsV1".into()),
        ..ManagedFieldsEntry::default()
    }]);
    object
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_dropped_unless_requested() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = ApiServer::start();
        server.create(&managed("listed")).unwrap();
        let builder = || builder_of::<ConfigMap>(server.client()).initial_state(initial);
        let without = builder().build().unwrap();
        let with = builder().managed_fields(ManagedFields::Keep).build().unwrap();
        start(&without).await;
        start(&with).await;
        server.create(&managed("watched")).unwrap();
        settled(&without, &server).await;
        settled(&with, &server).await;
        let kept = |informer: &SharedInformer<ConfigMap>| {
            informer
                .indexer()
                .list()
                .iter()
                .map(|object| object.metadata.managed_fields.is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(kept(&without), [false, false], "{initial:?}");
        assert_eq!(kept(&with), [true, true], "{initial:?}");
        without.shutdown().await;
        with.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_over_the_limit_is_skipped_and_reported() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server_with(&["small"]);
        server.create(&item("large", &"x".repeat(10_000))).unwrap();
        let builder = builder_of::<ConfigMap>(server.client()).initial_state(initial);
        let informer = builder.max_object_bytes(5_000).build().unwrap();
        informer.start().unwrap();
        informer.synced_within(Duration::from_secs(60)).await.unwrap();
        assert_eq!(keys(&informer), ["default/small"]);
        let status = informer.status();
        let (key, reason) = &status.stale[0];
        assert_eq!(key.to_string(), "default/large");
        assert!(reason.contains("max_object_bytes"), "{reason}");
        assert_eq!(status.scopes[0].unusable, 1);
        // The same in a watch: the last good state stays, and a deletion is a deletion.
        server.update(&item("small", &"x".repeat(10_000))).unwrap();
        settled(&informer, &server).await;
        assert_eq!(informer.status().stale.len(), 2);
        assert_eq!(keys(&informer), ["default/small"]);
        server.delete(&item("large", "")).unwrap();
        server.delete(&item("small", "")).unwrap();
        settled(&informer, &server).await;
        assert!(informer.status().stale.is_empty() && informer.indexer().is_empty());
        server.create(&item("small", "x")).unwrap();
        server.create(&item("large", &"x".repeat(10_000))).unwrap();
        informer.shutdown().await;

        let builder = builder_of::<ConfigMap>(server.client()).initial_state(initial);
        let informer = builder.max_object_bytes(20_000).build().unwrap();
        start(&informer).await;
        assert_eq!(keys(&informer), ["default/large", "default/small"]);
        informer.shutdown().await;
    }
}
