//! Reading the state through a watch that sends it first: its end, its failures, and when LIST takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::source::{BookmarkMark, ObjectChange, ServerStatus, WatchEvent, WatchFrom, WatchListFrom};
use informer_core::{InitialState, Offload, State, WatchListVerdict};

use super::scripted::{Rig, config, expired, refused, settle, status, timed, too_many, undecodable};

/// Upstream: TestReflectorListAndWatch (watch-list mode), TestWatchList (synced at the bookmark),
/// TestWatchListSemanticsSimple.
#[tokio::test(start_paused = true)]
async fn one_watch_brings_the_state_and_goes_on_with_the_changes() {
    let mut rig = Rig::watch_listing();
    let call = rig.server.watch().await;
    assert_eq!(
        call.request.from,
        WatchFrom::InitialEvents(WatchListFrom::MostRecent)
    );
    let timeout = call.request.timeout;
    assert!((300..=600).contains(&timeout.as_secs()), "{timeout:?}");
    let watch = call.open();
    watch.add("a@1");
    watch.add("b@2");
    assert!(
        rig.received().await.is_empty(),
        "nothing is visible before the bookmark"
    );
    assert!(!rig.informer.has_synced());
    watch.initial_end("5");
    assert_eq!(rig.received().await, ["add(initial) a@1", "add(initial) b@2"]);
    assert!(rig.informer.has_synced());
    assert_eq!(rig.version().await, "5");
    watch.modify("a@6");
    assert_eq!(rig.received().await, ["update a@1->6"]);
    assert_eq!(rig.server.requests, ["watch-list newest"]);
    assert_eq!(rig.scope().await.watch_list, WatchListVerdict::Works);
}

/// Upstream: TestWatchListResourceVersion, rule R6, I11.
#[tokio::test(start_paused = true)]
async fn only_the_bookmark_gives_the_state_its_version() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@90");
    watch.bookmark("50");
    assert_eq!(rig.scope().await.version, None);
    assert_eq!(rig.version().await, "none");
    drop(watch);
    let watch = rig.server.watch().await;
    assert_eq!(
        watch.to_string(),
        "watch-list newest",
        "nothing was learnt from an unfinished state"
    );
    let watch = watch.open();
    watch.add("a@90");
    watch.initial_end("100");
    assert_eq!(rig.version().await, "100");
}

/// Upstream: TestWatchList (modify and delete before the bookmark).
#[tokio::test(start_paused = true)]
async fn changes_before_the_bookmark_are_part_of_the_state() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.add("b@2");
    watch.add("c@3");
    watch.modify("a@4");
    watch.delete("b@5");
    watch.initial_end("5");
    assert_eq!(rig.received().await, ["add(initial) a@4", "add(initial) c@3"]);
    assert_eq!(rig.store().await, ["a@4", "c@3"]);
}

/// Upstream: TestWatchList (annotation value "false").
#[tokio::test(start_paused = true)]
async fn an_ordinary_bookmark_is_not_the_end() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.bookmark("5");
    assert!(rig.received().await.is_empty());
    assert!(!rig.informer.has_synced());
}

/// Upstream: TestWatchList (stream stopped after sync).
#[tokio::test(start_paused = true)]
async fn after_the_state_the_watch_resumes_as_a_plain_one() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.initial_end("5");
    tokio::time::sleep(Duration::from_secs(60)).await;
    watch.modify("a@7");
    settle().await;
    drop(watch);
    assert_eq!(rig.server.watch().await.to_string(), "watch after 7");
}

/// Upstream: TestWatchList (expired plain watch).
#[tokio::test(start_paused = true)]
async fn an_expired_watch_leads_to_a_watch_list_not_older_than_was_seen() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.initial_end("5");
    watch.fail(expired());
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch-list >=5");
    let watch = watch.open();
    watch.add("b@7");
    watch.initial_end("9");
    assert_eq!(
        rig.received().await,
        ["add(initial) a@1", "delete(missed) a@1", "add b@7"]
    );
}

/// I4: the objects of an aborted stream are dropped, whatever happened to them meanwhile.
#[tokio::test(start_paused = true)]
async fn a_stream_cut_before_the_bookmark_leaves_no_ghost() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("ghost@1");
    settle().await;
    watch.fail(SourceError::Transport("reset".to_owned()));
    // Streaming may be the cause, so the state is read by LIST this time.
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list any limit 500");
    list.page("5", &["a@2"]);
    assert_eq!(rig.received().await, ["add(initial) a@2"]);
    assert_eq!(rig.store().await, ["a@2"]);
    // The next relist tries streaming again.
    rig.server.watch().await.fail(expired());
    assert_eq!(rig.server.watch().await.to_string(), "watch-list >=5");
}

/// Upstream: TestWatchList (stream stopped before sync); it restarts at once, for ever; here it backs off and
/// counts.
#[tokio::test(start_paused = true)]
async fn a_stream_closed_twice_without_its_bookmark_leads_to_lists_for_good() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    settle().await;
    let (wait, watch) = {
        drop(watch);
        timed(rig.server.watch()).await
    };
    assert!(wait >= Duration::from_millis(799), "{wait:?}");
    assert_eq!(watch.to_string(), "watch-list newest");
    drop(watch.open());
    rig.server.list().await.page("5", &["b@2"]);
    assert_eq!(rig.received().await, ["add(initial) b@2"]);
    rig.server.watch().await.fail(expired());
    assert_eq!(
        rig.server.list().await.to_string(),
        "list >=5",
        "the verdict is remembered"
    );
}

/// Weakness W1: upstream waits for ever here.
#[tokio::test(start_paused = true)]
async fn a_silent_stream_without_its_bookmark_leads_to_lists_for_good() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    // Each frame gives the server another thirty seconds: a large state may take minutes.
    for name in ["a@1", "b@2", "c@3"] {
        watch.add(name);
        rig.server.is_left_alone_for(Duration::from_secs(29)).await;
    }
    let (wait, list) = timed(rig.server.list()).await;
    assert!(
        wait <= Duration::from_millis(1_010),
        "{wait:?} of the last thirty seconds"
    );
    assert!(!watch.is_read());
    list.page("5", &["a@1"]);
    match rig.scope().await.watch_list {
        WatchListVerdict::Refused(reason) => assert!(reason.contains("initial events"), "{reason}"),
        other => panic!("{other:?}"),
    }
    rig.server.watch().await.fail(expired());
    assert_eq!(
        rig.server.list().await.to_string(),
        "list >=5",
        "the verdict is remembered"
    );
}

/// Upstream: TestWatchList (Invalid falls back to list). There it is tried again every time.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_watch_lists_is_listed_at_once_and_for_good() {
    for error in [
        status(422, "Invalid"),
        status(400, "BadRequest"),
        status(405, "MethodNotAllowed"),
        status(406, "NotAcceptable"),
        status(501, ""),
    ] {
        let mut rig = Rig::watch_listing();
        rig.server.watch().await.fail(error.clone());
        let (wait, list) = timed(rig.server.list()).await;
        assert_eq!(wait, Duration::ZERO, "{error}");
        list.page("5", &["a@1"]);
        rig.server.watch().await.fail(expired());
        assert_eq!(rig.server.list().await.to_string(), "list >=5", "{error}");
        assert!(
            matches!(rig.scope().await.watch_list, WatchListVerdict::Refused(_)),
            "{error}"
        );
    }
}

/// Upstream: TestWatchList (any error falls back to list), for errors that say nothing about watch-lists.
#[tokio::test(start_paused = true)]
async fn a_passing_error_leads_to_one_list_and_no_verdict() {
    for error in [
        status(500, "InternalError"),
        status(503, "ServiceUnavailable"),
        status(401, "Unauthorized"),
        status(408, ""),
        SourceError::Protocol("nonsense".to_owned()),
    ] {
        let mut rig = Rig::watch_listing();
        rig.server.watch().await.fail(error.clone());
        let (wait, list) = timed(rig.server.list()).await;
        assert!(wait >= Duration::from_millis(800), "{error}: {wait:?}");
        list.page("5", &["a@1"]);
        rig.server.watch().await.fail(expired());
        assert_eq!(rig.server.watch().await.to_string(), "watch-list >=5", "{error}");
    }
}

/// Upstream: TestWatchList (429 retried with identical options).
#[tokio::test(start_paused = true)]
async fn too_many_requests_and_refused_connections_are_retried_as_they_were() {
    let mut rig = Rig::watch_listing();
    let wanted = Duration::from_secs(9);
    let call = rig.server.watch().await;
    let first = call.request.from.clone();
    call.fail(too_many(Some(wanted)));
    let (wait, call) = timed(rig.server.watch()).await;
    assert!(wait >= wanted, "{wait:?}");
    assert_eq!(call.request.from, first);
    call.open().fail(too_many(None));
    let call = rig.server.watch().await;
    assert_eq!(call.request.from, first);
    call.fail(refused());
    assert_eq!(rig.server.watch().await.request.from, first);
}

/// Rule R7: 410 and a version that is too large.
#[tokio::test(start_paused = true)]
async fn an_expired_watch_list_is_followed_at_once_by_one_of_the_newest_state() {
    let mut rig = Rig::watch_listing();
    rig.server.watch().await.open().initial_end("5");
    rig.server.watch().await.fail(expired());
    let call = rig.server.watch().await;
    assert_eq!(call.to_string(), "watch-list >=5");
    call.open().fail(expired());
    let (wait, call) = timed(rig.server.watch()).await;
    assert_eq!(wait, Duration::ZERO);
    assert_eq!(call.to_string(), "watch-list newest");
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_watch_list_is_a_visible_state_and_no_verdict() {
    let mut rig = Rig::watch_listing();
    rig.server.watch().await.fail(status(403, "Forbidden"));
    assert!(matches!(rig.state().await, State::Forbidden { .. }));
    assert_eq!(rig.server.watch().await.to_string(), "watch-list newest");
}

#[tokio::test(start_paused = true)]
async fn an_older_watch_list_is_refused_and_a_rewind_followed() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@40");
    watch.initial_end("50");
    watch.fail(expired());
    let watch = rig.server.watch().await.open();
    watch.add("a@20");
    watch.initial_end("30");
    assert_eq!(rig.store().await, ["a@40"]);
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch-list newest");
    let watch = watch.open();
    watch.add("a@20");
    watch.initial_end("30");
    assert_eq!(rig.store().await, ["a@20"]);
    assert_eq!(rig.scope().await.counts.rewinds, 1);
}

#[tokio::test(start_paused = true)]
async fn an_end_bookmark_without_a_version_is_no_end() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.send(Ok(WatchEvent::Bookmark {
        version: None,
        mark: BookmarkMark::InitialEventsEnd,
    }));
    assert!(matches!(rig.state().await, State::BackingOff { .. }));
    assert_eq!(rig.server.list().await.to_string(), "list any limit 500");
}

/// I16 in the initial stream: known keys count as present, and an unreadable deletion invalidates the state.
#[tokio::test(start_paused = true)]
async fn undecodable_initial_events_do_not_stop_the_stream() {
    let upserted = |object| WatchEvent::Undecodable {
        change: ObjectChange::Upserted,
        object,
    };
    let deleted = |object| WatchEvent::Undecodable {
        change: ObjectChange::Deleted,
        object,
    };
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.add("b@2");
    watch.send(Ok(upserted(undecodable(Some("c@3")))));
    watch.send(Ok(deleted(undecodable(Some("b@4")))));
    watch.initial_end("5");
    assert_eq!(rig.received().await, ["add(initial) a@1"]);
    assert_eq!(rig.informer.status().stale.len(), 1);
    watch.fail(expired());
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.send(Ok(deleted(undecodable(None))));
    watch.initial_end("9");
    assert_eq!(rig.server.list().await.to_string(), "list >=5");
}

/// Upstream: TestReflectorRespectStoreTransformer, where three objects cost five calls.
#[tokio::test(start_paused = true)]
async fn a_transform_runs_once_per_object_also_in_the_initial_stream() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut rig = Rig::with(config(InitialState::WatchList), |builder| {
        builder.transform(move |pod| {
            counted.fetch_add(1, Ordering::Relaxed);
            pod.metadata.labels = Some([("seen".to_owned(), "once".to_owned())].into());
        })
    });
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    watch.add("b@2");
    watch.initial_end("5");
    watch.add("c@6");
    assert_eq!(
        rig.store().await,
        ["a@1{seen=once}", "b@2{seen=once}", "c@6{seen=once}"]
    );
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(rig.received().await.len(), 3);
}

/// kubernetes#140890: events that add no initial object are not progress.
#[tokio::test(start_paused = true)]
async fn updates_do_not_keep_an_initial_stream_without_its_end_open() {
    updates_are_no_progress(Rig::watch_listing()).await;
}

/// Found by the simulation: while a transform runs on another thread, every update counted as progress.
#[tokio::test(start_paused = true)]
async fn updates_are_no_progress_with_an_offloaded_transform() {
    let rig = Rig::with(config(InitialState::WatchList), |builder| {
        builder.transform(|_| ()).offload(Offload::BlockingPool)
    });
    updates_are_no_progress(rig).await;
}

async fn updates_are_no_progress(mut rig: Rig) {
    let watch = rig.server.watch().await.open();
    watch.add("a@1");
    let mut version = 1;
    let waited = loop {
        version += 1;
        match version % 4 {
            0 => watch.modify(&format!("a@{version}")),
            1 => watch.bookmark(&version.to_string()),
            2 => watch.delete(&format!("a@{version}")),
            _ => watch.add(&format!("a@{version}")),
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        if let Some(call) = rig.server.waiting() {
            break call.to_string();
        }
        assert!(version < 10, "still waiting after {} s", 5 * version);
    };
    assert_eq!(waited, "list any limit 500");
    assert!(!watch.is_read());
}

/// New objects are progress, but the phase ends with the watch timeout at the latest.
#[tokio::test(start_paused = true)]
async fn an_initial_stream_of_ever_new_objects_ends_with_the_watch() {
    let mut rig = Rig::watch_listing();
    let call = rig.server.watch().await;
    let limit = call.request.timeout + Duration::from_secs(30);
    let watch = call.open();
    let begun = tokio::time::Instant::now();
    for number in 1.. {
        watch.add(&format!("pod-{number}@{number}"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        if let Some(call) = rig.server.waiting() {
            assert_eq!(call.to_string(), "list any limit 500");
            break;
        }
        assert!(
            begun.elapsed() < limit + Duration::from_secs(30),
            "open for {:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_initial_stream_may_take_minutes() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    for number in 1..=1_000 {
        watch.add(&format!("pod-{number}@{number}"));
        if number % 100 == 0 {
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
    }
    watch.initial_end("1000");
    assert_eq!(rig.received().await.len(), 1_000);
    assert_eq!(rig.scope().await.watch_list, WatchListVerdict::Works);
}

/// A rollout of API servers closes streams; that says nothing about a server that has completed one.
#[tokio::test(start_paused = true)]
async fn unfinished_streams_are_no_verdict_where_one_was_completed() {
    let mut rig = Rig::watch_listing();
    let watch = rig.server.watch().await.open();
    watch.initial_end("5");
    settle().await;
    watch.fail(expired());
    drop(rig.server.watch().await.open());
    drop(rig.server.watch().await.open());
    // LIST is used this time, so that a server that cannot complete a stream does not block sync.
    rig.server.list().await.page("9", &["a@8"]);
    assert_eq!(rig.scope().await.watch_list, WatchListVerdict::Works);
    rig.server.watch().await.fail(expired());
    assert_eq!(rig.server.watch().await.to_string(), "watch-list >=9");
}

/// Servers are upgraded and features switched on: no verdict is permanent.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_streams_expires() {
    let mut rig = Rig::watch_listing();
    rig.server.watch().await.fail(streaming_refused());
    rig.server.list().await.page("5", &["a@1"]);
    for (minutes, expected) in [(25, "list >=5"), (6, "watch-list >=5")] {
        let mut left = minutes * 60;
        while left > 0 {
            let watch = rig.server.watch().await.open();
            tokio::time::sleep(Duration::from_secs(150.min(left))).await;
            left -= 150.min(left);
            if left == 0 {
                watch.fail(expired());
            }
        }
        let call = rig.server.next_or_none().await.expect("the state is read again");
        assert_eq!(call.to_string().trim_end_matches(" limit 500"), expected);
        if let super::scripted::Call::List(list) = call {
            list.page("5", &["a@1"]);
        }
    }
}

/// What a kube-apiserver answers that knows the parameter and has the feature switched off.
fn streaming_refused() -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code: 422,
            reason: "Invalid".to_owned(),
            message:
                "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is \
                      forbidden for watch unless the WatchList feature gate is enabled"
                    .to_owned(),
            ..ServerStatus::default()
        },
    }
}

/// A refusal of something else in the request, such as a selector, does not refuse streaming.
#[tokio::test(start_paused = true)]
async fn a_bad_selector_is_no_refusal_of_streams() {
    for code in [400, 422] {
        let error = SourceError::Status {
            status: ServerStatus {
                code,
                reason: "BadRequest".to_owned(),
                message: "field label not supported: spec.nodename".to_owned(),
                ..ServerStatus::default()
            },
        };
        let mut rig = Rig::watch_listing();
        for _ in 0..3 {
            let watch = rig.server.watch().await;
            assert_eq!(watch.to_string(), "watch-list newest");
            watch.fail(error.clone());
            rig.server.list().await.fail(error.clone());
            let scope = rig.scope().await;
            assert_eq!(scope.watch_list, WatchListVerdict::Unknown);
            assert!(matches!(scope.state, State::BackingOff { .. }), "{}", scope.state);
        }
        let watch = rig.server.watch().await.open();
        watch.initial_end("5");
        assert_eq!(rig.scope().await.watch_list, WatchListVerdict::Works);
    }
}

/// A recovered server that refuses a version it once returned must not be sent that version for ever.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_refused_again_and_again_is_given_up() {
    for initial in [InitialState::WatchList, InitialState::List] {
        for code in [400, 414, 422, 431] {
            let mut rig = Rig::with(config(initial), |builder| builder);
            let nonsense = "99999999999999999999999";
            let watch = match initial {
                InitialState::WatchList => {
                    let watch = rig.server.watch().await.open();
                    watch.add("a@1");
                    watch.initial_end(nonsense);
                    settle().await;
                    watch
                }
                _ => {
                    rig.server.list().await.page(nonsense, &["a@1"]);
                    rig.server.watch().await.open()
                }
            };
            tokio::time::sleep(Duration::from_secs(2)).await;
            drop(watch);
            let mut refused = 0;
            let read = loop {
                let call = rig.server.next_or_none().await.expect("it goes on asking");
                let text = call.to_string();
                match call {
                    _ if text.contains("newest") => break call,
                    super::scripted::Call::Watch(call) => call.fail(status(code, "")),
                    super::scripted::Call::List(call) => call.fail(status(code, "")),
                }
                refused += 1;
                assert!(refused < 12, "{initial:?}, {code}: {text} for ever");
            };
            match read {
                super::scripted::Call::Watch(call) => {
                    let watch = call.open();
                    watch.add("b@8");
                    watch.initial_end("9");
                    assert_eq!(rig.store().await, ["b@8"], "{initial:?}, {code}");
                }
                super::scripted::Call::List(call) => {
                    call.page("9", &["b@8"]);
                    assert_eq!(rig.store().await, ["b@8"], "{initial:?}, {code}");
                }
            }
            let verdict = rig.scope().await.watch_list;
            assert!(
                !matches!(verdict, WatchListVerdict::Refused(_)),
                "{initial:?}, {code}: {verdict:?}"
            );
        }
    }
}
