//! What else must hold when namespaces and selectors change: waits, limits, saved files, status, rights,
//! health.

use std::time::Duration;

use informer_core::source::ListOptions;
use informer_core::{InitialState, RelistReason, ResourceVersion, Scope, State, WarmStart};
use informers::SharedInformerFactory;
use informers::status::Released;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::informer_scopes::{of_namespaces, server};
use crate::support::{LONG, Recorder, builder_of, item_in, keys, quiet, settled, start};

/// Without a pause in between, so that no task has run since the change.
#[tokio::test(start_paused = true)]
async fn a_wait_right_after_a_change_waits_for_it() {
    let server = server();
    let informer = of_namespaces(&server, &["web"]);
    start(&informer).await;
    let version = ResourceVersion::new(&server.resource_version());
    informer.add_namespace("late").unwrap();
    informer.wait_until(&version).await.unwrap();
    assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"]);
    let object = informer.indexer().get(&"late/l".parse().unwrap()).unwrap();

    informer
        .change_list_options(|options| options.labels("tier=front"))
        .unwrap();
    informer.wait_until(&version).await.unwrap();
    assert!(keys(&informer).is_empty());

    // The object was not selected before. Its write is older than the cache, and not in it.
    informer.change_list_options(|_| ListOptions::default()).unwrap();
    informer.wait_for(&*object).await.unwrap();
    assert!(keys(&informer).contains(&"late/l".to_owned()));
    informer.settled().await.unwrap();
    assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"]);

    informer.remove_namespace("late").unwrap();
    informer.add_namespace("late").unwrap();
    informer.wait_until(&version).await.unwrap();
    assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"]);
    informer.remove_namespace("late").unwrap();
    informer.settled().await.unwrap();
    assert_eq!(keys(&informer), ["web/w"]);
    informer.shutdown().await;
    assert!(
        informer.settled().await.is_ok(),
        "it was settled before it stopped"
    );
}

/// A server with an older cache must not answer for a namespace that handlers have seen at a later version.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_added_again_is_not_older_than_before() {
    let server = server();
    let informer = builder_of::<ConfigMap>(server.client())
        .namespaces(["web", "late"])
        .initial_state(InitialState::List)
        .build()
        .unwrap();
    start(&informer).await;
    server.create(&item_in("late", "n", "1")).unwrap();
    settled(&informer, &server).await;
    let late = Scope::of(Some("late"));
    let status = informer.status();
    let seen = status.scopes.iter().find(|scope| scope.scope == late).unwrap();
    let seen = seen.version.clone().unwrap().to_string();
    informer.remove_namespace("late").unwrap();
    informer.settled().await.unwrap();
    server.clear_requests();
    informer.add_namespace("late").unwrap();
    informer.settled().await.unwrap();
    let requests = server.requests().of("configmaps");
    assert_eq!(requests[0].namespace.as_deref(), Some("late"));
    assert_eq!(requests[0].resource_version(), seen);
    assert_eq!(keys(&informer), ["late/l", "late/m", "late/n", "web/w"]);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_may_begin_without_namespaces() {
    let server = server();
    let informer = builder_of::<ConfigMap>(server.client())
        .no_namespaces()
        .build()
        .unwrap();
    start(&informer).await;
    assert!(informer.status().scopes.is_empty() && server.requests().is_empty());
    informer.add_namespace("web").unwrap();
    informer.settled().await.unwrap();
    assert_eq!(keys(&informer), ["web/w"]);
    informer.shutdown().await;

    // One that covers all namespaces cannot be limited later, and the error says what to do.
    let informer = builder_of::<ConfigMap>(server.client()).build().unwrap();
    let error = informer.add_namespace("web").unwrap_err().to_string();
    assert!(
        error.contains("configmaps are watched in all namespaces") && error.contains("`namespaces`"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn limits_hold_over_added_namespaces_and_count_removed_ones_no_more() {
    let server = server();
    let informer = builder_of::<ConfigMap>(server.client())
        .namespaces(["web"])
        .max_objects(3)
        .build()
        .unwrap();
    start(&informer).await;
    informer.add_namespace("late").unwrap();
    informer.settled().await.unwrap();
    informer.add_namespace("db").unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let state = informer.status().state;
    assert!(matches!(state, State::LimitReached { .. }), "{state}");
    assert_eq!(keys(&informer), ["late/l", "late/m", "web/w"]);
    informer.remove_namespace("late").unwrap();
    tokio::time::timeout(LONG, informer.settled())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(keys(&informer), ["db/d", "web/w"]);
    informer.shutdown().await;
}

/// A file has the selectors in its identity, so objects of other selectors must never be in it.
#[tokio::test(start_paused = true)]
async fn a_warm_start_saves_neither_removed_namespaces_nor_changed_selectors() {
    let folder = tempfile::tempdir().unwrap();
    let server = server();
    let build = || {
        let warm = WarmStart::directory(folder.path()).cluster("c").revision("r");
        let builder = builder_of::<ConfigMap>(server.client()).namespaces(["web", "late"]);
        builder.warm_start(warm).build().unwrap()
    };
    let names = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .map(|name| name.split('.').nth(1).unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names
    };
    let informer = build();
    start(&informer).await;
    informer
        .change_list_options(|options| options.labels("tier=front"))
        .unwrap();
    informer.settled().await.unwrap();
    informer.shutdown().await;
    assert!(names().is_empty(), "{:?}", names());

    let informer = build();
    start(&informer).await;
    informer.remove_namespace("late").unwrap();
    informer.add_namespace("db").unwrap();
    informer.settled().await.unwrap();
    informer.shutdown().await;
    assert_eq!(names(), ["namespace_db", "namespace_web"]);

    // The file of a namespace that was removed and added again is older than what handlers have seen.
    server.update(&item_in("web", "w", "2")).unwrap();
    let informer = build();
    start(&informer).await;
    settled(&informer, &server).await;
    server.clear_requests();
    informer.remove_namespace("web").unwrap();
    informer.add_namespace("web").unwrap();
    informer.settled().await.unwrap();
    let requests = server.requests().of("configmaps");
    assert!(requests[0].is_watch_list());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_status_shows_current_scopes_and_selectors_and_counts_go_on() {
    let server = server();
    let informer = of_namespaces(&server, &["web", "late"]);
    start(&informer).await;
    let before = informer.status().counts();
    assert_eq!(before.lists, 2);
    informer.remove_namespace("late").unwrap();
    informer
        .change_list_options(|options| options.labels("tier=front").fields("metadata.name!=x"))
        .unwrap();
    informer.settled().await.unwrap();
    informer.pause();
    quiet(&informer).await;
    informer.resume();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let status = informer.status();
    let scopes: Vec<String> = status
        .scopes
        .iter()
        .map(|scope| scope.scope.to_string())
        .collect();
    assert_eq!(scopes, ["namespace web"]);
    assert_eq!(status.label_selector.as_deref(), Some("tier=front"));
    assert_eq!(status.field_selector.as_deref(), Some("metadata.name!=x"));
    let counts = status.counts();
    assert_eq!(counts.lists, 4, "a metric must not go back");
    let relists = |reason| counts.relists.get(reason);
    assert_eq!(
        (relists(RelistReason::Resumed), relists(RelistReason::Reselected)),
        (1, 1)
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn rights_and_health_follow_the_namespaces_of_a_factory() {
    let server = server();
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .kind::<Secret>(|secrets| secrets.namespace("db"))
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    let secrets = factory.informer_for::<Secret>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    factory.add_namespace("late").unwrap();
    factory.remove_namespace("web").unwrap();
    maps.settled().await.unwrap();
    let roles = factory.rights().roles();
    let namespaces: Vec<_> = roles
        .into_iter()
        .filter_map(|role| role.metadata.namespace)
        .collect();
    // Secrets have namespaces of their own.
    assert_eq!(namespaces, ["db", "late"]);
    assert_eq!(secrets.status().scopes.len(), 1);

    // Data of a paused informer gets old on request.
    let health = factory.health().max_age(Duration::from_secs(60));
    maps.pause();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(health.ready().is_ok() && health.live().is_ok());
    // Options of its own would be lost with the informer.
    assert_eq!(factory.release::<Secret>(), Released::HasOptions);
    assert!(!secrets.is_stopped());
    factory.shutdown().await;
}

/// The namespace informer is part of the rights; the placeholder for namespaces that are not known is not.
#[tokio::test(start_paused = true)]
async fn rights_of_a_factory_that_follows_a_label() {
    let server = server();
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces_by_label("team=x")
        .build()
        .unwrap();
    factory.informer_for::<ConfigMap>();
    let rights = factory.rights();
    assert!(rights.roles().is_empty(), "{rights}");
    let rules = rights.cluster_role().unwrap().rules.unwrap();
    assert_eq!(rules.len(), 1);
    assert_eq!(
        rules[0].resources.as_deref(),
        Some(&["namespaces".to_owned()][..])
    );
}

/// Also while the first list is read, and with a handler that was added before.
#[tokio::test(start_paused = true)]
async fn many_changes_in_a_row_end_in_the_last_one() {
    let server = server();
    let informer = of_namespaces(&server, &["web"]);
    let (received, _registration) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    for round in 0..20 {
        informer.add_namespace("late").unwrap();
        informer
            .change_list_options(|options| options.labels(format!("round!={round}")))
            .unwrap();
        informer.pause();
        informer.remove_namespace("web").unwrap();
        informer.add_namespace("db").unwrap();
        informer.resume();
        informer.add_namespace("web").unwrap();
        if round % 3 == 0 {
            tokio::task::yield_now().await;
        }
        informer.remove_namespace("late").unwrap();
    }
    informer.settled().await.unwrap();
    quiet(&informer).await;
    assert_eq!(keys(&informer), ["db/d", "web/w"]);
    assert_eq!(received.final_state().unwrap().len(), 2);
    assert_eq!(server.watchers(), 2);
    informer.shutdown().await;
}
