//! Several namespaces are one informer, with one list, one watch and one version for each.

use std::time::Duration;

use informer_core::{InitialState, ResourceVersion, Scope, SharedInformer, State};
use informer_testing::{ApiServer, Verb};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Door, LONG, Recorder, builder_of, item_in, keys, quiet, settled, start, version_of};

fn server() -> ApiServer {
    let server = ApiServer::start();
    for (namespace, name) in [("web", "a"), ("db", "a"), ("db", "b"), ("elsewhere", "c")] {
        server.create(&item_in(namespace, name, "1")).unwrap();
    }
    server
}

fn informer_over(server: &ApiServer, namespaces: &[&str]) -> SharedInformer<ConfigMap> {
    builder_of(server.client())
        .namespaces(namespaces.iter().copied())
        .build()
        .unwrap()
}

fn scope(namespace: &str) -> Scope {
    Scope::of(Some(namespace))
}

#[tokio::test(start_paused = true)]
async fn only_one_namespace_is_requested() {
    let server = server();
    let informer = builder_of::<ConfigMap>(server.client())
        .namespace("db")
        .build()
        .unwrap();
    start(&informer).await;
    server.create(&item_in("web", "late", "1")).unwrap();
    server.create(&item_in("db", "late", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["db/a", "db/b", "db/late"]);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.namespace.as_deref() == Some("db"))
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_are_one_cache_and_one_history() {
    let server = server();
    let informer = informer_over(&server, &["web", "db"]);
    let received = Recorder::new();
    let registration = received.add_to(&informer);
    start(&informer).await;
    assert_eq!(keys(&informer), ["db/a", "db/b", "web/a"]);
    assert!(registration.has_synced());
    let mut initial = received.take();
    initial.sort();
    assert_eq!(initial, ["initial a", "initial a", "initial b"]);
    server.create(&item_in("web", "new", "1")).unwrap();
    server.delete(&item_in("db", "a", "")).unwrap();
    server.create(&item_in("elsewhere", "unheard", "1")).unwrap();
    settled(&informer, &server).await;
    let mut delivered = received.take();
    delivered.sort();
    assert_eq!(delivered, ["add new", "delete a"]);
    assert_eq!(keys(&informer), ["db/b", "web/a", "web/new"]);
    assert_eq!(informer.indexer().list_namespace("web").len(), 2);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_its_own_version() {
    let server = server();
    let informer = informer_over(&server, &["web", "db"]);
    assert_eq!(informer.last_sync_resource_version(), None);
    start(&informer).await;
    let written = server.create(&item_in("web", "new", "1")).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let status = informer.status();
    assert_eq!(status.versions.len(), 2);
    assert_eq!(status.versions.get(&scope("web")), Some(&version_of(&written)));
    assert!(
        status
            .versions
            .get(&scope("db"))
            .unwrap()
            .is_older_than(&version_of(&written))
    );
    assert_eq!(
        informer.last_sync_resource_version(),
        None,
        "there is no one version"
    );
    let scopes: Vec<Scope> = status.scopes.iter().map(|scope| scope.scope.clone()).collect();
    assert_eq!(scopes, [scope("web"), scope("db")]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_a_wait_for_every_namespace() {
    let server = server();
    let informer = informer_over(&server, &["web", "db"]);
    start(&informer).await;
    let written = version_of(&server.create(&item_in("web", "new", "1")).unwrap());
    // `db` reaches that version with its next bookmark, at most a minute later.
    let early = informer.wait_until_within(&written, Duration::from_secs(1)).await;
    assert!(early.is_err(), "`db` cannot know yet: {early:?}");
    assert_eq!(informer.indexer().len(), 4, "although `web` has it");
    informer.wait_until_within(&written, LONG).await.unwrap();
    for namespace in ["web", "db"] {
        let version: ResourceVersion = informer.status().versions.get(&scope(namespace)).unwrap().clone();
        assert!(version.is_at_least(&written), "{namespace} is at {version}");
    }
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_relist_of_one_namespace_does_not_touch_the_other() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server();
        let informer = builder_of::<ConfigMap>(server.client())
            .namespaces(["web", "db"])
            .initial_state(initial)
            .build()
            .unwrap();
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        received.take();
        // Only a namespace with changes is behind the compaction; both relist, one after the other.
        server.close_watches();
        server.delete(&item_in("web", "a", "")).unwrap();
        server.create(&item_in("web", "z", "1")).unwrap();
        server.compact(server.revision());
        settled(&informer, &server).await;
        assert_eq!(
            received.take(),
            ["missed a", "add z"],
            "{initial:?}: db/a is another object"
        );
        assert_eq!(keys(&informer), ["db/a", "db/b", "web/z"]);
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_in_sync_when_every_namespace_is() {
    let (server, door) = (server(), Door::default());
    // `db` is behind the door, `web` is not.
    let source = |client: kube::Client, namespace: &str| {
        let source =
            informer_core::source::KubeSource::<ConfigMap>::new(client, scope(namespace), Default::default());
        std::sync::Arc::new(source.unwrap())
            as std::sync::Arc<dyn informer_core::source::ListWatch<ConfigMap>>
    };
    let sources = vec![source(server.client(), "web"), source(door.client(&server), "db")];
    let informer = SharedInformer::builder_from_sources(sources).build().unwrap();
    let received = Recorder::new();
    let registration = received.add_to(&informer);
    door.shut(403, "Forbidden");
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    quiet(&informer).await;
    assert_eq!(keys(&informer), ["web/a"], "what is there can be read");
    assert_eq!(received.take(), ["initial a"]);
    assert!(!informer.has_synced() && !registration.has_synced());
    let status = informer.status();
    assert!(
        matches!(status.state, State::Forbidden { .. }),
        "the worse of the two: {}",
        status.state
    );
    assert!(matches!(status.scopes[0].state, State::Live));
    door.open();
    informer.synced_within(LONG).await.unwrap();
    registration.synced().await.unwrap();
    assert_eq!(received.take(), ["initial a", "initial b"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_one_watch() {
    let server = server();
    let informer = informer_over(&server, &["web", "db"]);
    start(&informer).await;
    assert_eq!(server.watchers(), 2);
    let mut requests: Vec<_> = server
        .requests()
        .with_verb(Verb::Watch)
        .iter()
        .map(|request| request.namespace.clone().unwrap())
        .collect();
    requests.sort();
    assert_eq!(requests, ["db", "web"]);
    informer.shutdown().await;
    assert_eq!(server.watchers(), 0);
}
