//! Running informers change: paused and resumed, namespaces added and removed, selectors changed, a kind that
//! disappears and returns.

use std::time::Duration;

use informer_core::{ScopeError, SharedInformer, State};
use informer_testing::{ApiServer, Fault, Rule};
use informers::SharedInformerFactory;
use informers::status::Released;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};

use crate::support::{
    LONG, Recorder, builder_of, item, item_in, items, keys, quiet, server_with, settled, start, tasks,
};

/// A server with objects in three namespaces.
pub(crate) fn server() -> ApiServer {
    let server = ApiServer::start();
    for (namespace, name) in [("web", "w"), ("db", "d"), ("late", "l"), ("late", "m")] {
        server.create(&item_in(namespace, name, "1")).unwrap();
    }
    server
}

pub(crate) fn of_namespaces(server: &ApiServer, namespaces: &[&str]) -> SharedInformer<ConfigMap> {
    let builder = builder_of(server.client()).namespaces(namespaces.iter().copied());
    builder.build().unwrap()
}

fn sorted(mut events: Vec<String>) -> Vec<String> {
    events.sort();
    events
}

#[tokio::test(start_paused = true)]
async fn a_resumed_informer_delivers_the_difference() {
    let server = server_with(&["kept", "changed", "deleted"]);
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    received.take();

    informer.pause();
    informer.pause();
    quiet(&informer).await;
    assert!(
        matches!(informer.status().state, State::Paused),
        "{}",
        informer.status().state
    );
    assert_eq!(server.watchers(), 0);
    let before = server.requests().len();
    server.update(&item("changed", "2")).unwrap();
    server.delete(&item("deleted", "")).unwrap();
    server.create(&item("new", "1")).unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(server.requests().len(), before);
    assert!(received.take().is_empty());
    assert_eq!(items(&informer), ["changed=1", "deleted=1", "kept=1"]);

    informer.resume();
    settled(&informer, &server).await;
    assert_eq!(
        sorted(received.take()),
        ["add new", "missed deleted", "update changed"]
    );
    assert_eq!(items(&informer), ["changed=2", "kept=1", "new=1"]);
    assert!(matches!(informer.status().state, State::Live));
    server.create(&item("later", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["add later"]);
    informer.shutdown().await;
}

/// What was read before the pause is never replaced by an older state.
#[tokio::test(start_paused = true)]
async fn a_resumed_informer_requests_nothing_older_than_it_had() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    start(&informer).await;
    let version = informer.last_sync_resource_version().unwrap().to_string();
    informer.pause();
    quiet(&informer).await;
    server.clear_requests();
    informer.resume();
    settled(&informer, &server).await;
    let first = server.requests()[0].clone();
    assert_eq!(first.resource_version(), version);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_can_start_paused_and_stop_while_paused() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    informer.pause();
    informer.start().unwrap();
    assert!(informer.synced_within(Duration::from_secs(60)).await.is_err());
    assert!(server.requests().is_empty());
    informer.resume();
    informer.synced_within(LONG).await.unwrap();
    informer.pause();
    informer.shutdown().await;
    assert_eq!(tasks(), 0);
    assert!(matches!(informer.status().state, State::Stopped));
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_added_and_removed_while_the_informer_runs() {
    let server = server();
    let informer = of_namespaces(&server, &["web", "db"]);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    received.take();

    informer.add_namespace("late").unwrap();
    informer.add_namespace("late").unwrap();
    // Read your writes includes the new namespace.
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["db/d", "late/l", "late/m", "web/w"]);
    assert_eq!(received.take(), ["add l", "add m"]);
    assert_eq!(informer.status().scopes.len(), 3);

    server.create(&item_in("late", "n", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["add n"]);

    informer.remove_namespace("db").unwrap();
    informer.remove_namespace("db").unwrap();
    server.create(&item_in("db", "unseen", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["late/l", "late/m", "late/n", "web/w"]);
    assert_eq!(received.take(), ["missed d"]);
    assert_eq!(informer.status().scopes.len(), 2);
    assert_eq!(server.watchers(), 2);
    informer.shutdown().await;
    assert_eq!(tasks(), 0);
}

/// The task that removes the objects ends before the one that lists them again begins.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_removed_and_added_at_once_is_complete() {
    let server = server();
    let informer = of_namespaces(&server, &["web", "late"]);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    for _ in 0..5 {
        informer.remove_namespace("late").unwrap();
        informer.add_namespace("late").unwrap();
    }
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"]);
    assert_eq!(received.final_state().unwrap().len(), 3);
    informer.shutdown().await;
}

/// The same with tasks that run at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_namespace_that_is_removed_and_added_often_is_complete() {
    let server = server();
    let informer = of_namespaces(&server, &["web", "late"]);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    for round in 0..200 {
        informer.remove_namespace("late").unwrap();
        informer.add_namespace("late").unwrap();
        informer.settled().await.unwrap();
        assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"], "round {round}");
    }
    quiet(&informer).await;
    assert_eq!(received.final_state().unwrap().len(), 3);
    informer.shutdown().await;
}

/// Also before the start, and the sync waits for it. An informer without namespaces is in sync, and empty.
#[tokio::test(start_paused = true)]
async fn the_first_sync_waits_for_added_namespaces_and_not_for_removed_ones() {
    let server = server();
    server.faults().add(Rule::new(Fault::Forbidden).namespace("db"));
    let informer = of_namespaces(&server, &["db"]);
    informer.add_namespace("late").unwrap();
    informer.start().unwrap();
    assert!(informer.synced_within(Duration::from_secs(60)).await.is_err());
    informer.remove_namespace("db").unwrap();
    informer.synced_within(LONG).await.unwrap();
    assert_eq!(keys(&informer), ["late/l", "late/m"]);
    informer.remove_namespace("late").unwrap();
    quiet(&informer).await;
    assert!(keys(&informer).is_empty() && informer.has_synced());
    assert!(matches!(informer.status().state, State::Live));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_of_other_informers_cannot_be_changed() {
    let server = server();
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    let error = informer.add_namespace("web").unwrap_err();
    assert!(matches!(error, ScopeError::AllNamespaces(_)), "{error}");
    let informer = of_namespaces(&server, &["web"]);
    for invalid in ["", "Not_A_Name"] {
        assert!(
            matches!(informer.add_namespace(invalid), Err(ScopeError::Invalid(_))),
            "{invalid:?}"
        );
    }
    informer.shutdown().await;
    assert!(matches!(informer.add_namespace("db"), Err(ScopeError::Stopped)));
}

fn labelled(name: &str, tier: &str) -> ConfigMap {
    let mut object = item(name, "1");
    object.metadata.labels = Some([("tier".to_owned(), tier.to_owned())].into());
    object
}

#[tokio::test(start_paused = true)]
async fn changed_selectors_deliver_the_difference() {
    let server = ApiServer::start();
    for (name, tier) in [("a", "front"), ("b", "front"), ("c", "back")] {
        server.create(&labelled(name, tier)).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .labels("tier=front")
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(sorted(received.take()), ["initial a", "initial b"]);

    informer
        .change_list_options(|options| options.labels("tier=back"))
        .unwrap();
    server.create(&labelled("d", "back")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(
        sorted(received.take()),
        ["add c", "add d", "missed a", "missed b"]
    );
    assert_eq!(keys(&informer), ["default/c", "default/d"]);
    // Waits for writes use the new selector.
    let written = server.create(&labelled("e", "back")).unwrap();
    informer.wait_for(&written).await.unwrap();
    assert!(
        informer
            .change_list_options(|options| options.labels("!!"))
            .is_err()
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_changes_the_namespaces_of_all_its_informers() {
    let server = server();
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    let namespaces = factory.informer_for::<Namespace>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    factory.add_namespace("late").unwrap();
    factory.remove_namespace("web").unwrap();
    settled(&maps, &server).await;
    assert_eq!(keys(&maps), ["late/l", "late/m"]);
    assert!(namespaces.indexer().len() >= 3);
    // One that is requested later covers the same.
    let secrets = factory.informer_for::<Secret>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    let scopes = secrets.status().scopes;
    assert_eq!(scopes.len(), 1);
    assert_eq!(scopes[0].scope.to_string(), "namespace late");
    factory.shutdown().await;
}

fn team(server: &ApiServer, name: &str, team: &str) {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace.metadata.labels = Some([("team".to_owned(), team.to_owned())].into());
    if server.update(&namespace).is_err() {
        server.create(&namespace).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_factory_follows_namespaces_by_their_label() {
    let server = server();
    team(&server, "web", "x");
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces_by_label("team=x")
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    let received = Recorder::new();
    received.add_to(&maps);
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(keys(&maps), ["web/w"]);
    assert_eq!(received.take(), ["initial w"]);
    assert_eq!(factory.namespaces(), Some(vec!["web".to_owned()]));

    team(&server, "late", "x");
    team(&server, "web", "y");
    tokio::time::sleep(Duration::from_secs(5)).await;
    settled(&maps, &server).await;
    assert_eq!(keys(&maps), ["late/l", "late/m"]);
    assert_eq!(sorted(received.take()), ["add l", "add m", "missed w"]);
    assert!(
        server
            .requests()
            .of("configmaps")
            .iter()
            .all(|request| request.namespace.is_some())
    );
    factory.shutdown().await;
}

/// No namespace matches: everything is in sync, and empty.
#[tokio::test(start_paused = true)]
async fn a_label_that_no_namespace_has_is_in_sync() {
    let server = server();
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces_by_label("team=nobody")
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert!(maps.indexer().is_empty());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_lease_stops_the_informer() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    assert_eq!(factory.release::<ConfigMap>(), Released::None);
    let first = factory.lease::<ConfigMap>();
    let second = factory.lease::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    drop(first);
    assert!(!second.is_stopped());
    assert_eq!(factory.release::<ConfigMap>(), Released::Leased(1));
    let informer = SharedInformer::clone(&second);
    drop(second);
    assert!(informer.is_stopped());
    informer.shutdown().await;
    assert_eq!(server.watchers(), 0);

    // The next one is new. It was also requested without a lease, so it stays.
    let lease = factory.lease::<ConfigMap>();
    let informer = factory.informer_for::<ConfigMap>();
    assert!(!informer.is_stopped());
    factory.start();
    factory.wait_for_sync().await.unwrap();
    drop(lease);
    assert!(!informer.is_stopped());
    assert_eq!(factory.release::<ConfigMap>(), Released::Stopped);
    assert!(informer.is_stopped());
    factory.shutdown().await;
}
