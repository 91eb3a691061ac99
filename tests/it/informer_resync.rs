//! Resyncs: which handlers receive every object again, and how often.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{Event, HandlerOptions, Registration, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Recorder, builder_of, item, server_with, start};

fn secs(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

fn informer_with(server: &ApiServer, resync: Option<Duration>) -> SharedInformer<ConfigMap> {
    let builder = builder_of(server.client());
    match resync {
        Some(period) => builder.resync(period),
        None => builder,
    }
    .build()
    .unwrap()
}

/// Adds a handler with this resync period.
fn add(informer: &SharedInformer<ConfigMap>, period: Option<Duration>) -> Recorder<ConfigMap> {
    let received = Recorder::new();
    let options = HandlerOptions::default().resync(period);
    informer.add_handler_with(options, received.handler()).unwrap();
    received
}

/// The number of resyncs of `a` that each handler receives in each second after the start.
async fn check_seconds(
    informer: &SharedInformer<ConfigMap>,
    handlers: &[Recorder<ConfigMap>],
    expected: &[&[usize]],
) {
    start(informer).await;
    for received in handlers {
        assert_eq!(received.take(), ["initial a"]);
    }
    // The resyncs of a second come at its end; look shortly after it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    for (second, expected) in expected.iter().enumerate() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let counts: Vec<usize> = handlers
            .iter()
            .map(|received| {
                let events = received.take();
                assert!(events.iter().all(|event| event == "resync a"), "{events:?}");
                events.len()
            })
            .collect();
        assert_eq!(counts, *expected, "second {}", second + 1);
    }
}

const ZERO_TWO_THREE: [&[usize]; 6] = [
    &[0, 0, 0],
    &[0, 1, 0],
    &[0, 0, 1],
    &[0, 1, 0],
    &[0, 0, 0],
    &[0, 1, 1],
];

/// Upstream: TestListenerResyncPeriods.
#[tokio::test(start_paused = true)]
async fn each_handler_gets_exactly_its_own_resyncs() {
    let server = server_with(&["a"]);
    let informer = informer_with(&server, secs(1));
    let handlers = [None, secs(2), secs(3)].map(|period| add(&informer, period));
    check_seconds(&informer, &handlers, &ZERO_TWO_THREE).await;
    informer.shutdown().await;
}

/// Upstream: TestListenerResyncPeriodsDelayed.
#[tokio::test(start_paused = true)]
async fn periods_count_from_the_start_however_late_it_is() {
    let server = server_with(&["a"]);
    let informer = informer_with(&server, secs(1));
    let handlers = [None, secs(2), secs(3)].map(|period| add(&informer, period));
    tokio::time::sleep(Duration::from_secs(61)).await;
    check_seconds(&informer, &handlers, &ZERO_TWO_THREE).await;
    informer.shutdown().await;
}

/// The periods of handlers added before and after the start.
async fn check_periods(
    informer: Option<Duration>,
    before: &[HandlerOptions],
    after: &[HandlerOptions],
    expected: &[Option<Duration>],
) {
    let server = ApiServer::start();
    let informer = informer_with(&server, informer);
    let add = |options: &HandlerOptions| {
        informer
            .add_handler_with(options.clone(), |_: Event<ConfigMap>| ())
            .unwrap()
    };
    let mut registrations: Vec<Registration> = before.iter().map(add).collect();
    start(&informer).await;
    registrations.extend(after.iter().map(add));
    let periods: Vec<_> = informer
        .status()
        .handlers
        .iter()
        .map(|handler| handler.resync)
        .collect();
    assert_eq!(periods, expected);
    let registered: Vec<_> = registrations
        .iter()
        .map(|registration| registration.status().resync)
        .collect();
    assert_eq!(registered, expected, "a registration shows the same");
    informer.shutdown().await;
}

fn every(seconds: u64) -> HandlerOptions {
    HandlerOptions::default().resync(secs(seconds))
}

/// Upstream: TestResyncCheckPeriod.
#[tokio::test(start_paused = true)]
async fn handlers_keep_their_own_periods_when_another_requests_a_shorter_one() {
    let never = HandlerOptions::default().resync(None);
    let wishes = [never, every(60), every(3_600), every(10)];
    check_periods(
        secs(43_200),
        &wishes,
        &[],
        &[None, secs(60), secs(3_600), secs(10)],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_a_period_gets_the_informers_default() {
    let plain = HandlerOptions::default;
    check_periods(
        secs(600),
        &[plain(), every(10), plain()],
        &[plain()],
        &[secs(600), secs(10), secs(600), secs(600)],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_cannot_make_the_informer_check_more_often() {
    check_periods(
        secs(60),
        &[every(60)],
        &[every(5), every(600)],
        &[secs(60), secs(60), secs(600)],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_never_resyncs_gives_nobody_resyncs() {
    check_periods(None, &[every(5)], &[every(5)], &[None, None]).await;
}

#[tokio::test(start_paused = true)]
async fn a_resync_delivers_the_current_state_and_is_not_a_change() {
    let server = server_with(&["a"]);
    let informer = informer_with(&server, secs(10));
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    server.update(&item("a", "2")).unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    let events = received.events();
    assert_eq!(received.take(), ["initial a", "update a", "resync a"]);
    let Some(Event::Updated { old, new, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(Arc::ptr_eq(old, new) && Arc::ptr_eq(new, &informer.indexer().list()[0]));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_is_not_resynced() {
    let server = server_with(&["a"]);
    let informer = informer_with(&server, secs(10));
    let (gone, stays) = (Recorder::new(), Recorder::new());
    let registration = gone.add_to(&informer);
    stays.add_to(&informer);
    start(&informer).await;
    registration.remove().await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(gone.take(), ["initial a"]);
    assert_eq!(stays.take(), ["initial a", "resync a"]);
    informer.shutdown().await;
}

/// A process that was suspended for ten periods is ten resyncs late; one of them is enough.
#[tokio::test(start_paused = true)]
async fn a_suspended_process_gets_one_resync_and_not_a_burst() {
    let server = server_with(&["a"]);
    let informer = informer_with(&server, secs(1));
    let received = add(&informer, secs(10));
    start(&informer).await;
    assert_eq!(received.take(), ["initial a"]);
    tokio::time::advance(Duration::from_secs(100)).await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(received.take(), ["resync a"]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(received.take(), ["resync a"], "and the next a period later");
    informer.shutdown().await;
}
