//! Informers of kinds known only at run time, as client-go's dynamicinformer has them, and a factory's list
//! options.

use informer_testing::{ApiServer, Fault, Rule, WatchCache};
use informers::{Deleted, Event, InitialState, Origin, SharedInformer, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{DynamicObject, GroupVersionResource};
use serde_json::{Value, json};

use crate::support::{LONG, Recorder, item, settled, unseen};

/// A definition for which no Rust type exists.
fn define(server: &ApiServer) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    });
    server.create(&definition).unwrap();
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn thing(spec: &str) -> DynamicObject {
    object(json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": { "name": "foo", "namespace": "ns-foo" }, "spec": spec,
    }))
}

async fn started(
    factory: &SharedInformerFactory,
    resource: &GroupVersionResource,
) -> (SharedInformer<DynamicObject>, Recorder<DynamicObject>) {
    let informer = factory.for_resource(resource).unwrap();
    let informer = informer.typed::<DynamicObject>().unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    factory.start();
    factory.wait_for_sync_within(LONG).await.unwrap();
    (informer, received)
}

/// Upstream: TestDynamicSharedInformerFactory. Each handler receives the object as the server has it.
#[tokio::test(start_paused = true)]
async fn a_kind_without_a_type_is_delivered_when_it_is_added_updated_and_deleted() {
    let server = ApiServer::start();
    define(&server);
    let factory = SharedInformerFactory::new(server.client());
    let things = GroupVersionResource::gvr("example.com", "v1", "things");
    let (informer, received) = started(&factory, &things).await;

    let created = server.create(&thing("foo")).unwrap();
    settled(&informer, &server).await;
    let updated = server.update(&thing("updated")).unwrap();
    settled(&informer, &server).await;
    server.delete(&thing("")).unwrap();
    settled(&informer, &server).await;

    let events = received.events();
    let [
        Event::Added { object, origin, .. },
        Event::Updated { old, new, .. },
        Event::Deleted(Deleted::Observed(last)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((object.as_ref(), *origin), (&created, Origin::Live));
    assert_eq!((old.as_ref(), new.as_ref()), (&created, &updated));
    assert_eq!(
        (&last.data, &last.metadata.uid),
        (&updated.data, &updated.metadata.uid)
    );
    assert!(informer.indexer().is_empty());
    factory.shutdown().await;
}

/// Upstream: TestDynamicSharedInformerFactory, with objects that exist before the start.
#[tokio::test(start_paused = true)]
async fn an_existing_object_of_a_kind_without_a_type_is_initial() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = ApiServer::start();
        define(&server);
        let existing = server.create(&thing("foo")).unwrap();
        let factory = SharedInformerFactory::builder(server.client())
            .initial_state(initial)
            .build()
            .unwrap();
        let things = GroupVersionResource::gvr("example.com", "v1", "things");
        let (_, received) = started(&factory, &things).await;
        let events = received.events();
        let [
            Event::Added {
                object,
                origin: Origin::Initial,
                ..
            },
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(
            (&object.metadata, &object.data),
            (&existing.metadata, &existing.data)
        );
        factory.shutdown().await;
    }
}

/// Upstream: TestFilteredDynamicSharedInformerFactory, all six scenarios: a namespace, and list options for
/// all kinds.
#[tokio::test(start_paused = true)]
async fn a_filtered_dynamic_factory_delivers_what_its_namespace_and_selectors_select() {
    let scenarios = [
        ("ns-bar", "", "", 0),
        ("ns-foo", "", "", 1),
        ("ns-foo", "", "metadata.name=name-bar", 0),
        ("ns-foo", "", "metadata.name=name-foo", 1),
        ("ns-foo", "environment=production", "", 0),
        ("ns-foo", "environment=test", "", 1),
    ];
    for (namespace, labels, fields, expected) in scenarios {
        let server = ApiServer::start();
        let factory = SharedInformerFactory::builder(server.client())
            .namespace(namespace)
            .tweak_list_options(|options| match (labels, fields) {
                ("", "") => options,
                ("", fields) => options.fields(fields),
                (labels, _) => options.labels(labels),
            })
            .build()
            .unwrap();
        let deployments = GroupVersionResource::gvr("apps", "v1", "deployments");
        let (informer, received) = started(&factory, &deployments).await;
        let created = server
            .create(&object(json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": "name-foo", "namespace": "ns-foo",
                "labels": { "environment": "test" } },
                "spec": { "replicas": 1 },
            })))
            .unwrap();
        // A bookmark moves the version of the informer when no object was selected.
        settled(&informer, &server).await;
        let events = received.events();
        let scenario = format!("{namespace} {labels} {fields}: {events:?}");
        assert_eq!(
            (events.len(), informer.indexer().len()),
            (expected, expected),
            "{scenario}"
        );
        if let Some(event) = events.first() {
            let Event::Added {
                object,
                origin: Origin::Live,
                ..
            } = event
            else {
                panic!("{scenario}");
            };
            assert_eq!(object.as_ref(), &created);
        }
        factory.shutdown().await;
    }
}

/// Upstream: `WithTweakListOptions`: a filter on every list and watch of every kind.
#[tokio::test(start_paused = true)]
async fn list_options_of_a_factory_select_the_objects_of_every_kind() {
    // Without its cache the server pages every list, so that there are requests for later pages.
    let server = ApiServer::builder().watch_cache(WatchCache::Off).start();
    let labelled = |name: &str, tier: &str| {
        let mut item = item(name, "1");
        item.metadata.labels = Some([("tier".to_owned(), tier.to_owned())].into());
        item
    };
    let secret = |name: &str, tier: &str| Secret {
        metadata: labelled(name, tier).metadata,
        ..Secret::default()
    };
    for (name, tier) in [("a", "front"), ("b", "front"), ("c", "back")] {
        server.create(&labelled(name, tier)).unwrap();
        server.create(&secret(name, tier)).unwrap();
    }
    let factory = SharedInformerFactory::builder(server.client())
        .initial_state(InitialState::List)
        .page_size(1)
        .tweak_list_options(|options| options.labels("tier=front"))
        .kind::<ConfigMap>(|maps| maps.tweak_list_options(|options| options.fields("metadata.name!=b")))
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().informer();
    let secrets = factory.core().v1().secrets().informer();
    let metadata = factory.metadata_for::<Secret>();
    let services = GroupVersionResource::gvr("", "v1", "services");
    factory.for_resource(&services).unwrap();
    factory.start();
    factory.wait_for_sync_within(LONG).await.unwrap();
    let names = || {
        let [maps, secrets] = [maps.indexer().keys(), secrets.indexer().keys()];
        [maps, secrets].map(|keys| {
            keys.iter()
                .map(|key| key.name().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(names(), ["a", "a b"]);
    assert_eq!(metadata.indexer().len(), 2);

    // An object that leaves the selector is deleted, and one that enters it is added, by the watch and by a
    // relist.
    server.update(&secret("a", "back")).unwrap();
    server.update(&secret("c", "front")).unwrap();
    settled(&secrets, &server).await;
    assert_eq!(names(), ["a", "b c"]);
    unseen(&server, || drop(server.update(&secret("b", "back")).unwrap()));
    settled(&secrets, &server).await;
    assert_eq!(names(), ["a", "c"]);

    let requests = server.requests();
    // Pages after the first, and requests after the relist, are among them.
    let of_secrets = requests.of("secrets");
    assert!(
        of_secrets.lists().len() > 4 && of_secrets.watches().len() > 2,
        "{requests:?}"
    );
    for request in requests.iter() {
        assert_eq!(
            request.parameter("labelSelector"),
            Some("tier=front"),
            "{request:?}"
        );
        let of_maps = requests
            .of("configmaps")
            .iter()
            .any(|of| of.number == request.number);
        let fields = of_maps.then_some("metadata.name!=b");
        assert_eq!(request.parameter("fieldSelector"), fields, "{request:?}");
    }
    factory.shutdown().await;
}

/// Upstream: TestMetadataSharedInformerFactory: a handler of metadata receives additions, updates and
/// deletions, without content.
#[tokio::test(start_paused = true)]
async fn metadata_alone_is_delivered_when_an_object_is_added_updated_and_deleted() {
    let server = ApiServer::start();
    let factory = SharedInformerFactory::new(server.client());
    let informer = factory.metadata_for::<ConfigMap>();
    let received = Recorder::new();
    received.add_to(&informer);
    factory.start();
    factory.wait_for_sync_within(LONG).await.unwrap();

    let created = server.create(&item("a", "1")).unwrap();
    settled(&informer, &server).await;
    let updated = server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    server.delete(&item("a", "")).unwrap();
    settled(&informer, &server).await;

    let events = received.events();
    let [
        Event::Added { object, .. },
        Event::Updated { old, new, .. },
        Event::Deleted(Deleted::Observed(last)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(object.metadata, created.metadata);
    assert_eq!(
        (&old.metadata, &new.metadata),
        (&created.metadata, &updated.metadata)
    );
    assert_eq!(last.metadata.uid, updated.metadata.uid);
    factory.shutdown().await;
}

/// Upstream: TestSyncResult: the error of a wait names every cache that is not in sync, and why, and no
/// other.
#[tokio::test(start_paused = true)]
async fn a_wait_names_every_informer_that_is_not_in_sync_and_no_other() {
    let server = ApiServer::start();
    for resource in ["secrets", "services"] {
        server
            .faults()
            .add(Rule::new(Fault::Forbidden).resource(resource));
    }
    let factory = SharedInformerFactory::new(server.client());
    factory.core().v1().config_maps().informer();
    factory.core().v1().secrets().informer();
    factory.core().v1().services().informer();
    factory.start();
    let error = factory.wait_for_sync().await.unwrap_err();
    let mut unsynced: Vec<&str> = error
        .unsynced
        .iter()
        .map(|unsynced| unsynced.resource.as_str())
        .collect();
    unsynced.sort_unstable();
    assert_eq!((unsynced, error.informers), (vec!["secrets", "services"], 3));
    let text = error.to_string();
    assert!(text.matches("forbidden").count() >= 2, "{text}");
    assert!(!text.contains("configmaps"), "{text}");
    factory.shutdown().await;
}
