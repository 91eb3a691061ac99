//! Reading the state by LIST and following it by WATCH: the requests, their order, and the resulting store.

use std::time::Duration;

use informer_core::source::{
    BookmarkMark, ListEvent, ListFrom, ListRequest, ObjectChange, WatchEvent, WatchFrom, WatchListSupport,
};
use informer_core::{InitialState, State, WatchListVerdict};
use k8s_openapi::api::core::v1::Pod;

use super::scripted::{Rig, config, expired, metadata, pod, refused, scripted, settle, status, undecodable};

/// Upstream: TestReflectorListAndWatch (list mode).
#[tokio::test(start_paused = true)]
async fn lists_whatever_is_cached_then_watches_after_that_version() {
    let mut rig = Rig::listing();
    let list = rig.server.list().await;
    let expected = ListRequest {
        from: ListFrom::AnyCached,
        limit: Some(500),
        continue_token: None,
        answer_within: None,
    };
    assert_eq!(list.request, expected);
    assert!(matches!(rig.state().await, State::Listing { received: 0, .. }));
    list.page("5", &["a@1", "b@2"]);

    let watch = rig.server.watch().await;
    assert_eq!(watch.request.from, WatchFrom::After("5".into()));
    let watch = watch.open();
    assert_eq!(rig.received().await, ["add(initial) a@1", "add(initial) b@2"]);
    assert!(matches!(rig.state().await, State::Live));

    watch.modify("a@6");
    assert_eq!(rig.received().await, ["update a@1->6"]);
    assert_eq!(rig.store().await, ["a@6", "b@2"]);
}

/// Upstream: TestReflectorWatchHandler.
#[tokio::test(start_paused = true)]
async fn additions_updates_and_deletions_of_a_watch_reach_the_store_in_order() {
    let (mut rig, watch) = Rig::synced("5", &["a@1", "b@2"]).await;
    watch.delete("a@6");
    watch.modify("b@7");
    watch.add("c@8");
    assert_eq!(rig.received().await, ["delete a@6", "update b@2->7", "add c@8"]);
    assert_eq!(rig.store().await, ["b@7", "c@8"]);
    assert_eq!(rig.version().await, "8");
}

/// An event the library does not know is counted and otherwise ignored (rule R17).
#[tokio::test(start_paused = true)]
async fn an_unknown_event_changes_nothing() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.send(Ok(WatchEvent::Unknown));
    assert!(rig.received().await.is_empty());
    assert_eq!(rig.scope().await.counts.events, 1);
    assert_eq!(rig.version().await, "5");
    drop(watch);
}

fn bookmark(version: &str) -> WatchEvent<Pod> {
    WatchEvent::Bookmark {
        version: Some(version.into()),
        mark: BookmarkMark::Progress,
    }
}

/// Upstream: TestReflectorResourceVersionUpdate.
#[tokio::test(start_paused = true)]
async fn every_event_and_every_bookmark_moves_the_version() {
    let (rig, watch) = Rig::synced("5", &["a@1"]).await;
    for (event, version) in [
        (WatchEvent::Added(pod("b@10").into()), "10"),
        (WatchEvent::Modified(pod("b@20").into()), "20"),
        (WatchEvent::Deleted(pod("b@30").into()), "30"),
        (bookmark("40"), "40"),
    ] {
        watch.send(Ok(event));
        assert_eq!(rig.version().await, version);
        assert_eq!(rig.scope().await.version, Some(version.into()));
    }
    assert_eq!(rig.store().await, ["a@1"]);
}

/// I2: no object in the store is newer than the version of the store.
#[tokio::test(start_paused = true)]
async fn a_stale_change_at_the_end_of_a_batch_does_not_take_the_version_back() {
    let (rig, watch) = Rig::synced("50", &["a@40"]).await;
    watch.modify("a@60");
    watch.modify("a@55");
    assert_eq!(rig.store().await, ["a@60"]);
    assert_eq!(rig.version().await, "60");
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_after_the_last_bookmark() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.bookmark("40");
    settle().await;
    tokio::time::advance(Duration::from_secs(2)).await;
    drop(watch);
    assert_eq!(rig.server.watch().await.to_string(), "watch after 40");
}

/// Rule R16: a watch from "0" begins with the state in no order, so its additions do not move the version.
#[tokio::test(start_paused = true)]
async fn synthetic_additions_do_not_move_the_version_to_resume_at() {
    let mut rig = Rig::listing();
    rig.server.list().await.page("0", &[]);
    let watch = rig.server.watch().await.open();
    watch.add("b@9");
    settle().await;
    watch.fail(refused());
    // Had the version moved to 9, the addition of a@4, which is still to come, would be lost.
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch after 0");
    let watch = watch.open();
    watch.add("b@9");
    watch.add("a@4");
    watch.modify("a@10");
    settle().await;
    watch.fail(refused());
    assert_eq!(rig.server.watch().await.to_string(), "watch after 10");
    assert_eq!(rig.store().await, ["a@10", "b@9"]);
}

/// Upstream: TestReflectorResyncWithResourceVersion.
#[tokio::test(start_paused = true)]
async fn a_relist_requests_nothing_older_than_was_seen() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.modify("a@12");
    settle().await;
    watch.fail(expired());
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=12");
    list.page("14", &["a@12", "b@13"]);
    assert_eq!(rig.store().await, ["a@12", "b@13"]);
}

/// Upstream: TestReflectorListAndWatchWithErrors.
#[tokio::test(start_paused = true)]
async fn whatever_failed_before_the_store_equals_the_next_list() {
    let mut rig = Rig::listing();
    rig.server.list().await.fail(status(500, "InternalError"));
    rig.server.list().await.page("1", &["a@1"]);
    let watch = rig.server.watch().await.open();
    watch.modify("a@2");
    settle().await;
    watch.fail(expired());
    // c@4 was added and a deleted while no watch was open.
    rig.server.list().await.page("5", &["b@3", "c@4"]);
    rig.server.watch().await.fail(expired());
    rig.server.list().await.fail(status(503, "ServiceUnavailable"));
    rig.server.list().await.page("9", &["c@8"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(
        rig.received().await,
        [
            "add(initial) a@1",
            "update a@1->2",
            "delete(missed) a@2",
            "add b@3",
            "add c@4",
            "delete(missed) b@3",
            "update c@4->8",
        ]
    );
    assert_eq!(rig.store().await, ["c@8"]);
    let counts = rig.scope().await.counts;
    assert_eq!((counts.lists, counts.watches, counts.errors), (3, 2, 4));
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_object_in_a_relist_is_not_delivered_without_a_resync() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.fail(expired());
    rig.server.list().await.page("9", &["a@1"]);
    let _watch = rig.server.watch().await.open();
    assert!(rig.received().await.is_empty());
    assert_eq!(rig.version().await, "9");
}

/// Upstream: TestNewReflectorWithDisablementWatchList, TestToListWatcherWithWatchListSemantics,
/// TestUnSupportWatchListSemantics.
#[tokio::test(start_paused = true)]
async fn watch_list_is_tried_only_if_the_informer_and_the_source_allow_it() {
    let (list, watch_list) = ("list any limit 500", "watch-list newest");
    for (initial, support, expected) in [
        (InitialState::WatchList, WatchListSupport::Unknown, watch_list),
        (InitialState::WatchList, WatchListSupport::Unsupported, list),
        (InitialState::List, WatchListSupport::Unknown, list),
        (InitialState::List, WatchListSupport::Unsupported, list),
    ] {
        let (source, server) = scripted();
        let source = match support {
            WatchListSupport::Unsupported => source.without_watch_list(),
            _ => source,
        };
        let mut rig = Rig::over(source, server, config(initial), |builder| builder);
        let call = rig.server.next_or_none().await.expect("an informer asks at once");
        assert_eq!(call.to_string(), expected, "{initial:?}, {support:?}");
        match (rig.scope().await.watch_list, initial) {
            (WatchListVerdict::Off, InitialState::List) => {}
            (WatchListVerdict::Unknown, _) if expected == watch_list => {}
            (WatchListVerdict::Refused(_), _) if expected == list => {}
            (verdict, _) => panic!("{initial:?}, {support:?}: {verdict:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_list_that_breaks_reaches_the_store() {
    let mut rig = Rig::listing();
    let page = rig.server.list().await.open();
    page.send(Ok(ListEvent::Metadata(metadata("5"))));
    page.send(Ok(ListEvent::Item(pod("ghost@1").into())));
    settle().await;
    page.fail(status(500, "InternalError"));
    rig.server.list().await.page("6", &["a@1"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(rig.received().await, ["add(initial) a@1"]);
    assert_eq!(rig.store().await, ["a@1"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_without_its_version_is_an_error() {
    for metadata in [None, Some(Default::default())] {
        let mut rig = Rig::listing();
        let page = rig.server.list().await.open();
        page.send(Ok(ListEvent::Item(pod("ghost@1").into())));
        if let Some(metadata) = metadata {
            page.send(Ok(ListEvent::Metadata(metadata)));
        }
        drop(page);
        settle().await;
        assert!(matches!(rig.state().await, State::BackingOff { .. }));
        rig.server.list().await.page("6", &["a@1"]);
        assert_eq!(rig.received().await, ["add(initial) a@1"]);
    }
}

/// Upstream: TestReflectorReplacesStoreOnUnsafeDelete. An object that was corrupt in etcd and was deleted by
/// force is reported as an error event: only a new list shows which one it was.
#[tokio::test(start_paused = true)]
async fn an_unsafe_delete_of_a_corrupt_object_leads_to_a_relist() {
    let (mut rig, watch) = Rig::synced("5", &["a@1"]).await;
    watch.add("corrupt@6");
    assert_eq!(rig.store().await, ["a@1", "corrupt@6"]);
    watch.fail(status(500, "StorageReadError"));
    rig.server.list().await.page("9", &["a@1"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(
        rig.received().await,
        ["add corrupt@6", "delete(missed) corrupt@6"]
    );
    assert_eq!(rig.store().await, ["a@1"]);
    assert_eq!(rig.version().await, "9");
}

/// I16: an object that cannot be decoded keeps its last good state and blocks nothing.
#[tokio::test(start_paused = true)]
async fn an_undecodable_event_is_reported_and_the_watch_goes_on() {
    let (mut rig, watch) = Rig::synced("5", &["a@1", "b@2"]).await;
    watch.send(Ok(WatchEvent::Undecodable {
        change: ObjectChange::Upserted,
        object: undecodable(Some("a@6")),
    }));
    watch.modify("b@7");
    assert_eq!(rig.received().await, ["update b@2->7"]);
    assert_eq!(rig.store().await, ["a@1", "b@7"]);
    let stale = rig.informer.status().stale;
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert_eq!(stale[0].0.to_string(), "default/a");
}

/// I16: a deletion of something unreadable could be of anything, so the whole state is read again.
#[tokio::test(start_paused = true)]
async fn an_unreadable_delete_leads_to_a_relist() {
    let (mut rig, watch) = Rig::synced("5", &["a@1", "b@2"]).await;
    watch.send(Ok(WatchEvent::Undecodable {
        change: ObjectChange::Deleted,
        object: undecodable(None),
    }));
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=5");
    list.page("9", &["a@1"]);
    assert_eq!(rig.received().await, ["delete(missed) b@2"]);
}

/// Continuity: a replica that lags behind must not take the cache back.
#[tokio::test(start_paused = true)]
async fn an_older_state_than_was_seen_is_refused() {
    let (mut rig, watch) = Rig::synced("50", &["a@40"]).await;
    watch.fail(expired());
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=50");
    list.page("30", &["a@20"]);
    assert_eq!(rig.store().await, ["a@40"]);
    assert_eq!(rig.version().await, "50");
    assert!(matches!(rig.state().await, State::BackingOff { .. }));
    // Only the newest state distinguishes a stale replica from a restored etcd.
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list newest limit 500");
    list.page("60", &["a@55"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(rig.received().await, ["update a@40->55"]);
    assert_eq!(rig.scope().await.counts.rewinds, 0);
}

#[tokio::test(start_paused = true)]
async fn a_rewind_of_the_newest_state_is_followed_and_reported() {
    let (mut rig, watch) = Rig::synced("50", &["a@40", "b@45"]).await;
    watch.fail(expired());
    rig.server.list().await.page("30", &["a@20"]);
    rig.server.list().await.page("30", &["a@20"]);
    let watch = rig.server.watch().await;
    assert_eq!(watch.to_string(), "watch after 30");
    let watch = watch.open();
    assert_eq!(rig.received().await, ["delete(missed) b@45", "update a@40->20"]);
    assert_eq!(rig.version().await, "30");
    assert_eq!(rig.scope().await.counts.rewinds, 1);
    watch.modify("a@31");
    assert_eq!(rig.received().await, ["update a@20->31"]);
}

/// A version becomes part of every later request: one that no server could read again is not accepted.
#[tokio::test(start_paused = true)]
async fn a_version_that_no_server_could_read_again_is_refused() {
    for nonsense in ["x".repeat(100_000), "1\n2".to_owned()] {
        let mut rig = Rig::listing();
        rig.server.list().await.page(&nonsense, &["ghost@1"]);
        assert!(matches!(rig.state().await, State::BackingOff { .. }));
        rig.server.list().await.page("5", &["a@1"]);
        let watch = rig.server.watch().await.open();
        tokio::time::sleep(Duration::from_secs(2)).await;
        watch.bookmark(&nonsense);
        let watch = rig.server.watch().await;
        assert_eq!(watch.to_string(), "watch after 5");
        let watch = watch.open();
        watch.modify(&format!("a@{nonsense}"));
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(watch);
        assert_eq!(rig.server.watch().await.to_string(), "watch after 5");
        let mut rig = Rig::watch_listing();
        let watch = rig.server.watch().await.open();
        watch.initial_end(&nonsense);
        assert!(matches!(rig.state().await, State::BackingOff { .. }));
        assert_eq!(rig.version().await, "none");
    }
}
