//! Informers that got stuck: endless waits, requests repeated for ever, deadlocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use informer_core::{Event, HandlerOptions, SharedInformer, State, UpdateCause};
use informer_testing::{ApiServer, ExpiredWatch, Fault, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::json;

use super::{HOUR, MINUTE, MODES, informer_by, state};
use crate::support::{
    Door, LONG, Recorder, builder_of, informer_of, item, items, server_with, settled, start, unseen,
};

/// kubernetes#107133: after a switch to a server that was behind, the list requested a version that the
/// server never reached, and repeated that request until a restart.
#[tokio::test(start_paused = true)]
async fn a_version_the_server_never_reaches_is_not_requested_for_ever() {
    for initial in MODES {
        let server = server_with(&["a"]);
        let informer = informer_by(initial, &server);
        start(&informer).await;
        // Every list with a version is refused; only the newest state is served.
        let rule = Rule::new(Fault::version_too_large());
        let named = |version: &str| !version.is_empty() && version != "0";
        let fault = server.faults().add(rule.when(move |request| {
            named(request.resource_version()) && (request.is_list() || request.is_watch_list())
        }));
        unseen(&server, || drop(server.update(&item("a", "2")).unwrap()));
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=2"], "{initial:?}");
        assert_eq!(server.faults().hits(fault), 1, "{initial:?}");
        informer.shutdown().await;
    }
}

/// kubernetes#89652: a watch that ran into a timeout on the client's side was treated as broken, and the
/// whole state was read again. Here that happens only after five such watches in a row, when nothing
/// confirms the state any more.
#[tokio::test(start_paused = true)]
async fn a_watch_that_times_out_is_resumed_without_reading_everything_again() {
    for initial in MODES {
        let server = server_with(&["a"]);
        let informer = informer_by(initial, &server);
        start(&informer).await;
        server.clear_requests();
        // The server stops sending and never closes: only the client's timeout ends this watch.
        let silent = server.faults().add(Fault::HalfOpen { after: 0 });
        server.close_watches();
        let whole = || {
            let requests = server.requests();
            requests.lists().len() + requests.filtered(|request| request.is_watch_list()).len()
        };
        // The watch that was closed counts as the first. Four silent ones last 22 minutes or longer.
        tokio::time::sleep(20 * MINUTE).await;
        let watches = server.requests().watches().len();
        assert!((2..=4).contains(&watches), "{watches} watches");
        assert_eq!(whole(), 0, "{initial:?}");
        tokio::time::sleep(2 * HOUR).await;
        assert!((1..=8).contains(&whole()), "{} reads of the whole state", whole());
        assert!(informer.status().scopes[0].counts.errors >= 5);
        server.faults().remove(silent);
        informer.shutdown().await;
    }
}

/// kubernetes#136509: a resync before the start of the handlers waited for them and held the lock that they
/// needed to start.
#[tokio::test(start_paused = true)]
async fn a_resync_due_before_the_first_state_blocks_nobody() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Delay(MINUTE)).once());
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::from_secs(1))
        .build()
        .unwrap();
    let handlers = [1, 2, 3].map(|seconds| {
        let received = Recorder::new();
        let options = HandlerOptions::default().resync(Some(Duration::from_secs(seconds)));
        informer.add_handler_with(options, received.handler()).unwrap();
        received
    });
    informer.start().unwrap();
    informer.synced_within(2 * MINUTE).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for received in handlers {
        let delivered = received.take();
        assert_eq!(delivered[0], "initial a");
        assert!(
            delivered.len() > 3 && delivered[1..].iter().all(|event| event == "resync a"),
            "{delivered:?}"
        );
    }
    informer.shutdown().await;
}

/// kubernetes#137296: a handler added during shutdown took a lock that the shutdown waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_added_during_the_end_do_not_hold_it_up() {
    for _ in 0..50 {
        let server = server_with(&["a", "b"]);
        let informer = informer_of(&server);
        start(&informer).await;
        let adders: Vec<_> = (0..4)
            .map(|_| {
                let informer = informer.clone();
                tokio::spawn(async move { while informer.add_handler(|_: Event<ConfigMap>| ()).is_ok() {} })
            })
            .collect();
        tokio::task::yield_now().await;
        tokio::time::timeout(MINUTE, informer.shutdown())
            .await
            .expect("the end comes");
        for added in join_all(adders).await {
            added.unwrap();
        }
    }
}

/// kubernetes#140890, kubernetes#135895: a server, or a fake one, sent the initial events and never the
/// bookmark that ends them; the reflector retried for ever and never listed.
#[tokio::test(start_paused = true)]
async fn an_initial_stream_that_never_ends_is_given_up_for_lists() {
    // The server keeps the connection open and silent, or closes it after a while.
    for min_request_timeout in [HOUR, Duration::from_secs(10)] {
        let server = ApiServer::builder()
            .min_request_timeout(min_request_timeout)
            .start();
        server.create(&item("a", "1")).unwrap();
        server.faults().add(Fault::OmitEndBookmark);
        let informer = informer_of(&server);
        let received = Recorder::new();
        received.add_to(&informer);
        informer.start().unwrap();
        informer.synced_within(15 * MINUTE).await.unwrap();
        server.update(&item("a", "2")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(received.take(), ["initial a", "update a"]);
        let tried = server
            .requests()
            .filtered(|request| request.is_watch_list())
            .len();
        assert!((1..=2).contains(&tried), "{tried} initial streams were tried");
        informer.shutdown().await;
    }
}

/// kubernetes#79610: when the definition of a kind was removed, its informer kept sending requests, hundreds
/// of thousands a day, and could not be stopped alone.
#[tokio::test(start_paused = true)]
async fn a_removed_kind_is_retried_slowly_and_found_again() {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            }}],
        },
    }))
    .unwrap();
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "gear",
        "namespace": "default" },
    });
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let server = ApiServer::start();
    server.create(&definition).unwrap();
    server.create(&widget).unwrap();
    let informer = SharedInformer::<DynamicObject>::builder_with(server.client(), kind)
        .build()
        .unwrap();
    start(&informer).await;
    assert_eq!(informer.indexer().len(), 1);

    server.delete(&definition).unwrap();
    tokio::time::sleep(MINUTE).await;
    let before = server.requests().of("widgets").len();
    tokio::time::sleep(HOUR).await;
    let requests = server.requests().of("widgets").len() - before;
    assert!((60..=360).contains(&requests), "{requests} requests in an hour");
    assert!(
        matches!(informer.status().state, State::NotFound { .. }),
        "{}",
        informer.status().state
    );

    server.create(&definition).unwrap();
    server.create(&widget).unwrap();
    settled(&informer, &server).await;
    assert_eq!(informer.indexer().len(), 1);
    server.delete(&definition).unwrap();
    tokio::time::sleep(MINUTE).await;
    informer.shutdown().await;
    let before = server.requests().len();
    tokio::time::sleep(HOUR).await;
    assert_eq!(
        server.requests().len(),
        before,
        "one informer can be stopped alone"
    );
}

/// kube#1316: requests that were never answered, and watches on connections that had died, made the watcher
/// wait for ever.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_is_given_up() {
    for initial in MODES {
        let server = server_with(&["a"]);
        let hang = server.faults().add(Rule::new(Fault::Hang).times(2));
        let informer = informer_by(initial, &server);
        informer.start().unwrap();
        informer.synced_within(15 * MINUTE).await.unwrap();
        assert_eq!(server.faults().hits(hang), 2, "{initial:?}");
        // And the watch after a hung one delivers the changes.
        let hang = server.faults().add(Rule::new(Fault::Hang).on(Verb::Watch).once());
        server.close_watches();
        server.update(&item("a", "2")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(server.faults().hits(hang), 1);
        assert_eq!(items(&informer), ["a=2"]);
        informer.shutdown().await;
    }
}

/// OpenSandbox#1534: after an upgrade of the control plane the connection was dead and never closed; for six
/// hours the cache did not change and reported that it was synced.
#[tokio::test(start_paused = true)]
async fn a_cache_with_a_dead_connection_reports_it_and_recovers() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let dead = server.faults().add(Fault::HalfOpen { after: 0 });
    server.close_watches();
    tokio::time::sleep(MINUTE).await;
    assert_eq!((server.watchers(), state(&informer).as_str()), (1, "live"));
    let refused = server.faults().add(Fault::Refuse);
    server.update(&item("a", "2")).unwrap();
    // The silence is noticed within the longest watch timeout and its margin.
    tokio::time::sleep(11 * MINUTE).await;
    assert!(
        matches!(informer.status().state, State::Stalled | State::BackingOff { .. }),
        "{}",
        state(&informer)
    );
    let contact = informer.status().scopes[0]
        .last_contact
        .expect("there was contact once");
    assert!(
        contact.elapsed() >= 10 * MINUTE,
        "and how old the cache is can be seen"
    );
    server.faults().remove(refused);
    server.faults().remove(dead);
    informer
        .wait_until_within(&server.resource_version().as_str().into(), MINUTE)
        .await
        .unwrap();
    assert_eq!(items(&informer), ["a=2"]);
    assert_eq!(state(&informer), "live");
    informer.shutdown().await;
}

/// argo-cd#28928: a wave of 401s restarted all watches of a cluster at once, and they waited for each other
/// for sixteen hours.
#[tokio::test(start_paused = true)]
async fn a_wave_of_unauthorized_answers_is_survived_by_all() {
    let (server, door) = (server_with(&["a"]), Door::default());
    let informers: Vec<_> = (0..90)
        .map(|_| builder_of::<ConfigMap>(door.client(&server)).build().unwrap())
        .collect();
    for informer in &informers {
        informer.start().unwrap();
    }
    for informer in &informers {
        informer.synced_within(MINUTE).await.unwrap();
    }
    door.shut(401, "Unauthorized");
    server.close_watches();
    tokio::time::sleep(HOUR).await;
    for informer in &informers {
        assert!(
            matches!(informer.status().state, State::BackingOff { .. }),
            "{}",
            state(informer)
        );
        assert!(informer.status().scopes[0].counts.errors < 200);
    }
    door.open();
    server.update(&item("a", "2")).unwrap();
    let version = server.resource_version().as_str().into();
    for informer in &informers {
        informer.wait_until_within(&version, 5 * MINUTE).await.unwrap();
        assert_eq!(items(informer), ["a=2"]);
    }
    for informer in informers {
        tokio::time::timeout(LONG, informer.shutdown()).await.unwrap();
    }
}

/// fabric8#7435: an exception in one resync silently ended the chain of timers.
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_resync_does_not_end_the_resyncs() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::from_secs(10))
        .build()
        .unwrap();
    let resyncs = Arc::new(AtomicUsize::new(0));
    let count = resyncs.clone();
    informer
        .add_handler(move |event: Event<ConfigMap>| {
            if let Event::Updated {
                cause: UpdateCause::Resync,
                ..
            } = event
            {
                count.fetch_add(1, Ordering::Relaxed);
                panic!("a handler's own fault");
            }
        })
        .unwrap();
    start(&informer).await;
    tokio::time::sleep(Duration::from_secs(101)).await;
    let received = resyncs.load(Ordering::Relaxed);
    assert!((9..=10).contains(&received), "{received} resyncs in 100 seconds");
    informer.shutdown().await;
}

/// kube's watcher (finding E) did not relist when a watch was refused with HTTP 410, and requested the same
/// version for ever; vector#5846 did not when the 410 came inside a stream that had begun with 200.
#[tokio::test(start_paused = true)]
async fn an_expiry_leads_to_a_list_however_it_is_reported() {
    for form in [ExpiredWatch::Response, ExpiredWatch::InStream] {
        for initial in MODES {
            let server = ApiServer::builder().expired_watch(form).start();
            server.create(&item("a", "1")).unwrap();
            let informer = informer_by(initial, &server);
            start(&informer).await;
            server.clear_requests();
            unseen(&server, || drop(server.update(&item("a", "2")).unwrap()));
            settled(&informer, &server).await;
            assert_eq!(items(&informer), ["a=2"], "{form:?}, {initial:?}");
            tokio::time::sleep(HOUR).await;
            let requests = server.requests();
            let expired = requests.filtered(|request| request.is_watch()).len();
            assert!(expired < 30, "{expired} watches in an hour");
            informer.shutdown().await;
        }
    }
}
