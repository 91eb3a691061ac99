//! Changes delivered twice, wrongly or not at all, and answers that were misread.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use informer_core::{Event, InitialState, SharedInformer, State};
use informer_testing::{ApiServer, ExpiredWatch, Request};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{HOUR, MINUTE, MODES, informer_by, state};
use crate::support::{
    Door, LONG, Recorder, builder_of, informer_of, item, label, server_with, settled, start, unseen, value,
    words,
};

/// kube#1844, fixed by kube#1882: each time a watch ended, after 290 seconds, the next one requested the
/// initial events again, and every object was delivered again.
#[tokio::test(start_paused = true)]
async fn a_watch_renewed_for_hours_delivers_nothing_twice() {
    for initial in MODES {
        let server = server_with(&["a", "b"]);
        let informer = informer_by(initial, &server);
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        server.clear_requests();
        tokio::time::sleep(6 * HOUR).await;
        assert_eq!(received.take(), ["initial a", "initial b"], "{initial:?}");
        let renewed = server.requests();
        assert!(renewed.len() > 30, "{} watches in six hours", renewed.len());
        assert_eq!(renewed.filtered(|request| request.is_watch_list()).len(), 0);
        // A list of one object reads the server's version when watches are silent.
        let is_whole = |request: &Request| request.is_list() && request.parameter("limit") != Some("1");
        assert_eq!(renewed.filtered(is_whole).len(), 0);
        informer.shutdown().await;
    }
}

/// kube#1576: a wait for the deletion of an object that was already deleted never ended, because an empty
/// list produced no event. Here a synced cache without the object ends the wait.
#[tokio::test(start_paused = true)]
async fn an_object_that_never_existed_is_known_to_be_absent() {
    for initial in MODES {
        let server = server_with(&["other"]);
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .fields("metadata.name=gone")
            .build()
            .unwrap();
        let received = Recorder::new();
        let registration = received.add_to(&informer);
        informer.start().unwrap();
        tokio::time::timeout(MINUTE, registration.synced())
            .await
            .expect("a synced cache answers at once")
            .unwrap();
        assert!(informer.has_synced());
        assert!(informer.indexer().get(&"default/gone".parse().unwrap()).is_none());
        assert_eq!(received.take(), <[&str; 0]>::default(), "{initial:?}");
        informer.shutdown().await;
    }
}

/// vector#5877: watch events without a version were skipped, including errors, so nothing explained why the
/// cache was stuck.
#[tokio::test(start_paused = true)]
async fn no_error_in_a_watch_is_swallowed() {
    for form in [ExpiredWatch::InStream, ExpiredWatch::Response] {
        let server = ApiServer::builder().expired_watch(form).start();
        server.create(&item("a", "1")).unwrap();
        let delivered = Arc::new(Mutex::new(Vec::new()));
        let errors = delivered.clone();
        let informer = builder_of::<ConfigMap>(server.client())
            .on_watch_error(move |_, error| {
                let code = error.status().map_or(0, |status| status.code);
                errors.lock().unwrap().push(code);
            })
            .build()
            .unwrap();
        start(&informer).await;
        unseen(&server, || drop(server.update(&item("a", "2")).unwrap()));
        settled(&informer, &server).await;
        let delivered = delivered.lock().unwrap().clone();
        assert!(delivered.contains(&410), "{form:?}: {delivered:?}");
        let scope = informer.status().scopes.remove(0);
        assert_eq!(scope.counts.errors, delivered.len() as u64);
        let last = scope.last_error.expect("it stays to be read").error.to_string();
        assert!(last.contains("too old"), "{last}");
        informer.shutdown().await;
    }
}

/// kube's reflector (finding B): a subscriber woken for an object that was already deleted returned without
/// registering its waker again.
#[tokio::test(start_paused = true)]
async fn a_subscriber_woken_for_an_object_already_gone_wakes_for_the_next() {
    let server = server_with(&[]);
    let informer = informer_of(&server);
    start(&informer).await;
    let mut events = informer.events();
    let reader = tokio::spawn(async move {
        let mut read = Vec::new();
        while let Some(event) = events.next().await {
            read.push(words(&event));
        }
        read
    });
    for name in ["a", "b", "c"] {
        server.create(&item(name, "1")).unwrap();
        server.delete(&item(name, "1")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(informer.indexer().len(), 0);
    }
    informer.shutdown().await;
    let read = tokio::time::timeout(LONG, reader)
        .await
        .expect("it woke")
        .unwrap();
    assert_eq!(
        read,
        ["add a", "delete a", "add b", "delete b", "add c", "delete c"]
    );
}

/// kube's reflector (finding D): subscribers got a reference that was resolved when they read it, so of two
/// quick updates they saw the second twice and the first never.
#[tokio::test(start_paused = true)]
async fn quick_updates_reach_a_slow_reader_as_they_happened() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let mut events = informer.events();
    informer.start().unwrap();
    informer
        .wait_until_within(&server.resource_version().as_str().into(), LONG)
        .await
        .unwrap();
    for value in ["2", "3", "4"] {
        server.update(&item("a", value)).unwrap();
    }
    // All three are in the cache before the reader takes the first.
    informer
        .wait_until_within(&server.resource_version().as_str().into(), LONG)
        .await
        .unwrap();
    let mut read = Vec::new();
    for _ in 0..4 {
        let event = tokio::time::timeout(LONG, events.next()).await;
        read.push(match event.expect("each update is an event").unwrap() {
            Event::Added { object, .. } => label(&object),
            Event::Updated { old, new, .. } => format!("{} -> {}", value(&old), value(&new)),
            Event::Deleted(_) => "deleted".to_owned(),
        });
    }
    assert_eq!(read, ["a=1", "1 -> 2", "2 -> 3", "3 -> 4"]);
    informer.shutdown().await;
}

/// kube's watcher (finding F): `resourceVersion=0` was dropped from requests with a limit, which is the
/// default, so every list went to etcd.
#[tokio::test(start_paused = true)]
async fn a_first_list_with_a_limit_still_takes_what_the_server_has_cached() {
    let server = server_with(&["a"]);
    let informer = informer_by(InitialState::List, &server);
    start(&informer).await;
    let lists = server.requests().lists();
    let requests: Vec<_> = lists
        .into_iter()
        .map(|list| {
            let parameter = |name| list.parameter(name).unwrap_or_default().to_owned();
            (parameter("limit"), parameter("resourceVersion"))
        })
        .collect();
    assert_eq!(requests, [("500".to_owned(), "0".to_owned())]);
    informer.shutdown().await;
}

/// kube's `Status` (finding G): a refusal whose reason is empty, as some proxies and aggregated servers send
/// it, was not recognised by its code.
#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_reason_is_known_by_its_code() {
    for (code, expected) in [(403, "Forbidden"), (404, "NotFound")] {
        let (server, door) = (server_with(&["a"]), Door::default());
        let informer = builder_of::<ConfigMap>(door.client(&server)).build().unwrap();
        door.shut(code, "");
        informer.start().unwrap();
        informer.synced_within(MINUTE).await.unwrap_err();
        let shown = match informer.status().state {
            State::Forbidden { .. } => "Forbidden",
            State::NotFound { .. } => "NotFound",
            _ => "something else",
        };
        assert_eq!(shown, expected);
        door.open();
        informer.synced_within(MINUTE).await.unwrap();
        // A 410 without a reason leads to a list too.
        start_over(&informer, &server, &door).await;
        informer.shutdown().await;
    }
}

/// Refuses the next watch with a bare 410 and makes a change meanwhile that only a list can show.
async fn start_over(informer: &SharedInformer<ConfigMap>, server: &ApiServer, door: &Door) {
    tokio::time::sleep(MINUTE).await;
    server.clear_requests();
    door.shut(410, "");
    server.close_watches();
    tokio::time::sleep(MINUTE).await;
    door.open();
    server.update(&item("a", "2")).unwrap();
    settled(informer, server).await;
    assert_eq!(state(informer), "live");
    let requests = server.requests();
    let states = requests.filtered(|request| request.is_watch_list() || request.is_list());
    assert_eq!(states.len(), 1, "the state was read anew");
}
