//! The status of an informer: states, errors, counts, versions, and waits for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::{
    Event, HandlerOptions, HandlerState, InitialState, Scope, SharedInformer, State, WatchListVerdict,
};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::support::{Door, LONG, builder_of, informer_of, item, keys, server_with, settled, start, unseen};

/// An informer behind a door, with a record of the errors its handler received.
struct Guarded {
    server: ApiServer,
    door: Door,
    informer: SharedInformer<ConfigMap>,
    errors: Arc<Mutex<Vec<String>>>,
}

fn guarded() -> Guarded {
    let (server, door) = (server_with(&["a", "b"]), Door::default());
    let errors = Arc::new(Mutex::new(Vec::new()));
    let delivered = errors.clone();
    let informer = builder_of::<ConfigMap>(door.client(&server))
        .on_watch_error(move |scope, error| {
            let code = error.status().map_or(0, |status| status.code);
            delivered.lock().unwrap().push(format!("{scope}: {code}"));
        })
        .build()
        .unwrap();
    Guarded {
        server,
        door,
        informer,
        errors,
    }
}

/// Upstream: TestSharedInformerErrorHandling.
#[tokio::test(start_paused = true)]
async fn every_failed_list_reaches_the_watch_error_handler() {
    let Guarded {
        server: _server,
        door,
        informer,
        errors,
    } = guarded();
    door.shut(500, "InternalError");
    informer.start().unwrap();
    let error = informer.synced_within(Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error.resource, "configmaps");
    assert!(
        matches!(error.pending.worst(), State::BackingOff { .. }),
        "{error}"
    );
    let delivered = errors.lock().unwrap().clone();
    assert!(
        !delivered.is_empty()
            && delivered
                .iter()
                .all(|error| *error == format!("{}: 500", Scope::All)),
        "{delivered:?}"
    );
    assert_eq!(informer.status().scopes[0].counts.errors, delivered.len() as u64);
    door.open();
    informer.synced_within(LONG).await.unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_error_handler_that_panics_stops_nothing() {
    let (server, door) = (server_with(&["a"]), Door::default());
    let informer = builder_of::<ConfigMap>(door.client(&server))
        .on_watch_error(|_, _| panic!("no errors please"))
        .build()
        .unwrap();
    door.shut(500, "InternalError");
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    door.open();
    informer.synced_within(LONG).await.unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn refusals_are_states_of_their_own_and_pass() {
    for (code, reason) in [(403, "Forbidden"), (404, "NotFound")] {
        let Guarded {
            server: _server,
            door,
            informer,
            ..
        } = guarded();
        door.shut(code, reason);
        informer.start().unwrap();
        let error = informer.synced_within(Duration::from_secs(60)).await.unwrap_err();
        let shown = match error.pending.worst() {
            State::Forbidden { .. } => 403,
            State::NotFound { .. } => 404,
            _ => 0,
        };
        assert_eq!(shown, code, "{error}");
        assert!(
            informer.status().scopes[0].counts.errors < 10,
            "a refused request is repeated slowly"
        );
        door.open();
        informer.synced_within(LONG).await.unwrap();
        assert!(matches!(informer.status().state, State::Live));
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn having_synced_is_not_being_live() {
    let Guarded {
        server,
        door,
        informer,
        ..
    } = guarded();
    start(&informer).await;
    assert!(matches!(informer.status().state, State::Live));
    tokio::time::sleep(Duration::from_secs(600)).await;
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let status = informer.status();
    assert!(
        status.synced && informer.has_synced(),
        "the cache has been complete"
    );
    assert!(
        matches!(status.state, State::BackingOff { .. }),
        "but it is not live: {}",
        status.state
    );
    assert_eq!(status.objects, 2, "and it goes on answering");
    door.open();
    server.create(&item("c", "1")).unwrap();
    settled(&informer, &server).await;
    assert!(matches!(informer.status().state, State::Live));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_error_says_since_when_and_how_often() {
    let Guarded {
        server,
        door,
        informer,
        ..
    } = guarded();
    start(&informer).await;
    assert!(informer.status().scopes[0].last_error.is_none());
    tokio::time::sleep(Duration::from_secs(600)).await;
    let began = Instant::now();
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(120)).await;
    let last = informer.status().scopes[0].last_error.clone().unwrap();
    assert_eq!(last.error.status().unwrap().code, 503);
    assert!(
        last.since - began < Duration::from_secs(5) && last.at > last.since,
        "{last:?}"
    );
    assert_eq!(last.count, informer.status().scopes[0].counts.errors);
    assert!(last.count > 1);

    door.open();
    server.create(&item("c", "1")).unwrap();
    settled(&informer, &server).await;
    assert!(
        informer.status().scopes[0].last_error.is_some(),
        "kept, for who looks later"
    );
    tokio::time::sleep(Duration::from_secs(600)).await;
    let again = Instant::now();
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let last = informer.status().scopes[0].last_error.clone().unwrap();
    assert!(
        last.since >= again,
        "a new row of errors counts from its own beginning"
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn counts_versions_and_indexes_are_shown() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    informer.add_label_index("app").unwrap();
    let started = Instant::now();
    start(&informer).await;
    server.create(&item("c", "1")).unwrap();
    settled(&informer, &server).await;
    unseen(&server, || server.delete(&item("a", "")).unwrap());
    settled(&informer, &server).await;

    let status = informer.status();
    assert_eq!(
        (status.resource.as_str(), status.objects, status.synced),
        ("configmaps", 2, true)
    );
    assert_eq!(
        status.versions.common().unwrap().to_string(),
        server.resource_version()
    );
    assert_eq!(
        status
            .indexes
            .iter()
            .map(|index| index.name.as_str())
            .collect::<Vec<_>>(),
        ["label app"]
    );
    let [scope] = status.scopes.as_slice() else {
        panic!("{:?}", status.scopes)
    };
    assert_eq!(
        (&scope.scope, scope.version.as_ref()),
        (&Scope::All, status.versions.common())
    );
    assert_eq!(scope.watch_list, WatchListVerdict::Works);
    assert_eq!(
        (scope.counts.lists, scope.counts.undecodable, scope.counts.rewinds),
        (2, 0, 0)
    );
    assert!(
        scope.counts.events >= 1 && scope.counts.watches >= 2,
        "{:?}",
        scope.counts
    );
    assert!(scope.since >= started && scope.last_contact.unwrap() >= scope.since - Duration::from_secs(60));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn every_handler_is_shown_with_its_depth() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    let slow = |_: Event<ConfigMap>| tokio::time::sleep(Duration::from_secs(60));
    let registration = informer
        .add_async_handler_with(HandlerOptions::default().name("slow"), slow)
        .unwrap();
    informer
        .add_handler_with(HandlerOptions::default().name("quick"), |_: Event<ConfigMap>| ())
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    tokio::time::sleep(Duration::from_secs(90)).await;
    let status = informer.status();
    let [slow, quick] = status.handlers.as_slice() else {
        panic!("{:?}", status.handlers)
    };
    assert_eq!(
        (slow.name.as_str(), slow.state, slow.synced),
        ("slow", HandlerState::Active, false)
    );
    assert_eq!(slow.depth, 1);
    let busy = slow.busy_for.unwrap();
    assert!(
        busy > Duration::from_secs(25) && busy < Duration::from_secs(35),
        "{busy:?}"
    );
    assert_eq!((quick.depth, quick.synced, quick.busy_for), (0, true, None));
    registration.synced().await.unwrap();
    informer.shutdown().await;
}

/// Upstream: TestNameForHandler.
#[tokio::test(start_paused = true)]
async fn a_handler_without_a_name_is_named_after_its_type() {
    fn handle(_: Event<ConfigMap>) {}
    let server = ApiServer::start();
    let informer = informer_of(&server);
    informer.add_handler(handle).unwrap();
    informer.add_handler(|_: Event<ConfigMap>| ()).unwrap();
    informer
        .add_handler(informer_core::Handlers::<ConfigMap>::new())
        .unwrap();
    informer
        .add_handler_with(HandlerOptions::default().name("mine"), handle)
        .unwrap();
    let names: Vec<String> = informer
        .status()
        .handlers
        .into_iter()
        .map(|handler| handler.name)
        .collect();
    let module = module_path!();
    let test = format!("{module}::a_handler_without_a_name_is_named_after_its_type");
    assert!(
        names[0].starts_with(&test) && names[0].ends_with("::handle"),
        "{names:?}"
    );
    assert!(
        names[1].starts_with(&test) && names[1].ends_with("{{closure}}"),
        "{names:?}"
    );
    assert!(
        names[2].contains("Handlers<") && names[2].contains("ConfigMap"),
        "{names:?}"
    );
    assert_eq!(names[3], "mine");
}

#[tokio::test(start_paused = true)]
async fn status_changes_wake_waiting_tasks() {
    let Guarded {
        server,
        door,
        informer,
        ..
    } = guarded();
    let mut changes = informer.status_changes();
    let watched = informer.clone();
    let watcher = tokio::spawn(async move {
        let mut states: Vec<String> = Vec::new();
        while changes.changed().await {
            let state = match watched.status().state {
                State::Listing { .. } => "listing".to_owned(),
                State::BackingOff { .. } => "backing off".to_owned(),
                other => other.to_string(),
            };
            let is_last = state == "stopped";
            if states.last() != Some(&state) {
                states.push(state);
            }
            if is_last {
                break;
            }
        }
        states
    });
    tokio::task::yield_now().await;
    start(&informer).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(10)).await;
    door.open();
    tokio::time::sleep(Duration::from_secs(60)).await;
    informer.shutdown().await;
    let states = tokio::time::timeout(LONG, watcher)
        .await
        .expect("the stop is delivered, too")
        .unwrap();
    assert_eq!(states, ["listing", "live", "backing off", "live", "stopped"]);
}

#[tokio::test(start_paused = true)]
async fn status_changes_end_when_the_informer_is_gone() {
    let server = ApiServer::start();
    let informer = informer_of(&server);
    let mut changes = informer.status_changes();
    start(&informer).await;
    drop(informer);
    tokio::time::timeout(LONG, async { while changes.changed().await {} })
        .await
        .expect("no wait for ever");
}

#[tokio::test(start_paused = true)]
async fn a_list_in_pages_shows_how_far_it_is() {
    let server = ApiServer::builder()
        .watch_cache(informer_testing::WatchCache::Off)
        .start();
    for index in 0..10 {
        server.create(&item(&format!("item-{index}"), "1")).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .initial_state(InitialState::List)
        .page_size(4)
        .build()
        .unwrap();
    let (mut changes, watched) = (informer.status_changes(), informer.clone());
    let watcher = tokio::spawn(async move {
        let mut seen = Vec::new();
        while changes.changed().await {
            match watched.status().state {
                State::Listing { received, expected } => seen.push((received, expected)),
                _ => return seen,
            }
        }
        seen
    });
    tokio::task::yield_now().await;
    start(&informer).await;
    let seen = watcher.await.unwrap();
    assert!(seen.contains(&(4, Some(10))), "{seen:?}");
    assert_eq!(server.requests().of("configmaps").lists().len(), 3);
    assert_eq!(keys(&informer).len(), 10);
    informer.shutdown().await;
}

/// Every scope has its own status: a reflector never writes to that of another scope.
#[tokio::test(start_paused = true)]
async fn each_scope_reports_for_itself() {
    let server = ApiServer::start();
    for namespace in ["one", "two", "three"] {
        server
            .create(&crate::support::item_in(namespace, "a", "1"))
            .unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .namespaces(["one", "two", "three"])
        .build()
        .unwrap();
    start(&informer).await;
    server.create(&crate::support::item_in("two", "b", "1")).unwrap();
    // Too early for the bookmarks of the others.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let events: Vec<(String, u64)> = informer
        .status()
        .scopes
        .iter()
        .map(|scope| (scope.scope.to_string(), scope.counts.events))
        .collect();
    for (scope, count) in &events {
        assert_eq!(*count > 0, scope.contains("two"), "{events:?}");
    }
    informer.shutdown().await;
}
