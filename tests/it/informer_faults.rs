//! Failures outside the informer: its runtime, a value type, extreme settings.

use std::cmp::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use futures::StreamExt as _;

use informer_core::{Event, HandlerOptions, State, WaitError};
use informer_testing::{Fault, Rule};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use super::support::{informer_of, item, server_with, start, value};

use crate::support::builder_of;

#[test]
fn a_runtime_dropped_under_an_informer_ends_it_for_everyone_who_waits() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (informer, server) = runtime.block_on(async {
        let server = server_with(&["a"]);
        let informer = informer_of(&server);
        start(&informer).await;
        (informer, server)
    });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    other.block_on(async {
        let waited = informer
            .wait_until_within(&"999999999".into(), Duration::from_secs(60))
            .await;
        assert_eq!(waited, Err(WaitError::Stopped));
    });
    assert!(matches!(informer.status().state, State::Stopped));
    assert_eq!(informer.indexer().len(), 1, "the last state can still be read");
    drop(server);
}

/// A value that cannot be compared with another one: a bug in the user's type, reached by the store's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fussy(String);

impl Ord for Fussy {
    fn cmp(&self, other: &Self) -> Ordering {
        assert!(self.0 != "boom" && other.0 != "boom", "cannot compare");
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Fussy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[tokio::test(start_paused = true)]
async fn an_index_value_that_cannot_be_ordered_stops_the_informer_visibly() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    informer
        .add_index("fussy", |object: &ConfigMap| {
            vec![Fussy(value(object).to_owned())]
        })
        .unwrap();
    start(&informer).await;
    server.create(&item("c", "boom")).unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(
        informer.is_stopped(),
        "a cache that cannot be kept must not look live"
    );
    assert!(matches!(informer.status().state, State::Stopped));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn extreme_resync_periods_are_harmless() {
    let server = server_with(&["a"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::MAX)
        .build()
        .unwrap();
    let never = HandlerOptions::default().resync(Some(Duration::MAX));
    informer
        .add_handler_with(never.clone(), |_: Event<ConfigMap>| ())
        .unwrap();
    start(&informer).await;
    informer
        .add_handler_with(never, |_: Event<ConfigMap>| ())
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(matches!(informer.status().state, State::Live));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_added_right_after_the_start_cannot_lower_the_check_period() {
    let server = server_with(&[]);
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::from_secs(60))
        .build()
        .unwrap();
    informer.start().unwrap();
    let often = HandlerOptions::default().resync(Some(Duration::from_secs(1)));
    informer
        .add_handler_with(often, |_: Event<ConfigMap>| ())
        .unwrap();
    assert_eq!(
        informer.status().handlers[0].resync,
        Some(Duration::from_secs(60))
    );
    informer.shutdown().await;
}

/// Retries do not hide the state: at any time it shows why nothing arrives.
#[tokio::test(start_paused = true)]
async fn a_refusal_stays_visible_while_it_is_tried_again() {
    let server = server_with(&["a"]);
    let rule = server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("configmaps"));
    let informer = informer_of(&server);
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let since = informer.status().scopes[0].since;
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let scope = informer.status().scopes.remove(0);
        assert!(matches!(scope.state, State::Forbidden { .. }), "{}", scope.state);
        assert_eq!(scope.since, since, "it has been so all the time");
    }
    server.faults().remove(rule);
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_an_informer_cancelled_before_its_start_ends_at_once() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let informer = builder_of::<ConfigMap>(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    token.cancel();
    let mut events = informer.events();
    let next = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
    assert!(matches!(next, Ok(None)), "nothing will ever come");
}

/// The handler is held inside its call on a real thread, removed, and others are added; a shutdown still
/// waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_handler_that_is_still_busy_is_named_by_a_shutdown() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let (entered, entries) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let options = HandlerOptions::default().name("stuck");
    let stuck = informer
        .add_handler_with(options, move |_: Event<ConfigMap>| {
            let _ = entered.send(());
            while gate.recv().is_ok() {}
        })
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    tokio::task::spawn_blocking(move || entries.recv().unwrap())
        .await
        .unwrap();
    drop(stuck.remove());
    informer.add_handler(|_: Event<ConfigMap>| ()).unwrap();
    let late = informer
        .shutdown_timeout(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(late.busy, ["stuck"]);
    drop(release);
    informer.shutdown().await;
}
