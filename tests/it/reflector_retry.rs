//! Failures of lists and watches: retries, their delays, and `status()` meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::source::WatchFrom;
use informer_core::{InitialState, State};
use tokio::time::Instant;

use super::scripted::{Rig, config, expired, refused, settle, status, timed, too_many};

/// A wait of the backoff: the base, and up to as much again.
fn check_wait(wait: Duration, base: f64) {
    // A tokio timer fires up to a millisecond late, and settling costs one.
    let seconds = wait.as_secs_f64();
    assert!(
        (base - 0.005..2.0 * base + 0.005).contains(&seconds),
        "waited {seconds} s, not {base} to {} s",
        2.0 * base
    );
}

/// Upstream: TestReflectorListAndWatchInitConnBackoff.
#[tokio::test(start_paused = true)]
async fn waits_double_up_to_the_cap_and_never_relist_while_nobody_answers() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut watch = rig.server.watch().await;
    let mut jitter = Vec::new();
    for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
        watch.fail(refused());
        let (wait, next) = timed(rig.server.watch()).await;
        check_wait(wait, base);
        jitter.push(wait.as_secs_f64() / base - 1.0);
        assert_eq!(next.to_string(), "watch after 5");
        watch = next;
    }
    assert!(
        jitter.iter().any(|part| *part > 0.5) && jitter.iter().any(|part| *part < 0.5),
        "the waits are spread at random: {jitter:?}"
    );
}

/// Upstream: TestNewReflectorWithCustomBackoff.
#[tokio::test(start_paused = true)]
async fn the_backoff_can_be_chosen() {
    let mut config = config(InitialState::List);
    config.backoff.initial = Duration::from_millis(100);
    config.backoff.factor = 3.0;
    config.backoff.cap = Duration::from_millis(500);
    config.backoff.jitter = 0.0;
    let mut rig = Rig::with(config, |builder| builder);
    let mut list = rig.server.list().await;
    for millis in [100, 300, 500, 500] {
        list.fail(refused());
        let (wait, next) = timed(rig.server.list()).await;
        assert_eq!(wait, Duration::from_millis(millis));
        list = next;
    }
}

/// Upstream resets by the clock even while everything fails (rule R2); here only health resets.
#[tokio::test(start_paused = true)]
async fn only_a_watch_that_was_well_for_long_enough_resets_the_waits() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut watch = rig.server.watch().await;
    for base in [0.8, 1.6, 3.2] {
        watch.fail(refused());
        let (wait, next) = timed(rig.server.watch()).await;
        check_wait(wait, base);
        watch = next;
    }
    for (lived, base) in [(100, 6.4), (121, 0.8)] {
        let open = watch.open();
        tokio::time::sleep(Duration::from_secs(lived)).await;
        let (wait, next) = {
            open.fail(refused());
            timed(rig.server.watch()).await
        };
        check_wait(wait, base);
        watch = next;
    }
}

/// Upstream: TestBackoffOnTooManyRequests, TestNoRelistOnTooManyRequests.
#[tokio::test(start_paused = true)]
async fn too_many_requests_cost_a_step_each_and_never_a_relist() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut watch = rig.server.watch().await;
    let bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0];
    for (step, base) in bases.into_iter().enumerate() {
        if step % 2 == 0 {
            watch.fail(too_many(None));
        } else {
            watch.open().fail(too_many(None));
        }
        let (wait, next) = timed(rig.server.watch()).await;
        check_wait(wait, base);
        watch = next;
    }
    let mut expected = vec!["list any limit 500"];
    expected.extend(["watch after 5"; 8]);
    assert_eq!(rig.server.requests, expected);
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_at_least_what_the_server_requested() {
    let wanted = Duration::from_secs(17);
    let mut rig = Rig::listing();
    rig.server.list().await.fail(too_many(Some(wanted)));
    let (wait, list) = timed(rig.server.list()).await;
    assert!(wait >= wanted, "{wait:?} after a list");
    list.page("5", &["a@1"]);
    rig.server.watch().await.fail(too_many(Some(wanted)));
    let (wait, watch) = timed(rig.server.watch()).await;
    assert!(wait >= wanted, "{wait:?} after a refused watch");
    watch.open().fail(too_many(Some(wanted)));
    match rig.state().await {
        State::BackingOff { retry_in, .. } => assert!(retry_in >= wanted, "{retry_in:?} in the status"),
        other => panic!("{other}"),
    }
    let (wait, _) = timed(rig.server.watch()).await;
    assert!(
        wait + Duration::from_millis(2) >= wanted,
        "{wait:?} after a watch that broke"
    );
}

/// Upstream: TestRetryInternalError. There it relists unless a retry window is configured; here the watch is
/// resumed, and only a server that keeps failing leads to a relist.
#[tokio::test(start_paused = true)]
async fn internal_errors_resume_the_watch_and_relist_only_if_they_go_on() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    for _ in 0..5 {
        rig.server.watch().await.fail(status(500, "InternalError"));
    }
    assert_eq!(rig.server.list().await.to_string(), "list >=5");
}

/// Upstream: TestRetryInternalError: a success in between restarts the count.
#[tokio::test(start_paused = true)]
async fn an_event_in_between_restarts_the_count_of_failures() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    for version in 6..14 {
        let watch = rig.server.watch().await.open();
        watch.modify(&format!("a@{version}"));
        settle().await;
        watch.fail(status(500, "InternalError"));
    }
    let last = rig.server.watch().await;
    assert_eq!(last.to_string(), "watch after 13");
    assert_eq!(rig.scope().await.counts.lists, 1);
}

/// Upstream: TestCloseWatchChannelOnError.
#[tokio::test(start_paused = true)]
async fn a_watch_that_sent_an_error_is_let_go() {
    let (_rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.send(Err(status(500, "InternalError")));
    settle().await;
    assert!(!watch.is_read());
}

/// Upstream: TestReflectorHandleWatchResultChanClosedBefore, TestReflectorHandleWatchResultChanClosedAfter.
/// There it relists; here the watch is resumed after a wait, and only several such watches in a row lead to a
/// relist.
#[tokio::test(start_paused = true)]
async fn very_short_watches_wait_and_relist_only_in_a_row() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut watch = rig.server.watch().await;
    for base in [0.8, 1.6, 3.2, 6.4] {
        drop(watch.open());
        let (wait, next) = timed(rig.server.watch()).await;
        check_wait(wait, base);
        assert_eq!(next.to_string(), "watch after 5");
        watch = next;
    }
    drop(watch.open());
    assert_eq!(rig.server.list().await.to_string(), "list >=5");
}

#[tokio::test(start_paused = true)]
async fn a_watch_closed_in_good_order_is_resumed_after_the_minimum_without_a_relist() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.modify("a@6");
    tokio::time::sleep(Duration::from_secs(280)).await;
    drop(watch);
    let (wait, watch) = timed(rig.server.watch()).await;
    check_wait(wait, 0.1);
    assert_eq!(watch.to_string(), "watch after 6");
    assert_eq!(rig.scope().await.counts.errors, 0);
}

/// Rule W12: a broken connection does not cause a relist.
#[tokio::test(start_paused = true)]
async fn a_broken_connection_resumes_after_the_last_event() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.modify("a@6");
    settle().await;
    watch.fail(SourceError::Transport("http2: client connection lost".to_owned()));
    assert_eq!(rig.server.watch().await.to_string(), "watch after 6");
}

/// Upstream: TestWatchTimeout.
#[tokio::test(start_paused = true)]
async fn watch_timeouts_are_random_between_the_shortest_and_twice_that() {
    for (shortest, from, to) in [
        (Duration::from_secs(300), 300, 600),
        (Duration::from_secs(1), 300, 600),
        (Duration::from_secs(1_800), 1_800, 3_600),
    ] {
        let mut config = config(InitialState::List);
        config.min_watch_timeout = shortest;
        config.seed = None;
        let mut rig = Rig::with(config, |builder| builder);
        rig.server.list().await.page("5", &[]);
        let mut seen = Vec::new();
        for _ in 0..20 {
            let watch = rig.server.watch().await;
            let timeout = watch.request.timeout;
            assert!(
                (Duration::from_secs(from)..=Duration::from_secs(to)).contains(&timeout),
                "{timeout:?}"
            );
            seen.push(timeout);
            let watch = watch.open();
            tokio::time::sleep(Duration::from_secs(2)).await;
            drop(watch);
        }
        seen.dedup();
        assert!(seen.len() > 10, "they differ: {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_timeout_meant_as_never_is_a_long_watch() {
    for initial in [InitialState::List, InitialState::WatchList] {
        let mut config = config(initial);
        config.min_watch_timeout = Duration::MAX;
        config.watch_margin = Duration::MAX;
        let mut rig = Rig::with(config, |builder| builder);
        let watch = match initial {
            InitialState::WatchList => {
                let watch = rig.server.watch().await.open();
                watch.initial_end("5");
                watch
            }
            _ => {
                rig.server.list().await.page("5", &[]);
                rig.server.watch().await.open()
            }
        };
        rig.server.is_left_alone_for(Duration::from_secs(86_400)).await;
        assert!(matches!(rig.state().await, State::Live), "{initial:?}");
        drop(watch);
    }
}

/// A half-open connection: the server is dead and the connection is not closed.
#[tokio::test(start_paused = true)]
async fn a_watch_silent_past_its_timeout_and_margin_is_stalled_and_replaced() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let call = rig.server.watch().await;
    let timeout = call.request.timeout;
    let opened = Instant::now();
    let silent = call.open();
    silent.bookmark("7");
    rig.server
        .is_left_alone_for(timeout + Duration::from_secs(29))
        .await;
    assert!(matches!(rig.state().await, State::Live));
    let next = rig.server.watch().await;
    let waited = opened.elapsed();
    let expected = timeout + Duration::from_secs(30);
    check_wait(waited - expected, 0.8);
    assert!(matches!(rig.state().await, State::Stalled));
    assert!(!silent.is_read(), "the silent connection is closed");
    assert_eq!(next.to_string(), "watch after 7");
    let watch = next.open();
    assert!(
        matches!(rig.state().await, State::Stalled),
        "nothing has arrived yet"
    );
    watch.bookmark("8");
    assert!(matches!(rig.state().await, State::Live));
}

/// 403 and 404 are separate states, retried slowly, and left as soon as the server accepts (weakness W13).
#[tokio::test(start_paused = true)]
async fn forbidden_and_not_found_are_visible_retried_slowly_and_recovered_from() {
    for (error, forbidden) in [(status(403, "Forbidden"), true), (status(404, "NotFound"), false)] {
        let mut rig = Rig::listing();
        for _ in 0..3 {
            rig.server.list().await.fail(error.clone());
            match rig.state().await {
                State::Forbidden { .. } if forbidden => {}
                State::NotFound { .. } if !forbidden => {}
                other => panic!("{error}: {other}"),
            }
            let outcome = rig.informer.synced_within(Duration::from_secs(1)).await;
            let text = outcome.expect_err("nothing was listed").to_string();
            assert!(text.contains("pods are not in sync"), "{text}");
        }
        let (wait, list) = timed(rig.server.list()).await;
        check_wait(wait + Duration::from_secs(1), 10.0);
        list.page("5", &["a@1"]);
        // The right to watch may be missing too.
        rig.server.watch().await.fail(error.clone());
        assert!(!matches!(
            rig.state().await,
            State::Live | State::BackingOff { .. }
        ));
        let list = rig.server.list().await;
        assert_eq!(list.to_string(), "list >=5");
        list.page("6", &["a@1"]);
        let _watch = rig.server.watch().await.open();
        assert!(matches!(rig.state().await, State::Live));
        let last = rig
            .scope()
            .await
            .last_error
            .expect("the last error stays to be read");
        assert_eq!(last.count, 0, "and says that it is over");
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_handler_receives_every_failure_and_may_panic() {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let received = errors.clone();
    let mut rig = Rig::with(config(InitialState::List), |builder| {
        builder.on_watch_error(move |scope, error| {
            received.lock().unwrap().push(format!("{scope}: {error}"));
            panic!("a handler's own fault");
        })
    });
    rig.server.list().await.fail(status(500, "InternalError"));
    rig.server.list().await.page("5", &[]);
    rig.server.watch().await.fail(refused());
    rig.server.watch().await.open().fail(expired());
    rig.server.list().await.page("6", &[]);
    assert_eq!(
        *errors.lock().unwrap(),
        [
            "all namespaces: the server answered 500 InternalError",
            "all namespaces: cannot connect to the server: connection refused",
            "all namespaces: the server answered 410 Expired",
        ]
    );
}

/// A custom source may panic; that costs a delay, not the informer.
#[tokio::test(start_paused = true)]
async fn a_panicking_source_is_reported_and_retried() {
    let mut rig = Rig::listing();
    rig.server.list().await.panic();
    match rig.state().await {
        State::BackingOff { error, .. } => {
            assert!(error.to_string().contains("the source panicked"), "{error}")
        }
        other => panic!("{other}"),
    }
    let (wait, list) = timed(rig.server.list()).await;
    check_wait(wait + Duration::from_millis(1), 0.8);
    list.page("5", &["a@1"]);
    let watch = rig.server.watch().await;
    assert_eq!(watch.request.from, WatchFrom::After("5".into()));
    watch.panic();
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=5");
    list.page("6", &["a@1"]);
    let watch = rig.server.watch().await.open();
    watch.modify("a@7");
    assert_eq!(rig.received().await, ["add(initial) a@1", "update a@1->7"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_cannot_send_an_informer_away_for_a_day() {
    let mut rig = Rig::listing();
    let day = Duration::from_secs(24 * 3_600);
    rig.server.list().await.fail(too_many(Some(day)));
    match rig.state().await {
        State::BackingOff { retry_in, .. } => assert_eq!(retry_in, Duration::from_secs(600)),
        other => panic!("{other}"),
    }
}
