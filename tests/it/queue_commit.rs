//! Guarantees of upstream's queues about deletions and resyncs, on a whole informer.
//!
//! Upstream's queue queries the store for the deletions of a replacement and the objects of a resync. Here
//! the queue does not know the store: both are found when the entry's turn comes, with everything before it
//! already in the store.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::queue_support::{object, object_with_uid};
use crate::scripted::FeedRig;

const INITIAL: [&str; 3] = [
    "Added(a@1, Initial)",
    "Added(b@2, Initial)",
    "Added(c@3, Initial)",
];

fn initial() -> Vec<Arc<ConfigMap>> {
    vec![object("a", 1), object("b", 2), object("c", 3)]
}

/// What happened before the relist.
enum Before {
    Added(&'static str, u64),
    Modified(&'static str, u64),
    Deleted(&'static str, u64),
}
use Before::{Added, Deleted, Modified};

/// Starts with `a@1 b@2 c@3`, makes changes, lists again, and compares the events of a handler after the
/// initial state. The changes and the end of the watch arrive together, so that changes are queued when the
/// new state arrives.
#[track_caller]
fn check<'a>(
    before: &'a [Before],
    relist: &'a [(&'static str, u64)],
    expected: &'a [&'a str],
) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let mut script = FeedRig::start(3, initial()).await;
        script.check(&INITIAL).await;
        for change in before {
            match change {
                Added(name, at) => script.server.added(object(name, *at)),
                Modified(name, at) => script.server.modified(object(name, *at)),
                Deleted(name, at) => script.server.deleted(object(name, *at)),
            }
        }
        let state: Vec<_> = relist.iter().map(|(name, at)| object(name, *at)).collect();
        script.server.relist(20, state);
        script.check(expected).await;
        let stored: Vec<String> = relist.iter().map(|(name, at)| format!("{name}@{at}")).collect();
        assert_eq!(script.stored(), stored, "at {caller}");
    }
}

/// Upstream: TestDeltaFIFO_ReplaceMakesDeletions, TestDeltaFIFO_ReplaceMakesDeletionsReplaced,
/// TestRealFIFO_ReplaceMakesDeletions, TestRealFIFO_ReplaceMakesDeletionsReplaced.
#[tokio::test(start_paused = true)]
async fn a_replacement_deletes_what_it_lacks_with_its_last_known_state() {
    // Known to the store only.
    check(
        &[],
        &[("a", 1), ("c", 3)],
        &["Deleted(Missed(b, last known b@2))"],
    )
    .await;
    // Deleted already.
    check(
        &[Deleted("b", 4)],
        &[("a", 1), ("c", 3)],
        &["Deleted(Observed(b@4))"],
    )
    .await;
    // Changed since the store saw it.
    check(
        &[Modified("b", 4)],
        &[("a", 1), ("c", 3)],
        &[
            "Updated(b@2 -> b@4, Change)",
            "Deleted(Missed(b, last known b@4))",
        ],
    )
    .await;
    // Deleted and created again.
    check(
        &[Deleted("b", 4), Added("b", 5)],
        &[("a", 1), ("c", 3)],
        &[
            "Deleted(Observed(b@4))",
            "Added(b@5, Live)",
            "Deleted(Missed(b, last known b@5))",
        ],
    )
    .await;
}

/// Upstream: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue,
/// TestRealFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue.
#[tokio::test(start_paused = true)]
async fn a_replacement_deletes_what_was_only_in_the_queue() {
    let all = [("a", 1), ("b", 2), ("c", 3)];
    check(
        &[Added("d", 4)],
        &all,
        &["Added(d@4, Live)", "Deleted(Missed(d, last known d@4))"],
    )
    .await;
    check(
        &[Added("d", 4), Modified("d", 5)],
        &all,
        &[
            "Added(d@4, Live)",
            "Updated(d@4 -> d@5, Change)",
            "Deleted(Missed(d, last known d@5))",
        ],
    )
    .await;
    check(
        &[Added("d", 4), Deleted("d", 5)],
        &all,
        &["Added(d@4, Live)", "Deleted(Observed(d@5))"],
    )
    .await;
    check(
        &[Added("d", 4), Deleted("d", 5), Added("d", 6)],
        &all,
        &[
            "Added(d@4, Live)",
            "Deleted(Observed(d@5))",
            "Added(d@6, Live)",
            "Deleted(Missed(d, last known d@6))",
        ],
    )
    .await;
}

/// Upstream: TestRealFIFO_ReplaceMakesDeletions, for its order. DeltaFIFO has the additions first.
#[tokio::test(start_paused = true)]
async fn a_replacement_delivers_deletions_first_and_the_rest_in_list_order() {
    check(
        &[],
        &[("a", 5), ("d", 6), ("e", 4)],
        &[
            "Deleted(Missed(b, last known b@2))",
            "Deleted(Missed(c, last known c@3))",
            "Updated(a@1 -> a@5, Change)",
            "Added(d@6, Live)",
            "Added(e@4, Live)",
        ],
    )
    .await;
}

/// Upstream: TestDeltaFIFO_addReplace, TestDeltaFIFO_replaceWithDeleteDeltaIn.
#[tokio::test(start_paused = true)]
async fn a_replacement_has_the_last_word_on_queued_changes() {
    check(
        &[Added("d", 4)],
        &[("a", 1), ("b", 2), ("c", 3), ("d", 5)],
        &["Added(d@4, Live)", "Updated(d@4 -> d@5, Change)"],
    )
    .await;
    check(
        &[Deleted("b", 4)],
        &[("a", 1), ("b", 5), ("c", 3)],
        &["Deleted(Observed(b@4))", "Added(b@5, Live)"],
    )
    .await;
}

/// Upstream: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue: a repeated Replace does not duplicate
/// deletions.
#[tokio::test(start_paused = true)]
async fn replacements_in_a_row_delete_each_object_once() {
    let mut script = FeedRig::start(3, initial()).await;
    script.check(&INITIAL).await;
    script.server.relist(10, vec![object("a", 1)]);
    script.server.relist(11, vec![object("a", 1)]);
    script.server.relist(12, vec![]);
    script
        .check(&[
            "Deleted(Missed(b, last known b@2))",
            "Deleted(Missed(c, last known c@3))",
            "Deleted(Missed(a, last known a@1))",
        ])
        .await;
    assert!(script.stored().is_empty());
}

/// Upstream: TestDeltaFIFO_enqueueingNoLister, TestRealFIFO_enqueueingNoLister. It is queued, as in the
/// second, and ignored at commit, as in the first.
#[tokio::test(start_paused = true)]
async fn a_deletion_of_an_unknown_object_is_not_delivered() {
    let mut script = FeedRig::start(3, initial()).await;
    script.check(&INITIAL).await;
    script.server.deleted(object("unknown", 4));
    script.server.added(object("d", 5));
    script.check(&["Added(d@5, Live)"]).await;
}

/// Upstream: TestDeltaFIFO_enqueueingWithLister, TestRealFIFO_enqueueingWithLister.
#[tokio::test(start_paused = true)]
async fn a_deletion_of_an_object_only_in_the_store_is_delivered() {
    let mut script = FeedRig::start(3, initial()).await;
    script.check(&INITIAL).await;
    script.server.deleted(object("b", 4));
    script.check(&["Deleted(Observed(b@4))"]).await;
    assert_eq!(script.stored(), ["a@1", "c@3"]);
}

/// Grouping by key inside a batch must not be visible: handlers receive everything in the order of arrival.
#[tokio::test(start_paused = true)]
async fn the_changes_of_one_batch_are_delivered_in_order_of_arrival() {
    let mut script = FeedRig::start(3, initial()).await;
    script.check(&INITIAL).await;
    for (name, at) in [("a", 4), ("b", 5), ("a", 6), ("c", 7), ("b", 8)] {
        script.server.modified(object(name, at));
    }
    script
        .check(&[
            "Updated(a@1 -> a@4, Change)",
            "Updated(b@2 -> b@5, Change)",
            "Updated(a@4 -> a@6, Change)",
            "Updated(c@3 -> c@7, Change)",
            "Updated(b@5 -> b@8, Change)",
        ])
        .await;
}

/// An object recreated between two lists was deleted in between, and handlers that received the addition
/// receive that (guarantee I10).
#[tokio::test(start_paused = true)]
async fn a_replacement_with_another_object_of_the_same_name_is_a_deletion_and_an_addition() {
    let mut script = FeedRig::start(1, vec![object_with_uid("a", 1, "first")]).await;
    script.check(&["Added(a@1, Initial)"]).await;
    script.server.relist(5, vec![object_with_uid("a", 4, "second")]);
    script
        .check(&["Deleted(Missed(a, last known a@1))", "Added(a@4, Live)"])
        .await;
}

/// Upstream: TestDeltaFIFO_Resync, TestRealFIFO_Resync.
#[tokio::test(start_paused = true)]
async fn a_resync_delivers_every_object_again() {
    let mut script = resyncing().await;
    for expected in ["a@1 -> a@1", "b@2 -> b@2", "c@3 -> c@3", "a@1 -> a@1"] {
        assert_eq!(script.next().await, format!("Updated({expected}, Resync)"));
    }
}

/// Upstream: TestDeltaFIFO_ResyncNonExisting, TestRealFIFO_ResyncNonExisting.
#[tokio::test(start_paused = true)]
async fn a_resync_says_nothing_of_an_object_that_is_gone() {
    let mut script = resyncing().await;
    script.server.deleted(object("b", 4));
    assert_eq!(script.next().await, "Deleted(Observed(b@4))");
    for expected in ["a@1 -> a@1", "c@3 -> c@3", "a@1 -> a@1"] {
        assert_eq!(script.next().await, format!("Updated({expected}, Resync)"));
    }
}

/// Upstream: TestDeltaFIFO_UpdateResyncRace, TestRealFIFO_UpdateResyncRace.
#[tokio::test(start_paused = true)]
async fn a_resync_never_delivers_an_older_state_than_before() {
    let mut script = resyncing().await;
    // The watch and the resync fire at the same instant repeatedly; in either order, nothing goes back.
    let mut last = 3;
    for at in 4..24 {
        tokio::time::sleep(PERIOD).await;
        script.server.modified(object("c", at));
        while last < at {
            let event = script.next().await;
            if event == format!("Updated(c@{last} -> c@{at}, Change)") {
                last = at;
            } else if event.contains('c') && event.starts_with("Updated(c") {
                assert_eq!(event, format!("Updated(c@{last} -> c@{last}, Resync)"));
            }
        }
    }
}

const PERIOD: Duration = Duration::from_secs(10);

/// An informer with a resync every ten seconds, past its initial state.
async fn resyncing() -> FeedRig {
    let mut script = FeedRig::start_with(3, initial(), |builder| builder.resync(PERIOD)).await;
    for expected in INITIAL {
        assert_eq!(script.next().await, expected);
    }
    script
}
