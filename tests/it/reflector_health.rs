//! Which watches count as healthy: what resets the backoff, what is a failure, and the state meanwhile.

use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::{InitialState, State};
use tokio::time::Instant;

use super::scripted::{Rig, config, expired, refused, settle, timed};

/// The longest pause before a watch that follows a healthy one: the minimum, its jitter, and the clock's
/// grain.
const SHORT_GAP: Duration = Duration::from_millis(205);

fn reset() -> SourceError {
    SourceError::Transport("connection reset by peer".to_owned())
}

/// Behind a proxy that cuts every connection after a minute the cache must not be blind for another minute.
#[tokio::test(start_paused = true)]
async fn watches_that_brought_data_and_were_cut_leave_only_the_minimum_gap() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut call = rig.server.watch().await;
    let mut version = 5;
    for round in 0..12 {
        let watch = call.open();
        for _ in 0..11 {
            version += 1;
            match version % 3 {
                0 => watch.bookmark(&version.to_string()),
                _ => watch.modify(&format!("a@{version}")),
            }
            tokio::time::sleep(Duration::from_millis(5_400)).await;
        }
        // A reset and a close in good order are the same here.
        match round % 2 {
            0 => watch.fail(reset()),
            _ => drop(watch),
        }
        let (gap, next) = timed(rig.server.watch()).await;
        assert!(gap <= SHORT_GAP, "a gap of {gap:?} after watch {round}");
        assert_eq!(next.to_string(), format!("watch after {version}"));
        call = next;
    }
    let counts = rig.scope().await.counts;
    assert_eq!((counts.lists, counts.errors), (1, 0));
}

/// One bookmark is progress as well: most kinds change rarely.
#[tokio::test(start_paused = true)]
async fn a_bookmark_alone_makes_a_watch_healthy() {
    let (mut rig, mut watch) = Rig::synced("5", &["a@1"]).await;
    for version in 6..12 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        watch.bookmark(&version.to_string());
        tokio::time::sleep(Duration::from_secs(5)).await;
        watch.fail(reset());
        let (gap, next) = timed(rig.server.watch()).await;
        assert!(gap <= SHORT_GAP, "{gap:?}");
        watch = next.open();
    }
}

/// Progress must not become a hot loop (I12): a server that sends one event and closes, for ever.
#[tokio::test(start_paused = true)]
async fn watches_that_end_after_one_event_are_requested_at_a_bounded_rate() {
    for (lived, most) in [(0, 40), (1_100, 600)] {
        for broken in [true, false] {
            let (mut rig, mut watch) = Rig::synced("5", &["a@1"]).await;
            let begun = Instant::now();
            let (mut requests, mut version) = (0, 5);
            while begun.elapsed() < Duration::from_secs(600) {
                version += 1;
                watch.modify(&format!("a@{version}"));
                settle().await;
                tokio::time::sleep(Duration::from_millis(lived)).await;
                match broken {
                    true => watch.fail(reset()),
                    false => drop(watch),
                }
                watch = rig.server.watch().await.open();
                requests += 1;
            }
            assert!(
                requests <= most,
                "{requests} requests in ten minutes, {lived} ms each, broken: {broken}"
            );
            assert_eq!(rig.store().await, [format!("a@{version}")]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_brought_nothing_and_breaks_waits_longer_each_time() {
    let (mut rig, mut watch) = Rig::synced("5", &["a@1"]).await;
    let mut last = Duration::ZERO;
    for base in [0.8, 1.6, 3.2, 6.4] {
        tokio::time::sleep(Duration::from_secs(60)).await;
        watch.fail(reset());
        let (wait, next) = timed(rig.server.watch()).await;
        assert!(wait.as_secs_f64() >= base - 0.01, "{wait:?} against {base}");
        assert!(wait > last, "{wait:?} after {last:?}");
        last = wait;
        watch = next.open();
    }
}

/// A watch with data that ends with a full relist must not reset the backoff: lists are expensive.
#[tokio::test(start_paused = true)]
async fn watches_that_end_in_relists_wait_longer_each_time_although_they_brought_data() {
    let (mut rig, mut watch) = Rig::synced("5", &["a@1"]).await;
    for (round, base) in [0.8, 1.6, 3.2, 6.4].into_iter().enumerate() {
        let version = 6 + round;
        watch.modify(&format!("a@{version}"));
        tokio::time::sleep(Duration::from_secs(2)).await;
        watch.fail(expired());
        let (wait, list) = timed(rig.server.list()).await;
        assert!(wait.as_secs_f64() >= base - 0.01, "{wait:?} against {base}");
        list.page(&version.to_string(), &[&format!("a@{version}")]);
        watch = rig.server.watch().await.open();
    }
}

/// The server accepts each watch, sends nothing and never closes.
#[tokio::test(start_paused = true)]
async fn black_holed_watches_are_failures_and_lead_to_a_relist() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    let mut call = rig.server.watch().await;
    let contact = rig.scope().await.last_contact.expect("the list was contact");
    for failures in 1..=4 {
        let held = call.open();
        let state = rig.state().await;
        match failures {
            1 => assert!(matches!(state, State::Live), "{state}"),
            _ => assert!(
                matches!(state, State::Stalled),
                "{state}: an open stream is no data"
            ),
        }
        tokio::time::sleep(call_length()).await;
        call = rig.server.watch().await;
        assert!(!held.is_read(), "the silent watch is closed");
        let scope = rig.scope().await;
        assert!(matches!(scope.state, State::Stalled), "{}", scope.state);
        assert_eq!(scope.counts.errors, failures);
        let last = scope.last_error.expect("it is an error");
        assert_eq!(last.count, failures);
        assert!(
            matches!(last.error, SourceError::Deadline { .. }),
            "{}",
            last.error
        );
        assert_eq!(scope.last_contact, Some(contact), "nothing came since the list");
    }
    let _held = call.open();
    tokio::time::sleep(call_length()).await;
    assert_eq!(rig.server.list().await.to_string(), "list >=5");
}

/// The longest time after which a silent watch is given up: the longest timeout, the margin, and some of the
/// backoff.
fn call_length() -> Duration {
    Duration::from_secs(640)
}

#[tokio::test(start_paused = true)]
async fn after_a_stall_only_data_or_an_orderly_end_make_the_state_live() {
    for closes in [false, true] {
        let (mut rig, silent) = Rig::synced("5", &["a@1"]).await;
        tokio::time::sleep(call_length()).await;
        let watch = rig.server.watch().await.open();
        drop(silent);
        assert!(matches!(rig.state().await, State::Stalled));
        tokio::time::sleep(Duration::from_secs(200)).await;
        assert!(matches!(rig.state().await, State::Stalled));
        if closes {
            drop(watch);
            let _watch = rig.server.watch().await.open();
            assert!(
                matches!(rig.state().await, State::Live),
                "it closed in good order"
            );
        } else {
            watch.bookmark("6");
            let scope = rig.scope().await;
            assert!(matches!(scope.state, State::Live), "{}", scope.state);
            assert_eq!(scope.last_error.unwrap().count, 0, "the row of errors is over");
        }
    }
}

/// A stall followed by a refused connection is still a stall until something arrives.
#[tokio::test(start_paused = true)]
async fn a_failure_to_connect_does_not_hide_that_nothing_has_arrived() {
    let (mut rig, _silent) = Rig::synced("5", &["a@1"]).await;
    tokio::time::sleep(call_length()).await;
    rig.server.watch().await.fail(refused());
    assert!(matches!(rig.state().await, State::BackingOff { .. }));
    let watch = rig.server.watch().await.open();
    assert!(matches!(rig.state().await, State::Stalled));
    watch.modify("a@6");
    assert!(matches!(rig.state().await, State::Live));
}

/// No bookmarks and no events, and every watch is closed when it should be: nothing is wrong.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_but_closes_in_time_is_live() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    for watch in 0..8 {
        // Two watches without data: checks whether the server is still at the watched version.
        if watch > 0 && watch % 2 == 0 {
            let probe = rig.server.list().await;
            assert_eq!(probe.request.limit, Some(1));
            probe.page("5", &["a@1"]);
        }
        let call = rig.server.watch().await;
        let timeout = call.request.timeout;
        let watch = call.open();
        assert!(matches!(rig.state().await, State::Live));
        tokio::time::sleep(timeout - Duration::from_secs(1)).await;
        assert!(matches!(rig.state().await, State::Live));
        drop(watch);
    }
    let scope = rig.scope().await;
    assert_eq!((scope.counts.lists, scope.counts.errors), (1, 0));
}

/// A half-open connection is noticed by missing bookmarks.
#[tokio::test(start_paused = true)]
async fn a_stream_that_misses_three_bookmarks_is_replaced() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    for version in 6..9 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        watch.bookmark(&version.to_string());
    }
    settle().await;
    let (silence, next) = timed(rig.server.watch()).await;
    assert!(
        (Duration::from_secs(179)..Duration::from_secs(184)).contains(&silence),
        "replaced after {silence:?}"
    );
    assert!(!watch.is_read());
    assert_eq!(next.to_string(), "watch after 8");
    let scope = rig.scope().await;
    assert!(matches!(scope.state, State::Stalled), "{}", scope.state);
    assert_eq!(scope.counts.errors, 1);
}

/// The rhythm is the stream's own: rarer bookmarks give more time, quick ones do not give less than three
/// minutes.
#[tokio::test(start_paused = true)]
async fn the_rhythm_of_bookmarks_is_learnt_from_the_stream() {
    for (gap, bookmarks, least, most) in [
        (Duration::from_secs(1), 5, 180, 185),
        (Duration::from_secs(80), 2, 240, 246),
        // One bookmark is no rhythm: only the timeout counts.
        (Duration::from_secs(1), 1, 300, 640),
    ] {
        let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
        for version in 0..bookmarks {
            watch.bookmark(&(6 + version).to_string());
            settle().await;
            if version + 1 < bookmarks {
                tokio::time::sleep(gap).await;
            }
        }
        let begun = Instant::now();
        while rig.server.waiting().is_none() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let silence = begun.elapsed().as_secs();
        assert!(
            (least..=most).contains(&silence),
            "{bookmarks} bookmarks every {gap:?}: replaced after {silence} s"
        );
    }
}

/// Events count as signs of life, as bookmarks do.
#[tokio::test(start_paused = true)]
async fn events_between_bookmarks_keep_a_stream() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.bookmark("6");
    watch.bookmark("7");
    settle().await;
    watch.modify("a@8");
    rig.server.is_left_alone_for(Duration::from_secs(170)).await;
    watch.modify("a@9");
    rig.server.is_left_alone_for(Duration::from_secs(120)).await;
    assert!(matches!(rig.state().await, State::Live));
}

/// A server that ignores `timeoutSeconds` and goes on sending is replaced in time, and was healthy all the
/// while.
#[tokio::test(start_paused = true)]
async fn a_watch_that_outlives_its_timeout_with_events_was_healthy() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("5", &["a@1"]);
    // The waits have grown.
    for _ in 0..3 {
        rig.server.watch().await.fail(refused());
    }
    let watch = rig.server.watch().await.open();
    let mut version = 5;
    let next = loop {
        version += 1;
        watch.modify(&format!("a@{version}"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        if let Some(next) = rig.server.waiting() {
            break next;
        }
        assert!(version < 60, "never replaced");
    };
    assert_eq!(rig.scope().await.counts.errors, 3, "no new error");
    assert!(!matches!(rig.state().await, State::Stalled));
    let super::scripted::Call::Watch(call) = next else {
        panic!("{next}")
    };
    call.fail(refused());
    let (wait, _) = timed(rig.server.watch()).await;
    assert!(
        wait < Duration::from_millis(1_650),
        "{wait:?}: the waits begin anew"
    );
}

/// Upstream has no such setting; here no value of it may cause a hot loop.
#[tokio::test(start_paused = true)]
async fn waits_of_nothing_have_a_floor() {
    let mut config = config(InitialState::List);
    config.refused_delay = Duration::ZERO;
    config.backoff.initial = Duration::ZERO;
    config.backoff.cap = Duration::ZERO;
    config.backoff.jitter = 0.0;
    for error in [super::scripted::status(403, "Forbidden"), refused()] {
        let mut rig = Rig::with(config.clone(), |builder| builder);
        let begun = Instant::now();
        let mut requests = 0;
        while begun.elapsed() < Duration::from_secs(10) {
            rig.server.list().await.fail(error.clone());
            requests += 1;
            assert!(requests <= 101, "{requests} requests in ten seconds: {error}");
        }
    }
}
