//! Lists in pages: when pages are requested, and what happens when one fails.

use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::source::{ListEvent, ListFrom, ListMetadata, ListRequest, ServerStatus};
use informer_core::{InitialState, State};
use informer_testing::{ApiServer, Fault, Rule, WatchCache};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use super::scripted::{Rig, config, expired, metadata, pod, settle, status, timed};
use super::support::{item, keys, server_with, start};

use crate::support::builder_of;

fn paging(size: u32) -> Rig {
    Rig::with(config(InitialState::List), |builder| builder.page_size(size))
}

/// Upstream: TestReflectorWatchListPageSize.
#[tokio::test(start_paused = true)]
async fn an_explicit_page_size_is_always_used_and_pages_are_joined() {
    let mut rig = paging(4);
    let first = rig.server.list().await;
    assert_eq!(first.to_string(), "list any limit 4");
    first.page_before("10", "C1", &["a@1", "b@2", "c@3", "d@4"]);
    let second = rig.server.list().await;
    let expected = ListRequest {
        from: ListFrom::AnyCached,
        limit: Some(4),
        continue_token: Some("C1".to_owned()),
        answer_within: None,
    };
    assert_eq!(second.request, expected);
    second.page_before("10", "C2", &["e@5", "f@6", "g@7", "h@8"]);
    let third = rig.server.list().await;
    assert_eq!(third.to_string(), "list any limit 4 continue C2");
    assert!(
        rig.store().await.is_empty(),
        "nothing is visible before the last page"
    );
    third.page("10", &["i@9", "j@10"]);
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch after 10");
    assert_eq!(rig.received().await.len(), 10);

    // Also where a version is requested.
    watch.open().fail(expired());
    assert_eq!(rig.server.list().await.to_string(), "list >=10 limit 4");
}

/// Only pages that bring nothing are slowed down.
#[tokio::test(start_paused = true)]
async fn pages_with_new_objects_are_requested_without_a_pause() {
    let mut rig = paging(1);
    let begun = Instant::now();
    rig.server.list().await.page_before("10", "C1", &["a@1"]);
    rig.server.list().await.page_before("10", "C2", &["b@2"]);
    rig.server.list().await.page("10", &["c@3"]);
    rig.server.watch().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// Upstream: TestReflectorNotPaginatingNotConsistentReads.
#[tokio::test(start_paused = true)]
async fn a_list_not_older_than_a_version_is_not_paged() {
    let (mut rig, watch) = Rig::synced("10", &["a@1"]).await;
    watch.fail(expired());
    let list = rig.server.list().await;
    let expected = ListRequest {
        from: ListFrom::NotOlderThan("10".into()),
        limit: None,
        continue_token: None,
        answer_within: None,
    };
    assert_eq!(list.request, expected);
    list.page("10", &["a@1", "b@9"]);
    assert_eq!(rig.store().await, ["a@1", "b@9"]);
}

/// Upstream: TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled.
#[tokio::test(start_paused = true)]
async fn a_server_that_pages_its_cached_state_is_always_read_in_pages() {
    let mut rig = Rig::listing();
    rig.server.list().await.page_before("10", "C1", &["a@1"]);
    rig.server.list().await.page("10", &["b@2"]);
    rig.server.watch().await.fail(expired());
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=10 limit 500");
    list.page("11", &["a@1"]);
    rig.server.watch().await.fail(expired());
    assert_eq!(rig.server.list().await.to_string(), "list >=11 limit 500");
}

/// Upstream: TestReflectorFullListIfExpired, TestListPager_List (an expired page).
#[tokio::test(start_paused = true)]
async fn an_expired_second_page_leads_to_one_full_list_of_the_same_state() {
    let mut rig = paging(1);
    rig.server.list().await.page("5", &["a@1"]);
    rig.server.watch().await.open().fail(expired());
    rig.server
        .list()
        .await
        .page_before("7", "C1", &["a@1", "ghost@6"]);
    let second = rig.server.list().await;
    assert_eq!(second.to_string(), "list >=5 limit 1 continue C1");
    let (wait, list) = {
        second.fail(expired());
        timed(rig.server.list()).await
    };
    assert_eq!(wait, Duration::ZERO, "the full list is requested at once");
    assert_eq!(list.to_string(), "list >=5");
    list.page("8", &["a@1", "b@8"]);
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch after 8");
    assert_eq!(
        rig.store().await,
        ["a@1", "b@8"],
        "nothing of the first page is left"
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_list_that_expires_too_leads_to_the_newest_state() {
    let mut rig = paging(1);
    rig.server.list().await.page_before("7", "C1", &["a@1"]);
    rig.server.list().await.fail(expired());
    rig.server.list().await.fail(expired());
    assert_eq!(rig.server.list().await.to_string(), "list newest limit 1");
}

/// Upstream: the pager keeps the version of the first page: what changed since comes through the watch.
#[tokio::test(start_paused = true)]
async fn the_version_of_a_paged_list_is_that_of_its_first_page() {
    let mut rig = paging(1);
    rig.server.list().await.page_before("7", "C1", &["a@1"]);
    rig.server.list().await.page("9", &["b@2"]);
    assert_eq!(rig.server.watch().await.to_string(), "watch after 7");
}

/// Upstream: TestReflectorExpiredExactResourceVersion.
#[tokio::test(start_paused = true)]
async fn an_expired_list_is_followed_at_once_by_one_of_the_newest_state() {
    let (mut rig, watch) = Rig::synced("10", &["a@1"]).await;
    watch.fail(expired());
    rig.server.list().await.fail(expired());
    let (wait, list) = timed(rig.server.list()).await;
    assert_eq!(wait, Duration::ZERO);
    assert_eq!(list.to_string(), "list newest limit 500");
    list.page("20", &["a@1", "b@15"]);
    assert_eq!(rig.store().await, ["a@1", "b@15"]);
    // The success restores continuity.
    rig.server.watch().await.fail(expired());
    assert_eq!(rig.server.list().await.to_string(), "list >=20");
}

#[tokio::test(start_paused = true)]
async fn an_expired_list_of_the_newest_state_waits_before_the_next() {
    let mut rig = Rig::listing();
    rig.server.list().await.fail(expired());
    rig.server.list().await.fail(expired());
    let (wait, list) = timed(rig.server.list()).await;
    assert!(wait >= Duration::from_millis(800), "{wait:?}");
    assert_eq!(list.to_string(), "list newest limit 500");
}

fn too_large(code: u16, reason: &str, message: &str, causes: &[(&str, &str)]) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            retry_after: None,
            causes: causes
                .iter()
                .map(|(reason, message)| ((*reason).to_owned(), (*message).to_owned()))
                .collect(),
            hint: String::new(),
        },
    }
}

/// Upstream: TestReflectorFullListIfTooLarge.
#[tokio::test(start_paused = true)]
async fn a_version_the_server_has_not_reached_is_given_up_in_all_three_forms() {
    for error in [
        too_large(
            504,
            "Timeout",
            "",
            // The type alone is enough.
            &[("ResourceVersionTooLarge", "")],
        ),
        too_large(504, "Timeout", "", &[("", "Too large resource version")]),
        too_large(504, "Timeout", "Too large resource version: 10, current: 3", &[]),
    ] {
        let (mut rig, watch) = Rig::synced("10", &["a@1"]).await;
        watch.fail(expired());
        rig.server.list().await.fail(error.clone());
        let (wait, list) = timed(rig.server.list()).await;
        assert_eq!(list.to_string(), "list newest limit 500", "{error}");
        assert_eq!(wait, Duration::ZERO, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_version_the_server_has_not_reached_leads_to_the_newest_state() {
    let (mut rig, watch) = Rig::synced("10", &["a@1"]).await;
    watch.fail(too_large(
        504,
        "Timeout",
        "Too large resource version: 10, current: 3",
        &[],
    ));
    assert_eq!(rig.server.list().await.to_string(), "list newest limit 500");
}

/// Upstream: TestListPager_List, TestListPager_EachListItem (an error on a later page).
#[tokio::test(start_paused = true)]
async fn a_failed_page_fails_the_list() {
    let mut rig = paging(1);
    rig.server.list().await.page_before("7", "C1", &["a@1"]);
    rig.server.list().await.fail(status(500, "InternalError"));
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list any limit 1", "it begins again");
    list.page("8", &["b@2"]);
    assert_eq!(rig.store().await, ["b@2"]);
}

#[tokio::test(start_paused = true)]
async fn progress_counts_what_came_and_what_the_server_says_is_left() {
    let mut rig = paging(2);
    let first = ListMetadata {
        continue_token: Some("C1".to_owned()),
        remaining: Some(3),
        ..metadata("7")
    };
    rig.server.list().await.page_with(first, &["a@1", "b@2"]);
    let _second = rig.server.list().await;
    settle().await;
    match rig.state().await {
        State::Listing { received, expected } => assert_eq!((received, expected), (2, Some(5))),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_gives_the_same_continue_token_twice_is_refused() {
    let mut rig = paging(1);
    rig.server.list().await.page_before("10", "C1", &["a@1"]);
    rig.server.list().await.page_before("10", "C1", &["a@1"]);
    settle().await;
    let state = rig.informer.status().state;
    assert!(
        matches!(
            &state,
            State::BackingOff { error: SourceError::Protocol(reason), .. }
                if reason.contains("repeated its continue token")
        ),
        "{state}"
    );
}

/// While a page arrives, its remaining items count as well.
#[tokio::test(start_paused = true)]
async fn the_expected_total_is_right_in_the_middle_of_every_page() {
    let mut rig = paging(250);
    let mut named = (0..).map(|number| ListEvent::Item(pod(&format!("pod-{number}@1")).into()));
    for (page, (received, expected)) in [(100, 550), (300, 550)].into_iter().enumerate() {
        let body = rig.server.list().await.open();
        body.send(Ok(ListEvent::Metadata(ListMetadata {
            continue_token: Some(format!("C{page}")),
            remaining: Some(300 - 250 * page as u64),
            ..metadata("7")
        })));
        for item in named.by_ref().take(100) {
            body.send(Ok(item));
        }
        match rig.state().await {
            State::Listing {
                received: so_far,
                expected: total,
            } => assert_eq!((so_far, total), (received, Some(expected)), "page {page}"),
            other => panic!("{other}"),
        }
        for item in named.by_ref().take(150) {
            body.send(Ok(item));
        }
    }
}

/// A continue token that is always new, with empty pages, is not accepted as a list.
#[tokio::test(start_paused = true)]
async fn pages_that_bring_nothing_are_paced_and_bounded() {
    for repeats in [false, true] {
        let mut rig = paging(1);
        rig.server.list().await.page_before("10", "C0", &["a@1"]);
        let begun = Instant::now();
        let mut pages = 0;
        while matches!(rig.state().await, State::Listing { .. }) {
            pages += 1;
            assert!(pages <= 200, "{pages} pages without anything new");
            let items: &[&str] = if repeats { &["a@1"] } else { &[] };
            rig.server
                .list()
                .await
                .page_before("10", &format!("C{pages}"), items);
            settle().await;
        }
        assert!(pages >= 50, "some servers filter after they have cut the pages");
        assert!(
            begun.elapsed() >= Duration::from_millis(100) * (pages - 1),
            "{pages} pages in {:?}",
            begun.elapsed()
        );
        let state = rig.state().await;
        assert!(
            matches!(
                &state,
                State::BackingOff { error: SourceError::Protocol(reason), .. } if reason.contains("page")
            ),
            "{state}"
        );
    }
}

/// Every page is requested with the selectors of the first.
#[tokio::test(start_paused = true)]
async fn every_page_is_requested_with_the_same_selectors() {
    let server = ApiServer::builder().watch_cache(WatchCache::Off).start();
    for index in 0..6 {
        let mut object = item(&format!("item-{index}"), "1");
        let app = if index == 5 { "other" } else { "mine" };
        object.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
        server.create(&object).unwrap();
    }
    let informer = builder_of::<ConfigMap>(server.client())
        .initial_state(InitialState::List)
        .page_size(2)
        .labels("app=mine")
        .fields("metadata.name!=item-4")
        .build()
        .unwrap();
    start(&informer).await;
    assert_eq!(keys(&informer).len(), 4);
    let requests = server.requests().of("configmaps");
    let pages = requests.lists();
    assert!(pages.len() >= 2, "{} pages", pages.len());
    for request in requests {
        assert_eq!(
            request.parameter("labelSelector"),
            Some("app=mine"),
            "{request:?}"
        );
        assert_eq!(
            request.parameter("fieldSelector"),
            Some("metadata.name!=item-4"),
            "{request:?}"
        );
    }
    informer.shutdown().await;
}

/// A server that needs longer than the answer deadline for its LIST is given more time, attempt by attempt.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_answered_late_is_given_more_time_at_each_attempt() {
    for initial in [InitialState::List, InitialState::WatchList] {
        let server = server_with(&["a"]);
        server
            .faults()
            .add(Rule::new(Fault::Delay(Duration::from_secs(100))));
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .build()
            .unwrap();
        informer.start().unwrap();
        informer.synced_within(Duration::from_secs(900)).await.unwrap();
        let requests = server.requests().of("configmaps").len();
        assert!(requests < 10, "{requests} requests, {initial:?}");
        informer.shutdown().await;
    }
}

/// A server must not be able to fill the memory.
#[tokio::test(start_paused = true)]
async fn a_state_of_more_objects_than_configured_is_refused() {
    for initial in [InitialState::List, InitialState::WatchList] {
        let mut config = config(initial);
        config.max_objects = 2;
        let mut rig = Rig::with(config, |builder| builder);
        match initial {
            InitialState::WatchList => {
                let watch = rig.server.watch().await.open();
                for pod in ["a@1", "b@2", "c@3"] {
                    watch.add(pod);
                }
            }
            _ => rig.server.list().await.page("5", &["a@1", "b@2", "c@3"]),
        }
        match rig.state().await {
            State::LimitReached { error } => assert_eq!(
                error.to_string(),
                "the cache would hold more than 2 objects; it stays at its last state until the server has \
                 less; raise `max_objects`, or cache less: a label selector, fewer namespaces, a projection, \
                 packed storage"
            ),
            other => panic!("{initial:?}: {other}"),
        }
        assert!(rig.store().await.is_empty());
        match initial {
            InitialState::WatchList => {
                let watch = rig.server.watch().await.open();
                watch.add("a@1");
                watch.add("b@2");
                watch.initial_end("6");
            }
            _ => rig.server.list().await.page("6", &["a@1", "b@2"]),
        }
        assert_eq!(rig.store().await.len(), 2, "{initial:?}");
    }
}
