//! The queue between reflector and store, with the behaviours of upstream's queue tests.
//!
//! Upstream pops one key, or one change, at a time. Here a pop is a prefix of everything that arrived,
//! grouped by key, and a replacement is one entry whose deletions are found at commit: `queue_commit.rs` has
//! the tests of those.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_core::delta::{Batch, DeltaFifo, QueueOptions, ResyncTicket, Transform};
use informer_core::source::{ObjectChange, Undecodable};
use informer_core::{ObjectKey, Scope, Stored};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::timeout;

use crate::queue_support::{LONG, check_batches, object, pop, queue, queue_with, replace, version};

fn one_at_a_time() -> QueueOptions {
    QueueOptions::default().batch(1)
}

fn ticket(handlers: &[u64]) -> ResyncTicket {
    ResyncTicket::new(handlers.to_vec())
}

fn undecodable(key: &str, at: u64) -> Undecodable {
    Undecodable {
        key: Some(key.parse().unwrap()),
        version: Some(version(at)),
        uid: None,
        reason: "bad".to_owned(),
    }
}

/// Upstream: TestDeltaFIFO_basic, TestRealFIFO_basic.
#[tokio::test(start_paused = true)]
async fn two_senders_each_keep_their_order() {
    const EACH: u64 = 500;
    let (sender, mut receiver) = queue(QueueOptions::default().capacity(7).batch(5));
    for namespace in ["x", "y"] {
        let mut sender = sender.clone();
        tokio::spawn(async move {
            for number in 1..=EACH {
                let key = format!("{namespace}/{number}");
                sender.added(object(&key, number)).await.unwrap();
            }
        });
    }
    drop(sender);
    let mut next = [1, 1];
    while let Some(batch) = timeout(LONG, receiver.pop()).await.expect("a wake-up was lost") {
        let Batch::Changes { deltas, .. } = batch else {
            panic!("only changes were sent");
        };
        for deltas in deltas {
            let sender = usize::from(deltas.key.namespace() == Some("y"));
            assert_eq!(deltas.key.name(), next[sender].to_string());
            next[sender] += 1;
        }
    }
    assert_eq!(next, [EACH + 1, EACH + 1]);
}

/// Upstream: TestDeltaFIFO_addUpdate, TestRealFIFO_addUpdate, TestRealFIFO_DeleteExistingNonPropagated,
/// TestDeltaFIFO_DeleteExistingNonPropagated.
#[tokio::test(start_paused = true)]
async fn all_changes_of_a_key_come_out_once_oldest_first() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.added(object("a", 1)).await.unwrap();
    sender.updated(object("a", 2)).await.unwrap();
    sender.deleted(object("a", 3)).await.unwrap();
    check_batches(&mut receiver, &["a: added@1 updated@2 deleted@3; at 3"]).await;
}

/// Upstream: TestDeltaFIFO_detectLineJumpers, TestRealFIFO_detectLineJumpers. Ours is the strict order of the
/// second.
#[tokio::test(start_paused = true)]
async fn a_key_sent_again_waits_behind_what_came_before() {
    let (mut sender, mut receiver) = queue(one_at_a_time());
    sender.added(object("a", 1)).await.unwrap();
    sender.added(object("b", 2)).await.unwrap();
    sender.updated(object("a", 3)).await.unwrap();
    assert_eq!(pop(&mut receiver).await, "a: added@1; at 1");
    sender.updated(object("a", 4)).await.unwrap();
    check_batches(
        &mut receiver,
        &["b: added@2; at 2", "a: updated@3; at 3", "a: updated@4; at 4"],
    )
    .await;
}

/// Grouping by key must keep the order over all keys, since handlers see it.
#[tokio::test(start_paused = true)]
async fn a_batch_remembers_the_order_of_arrival_over_all_keys() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    for (key, number) in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)] {
        sender.updated(object(key, number)).await.unwrap();
    }
    let Some(Batch::Changes { deltas, .. }) = receiver.pop().await else {
        panic!("changes were sent");
    };
    let mut changes: Vec<_> = deltas.into_iter().flat_map(|deltas| deltas.changes).collect();
    changes.sort_by_key(|change| change.arrival);
    let versions: Vec<_> = changes
        .into_iter()
        .map(|change| change.version.unwrap())
        .collect();
    assert_eq!(versions, [1, 2, 3, 4, 5].map(version));
}

/// Upstream: TestRealFIFO_PopMultipleDeltaInBatch. A repeated key does not end a batch here: it is grouped.
#[tokio::test(start_paused = true)]
async fn a_batch_ends_at_its_size_at_a_replacement_and_at_a_resync() {
    let (mut sender, mut receiver) = queue(QueueOptions::default().batch(2));
    sender.added(object("a", 1)).await.unwrap();
    sender.updated(object("a", 2)).await.unwrap();
    sender.added(object("b", 3)).await.unwrap();
    replace(&sender, 4, &[object("a", 2)]).await;
    sender.added(object("c", 5)).await.unwrap();
    sender.sync_all(ticket(&[1])).await.unwrap();
    sender.added(object("d", 6)).await.unwrap();
    sender.bookmark(version(7)).await.unwrap();
    sender.added(object("e", 8)).await.unwrap();
    check_batches(
        &mut receiver,
        &[
            "a: added@1 updated@2; at 2",
            "b: added@3; at 3",
            "replace at 4: a@2, first",
            "c: added@5; at 5",
            "resync",
            "d: added@6; at 7",
            "e: added@8; at 8",
        ],
    )
    .await;
}

/// Upstream: TestRealFIFO_PopBrokenItemsInBatch. Upstream delivers objects without a key; here they are not
/// queued, and a list that contained one deletes nothing.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_is_not_queued_and_stops_nothing() {
    let nameless = || Arc::new(ConfigMap::default());
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.added(object("a", 1)).await.unwrap();
    sender.added(nameless()).await.unwrap();
    sender.deleted(nameless()).await.unwrap();
    sender.added(object("b", 2)).await.unwrap();
    check_batches(&mut receiver, &["a: added@1, b: added@2; at 2"]).await;

    replace(&sender, 3, &[object("a", 1), nameless()]).await;
    let Some(Batch::ReplaceAll { state, .. }) = receiver.pop().await else {
        panic!("a replacement was sent");
    };
    assert_eq!((state.items.len(), state.unreadable), (1, 1));
}

/// Upstream: TestDeltaFIFO_transformer, TestRealFIFO_transformer. Upstream transforms the objects of a
/// watch-list twice, here each object passes the transform once. So does a last state: handlers see it.
#[tokio::test(start_paused = true)]
async fn each_object_is_transformed_once_and_last_states_too() {
    let calls = Arc::new(AtomicUsize::new(0));
    let transform: Transform<ConfigMap> = {
        let calls = calls.clone();
        Arc::new(move |object| {
            calls.fetch_add(1, Ordering::Relaxed);
            let name = object.metadata.labels.get_or_insert_default();
            let times: u32 = name.get("times").map_or(0, |times| times.parse().unwrap());
            name.insert("times".to_owned(), (times + 1).to_string());
            Ok(())
        })
    };
    let (mut sender, mut receiver) = queue_with(one_at_a_time(), Some(transform));
    sender.added(object("a", 1)).await.unwrap();
    sender.updated(object("a", 2)).await.unwrap();
    sender.deleted(object("a", 3)).await.unwrap();
    let mut state = sender.begin_replace();
    state.upsert(object("a", 4)).await;
    state.upsert(object("b", 4)).await;
    let state = state.finish(version(4)).await;
    sender.replace_all(state).await.unwrap();
    drop(sender);

    let mut times = Vec::new();
    let mut note = |object: &Stored<ConfigMap>| {
        times.push(object.label("times").unwrap_or("none").to_owned());
    };
    while let Some(batch) = receiver.pop().await {
        match batch {
            Batch::Changes { deltas, .. } => {
                use informer_core::delta::{Delta, Departed};
                match &deltas[0].changes[0].delta {
                    Delta::Added(object) | Delta::Updated(object) => note(object),
                    Delta::Deleted(Departed::Observed(object)) => note(object),
                    other => panic!("{other:?}"),
                }
            }
            Batch::ReplaceAll { state, .. } => state.items.iter().for_each(|(_, object)| note(object)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(times, ["1", "1", "1", "1", "1"]);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
}

/// Upstream: TestRealFIFO_transformer, where a failing transform keeps the object out of the queue. Here the
/// object is known to exist, so that what the cache has of it can be marked stale, and nothing else is
/// stopped.
#[tokio::test(start_paused = true)]
async fn a_transform_that_fails_or_panics_makes_only_its_object_unusable() {
    let transform: Transform<ConfigMap> = Arc::new(|object| match object.metadata.name.as_deref() {
        Some("bad") => Err("no".to_owned()),
        Some("worse") => panic!("never"),
        Some("renamed") => {
            object.metadata.name = Some("other".to_owned());
            Ok(())
        }
        _ => Ok(()),
    });
    let (mut sender, mut receiver) = queue_with(QueueOptions::default(), Some(transform));
    sender.added(object("bad", 1)).await.unwrap();
    sender.added(object("worse", 2)).await.unwrap();
    sender.added(object("renamed", 2)).await.unwrap();
    sender.added(object("good", 3)).await.unwrap();
    replace(&sender, 4, &[]).await;
    let mut state = sender.begin_replace();
    for name in ["bad", "good"] {
        state.upsert(object(name, 5)).await;
    }
    let state = state.finish(version(5)).await;
    assert_eq!((state.items.len(), state.unusable_keys().len()), (1, 1));
    check_batches(
        &mut receiver,
        &[
            "bad: unusable(the transform failed: no), worse: unusable(the transform panicked: never), \
             renamed: unusable(the transform changed the object's name or namespace), good: added@3; at 3",
            "replace at 4: , first",
        ],
    )
    .await;
}

/// Upstream: the deduplication of DeltaFIFO: of two deletions in a row the more informative one stays.
#[tokio::test(start_paused = true)]
async fn two_deletions_in_a_row_are_one_and_the_one_with_the_object_stays() {
    async fn check(deletions: &[Option<u64>], expected: &str) {
        let (mut sender, mut receiver) = queue(QueueOptions::default());
        for (place, deletion) in deletions.iter().enumerate() {
            match deletion {
                Some(number) => {
                    sender.deleted(object("a", *number)).await.unwrap();
                }
                None => {
                    let object = undecodable("a", place as u64 + 1);
                    sender.undecodable(ObjectChange::Deleted, object).await.unwrap();
                }
            }
        }
        check_batches(&mut receiver, &[expected]).await;
    }
    check(&[Some(1), Some(2)], "a: deleted@1; at 2").await;
    check(&[Some(1), None], "a: deleted@1; at 2").await;
    check(&[None, Some(2)], "a: deleted@2; at 2").await;
    check(&[None, None], "a: deleted; at 2").await;
    check(&[None, Some(2), None, Some(4)], "a: deleted@2; at 4").await;
}

#[tokio::test(start_paused = true)]
async fn deletions_with_something_between_them_are_two() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.deleted(object("a", 1)).await.unwrap();
    sender.added(object("a", 2)).await.unwrap();
    sender.deleted(object("a", 3)).await.unwrap();
    check_batches(&mut receiver, &["a: deleted@1 added@2 deleted@3; at 3"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_queued_if_its_key_can_be_read() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender
        .undecodable(ObjectChange::Upserted, undecodable("a", 1))
        .await
        .unwrap();
    let mut unreadable = undecodable("b", 2);
    unreadable.key = None;
    sender
        .undecodable(ObjectChange::Upserted, unreadable)
        .await
        .unwrap();
    check_batches(&mut receiver, &["a: unusable(bad); at 1"]).await;
}

/// Upstream: TestDeltaFIFO_addReplace, TestRealFIFO_addReplace, TestRealFIFO_ReplaceAtomicPop,
/// TestDeltaFIFO_ReplaceDeltaType. Upstream's DeltaFIFO folds both into one pop; a prefix keeps what arrived
/// before the replacement before it.
#[tokio::test(start_paused = true)]
async fn an_addition_and_a_replacement_come_out_as_two_batches() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.added(object("a", 1)).await.unwrap();
    replace(&sender, 2, &[object("a", 2)]).await;
    check_batches(&mut receiver, &["a: added@1; at 1", "replace at 2: a@2, first"]).await;
}

/// Upstream: TestDeltaFIFO_replaceWithDeleteDeltaIn, TestRealFIFO_replaceWithDeleteDeltaIn.
#[tokio::test(start_paused = true)]
async fn a_replacement_after_a_queued_deletion_still_has_the_object() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.deleted(object("a", 1)).await.unwrap();
    replace(&sender, 2, &[object("a", 2)]).await;
    check_batches(&mut receiver, &["a: deleted@1; at 1", "replace at 2: a@2, first"]).await;
}

/// Upstream: TestRealFIFO_ReplaceAtomic. Every replacement is kept, each in its turn; a second one of the
/// same scope waits until the first is taken out, because a whole state is large.
#[tokio::test(start_paused = true)]
async fn replacements_keep_their_place_among_changes_and_bookmarks() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    let sending = tokio::spawn(async move {
        sender.added(object("a", 1)).await.unwrap();
        replace(&sender, 2, &[object("a", 1), object("b", 2)]).await;
        sender.bookmark(version(3)).await.unwrap();
        replace(&sender, 4, &[object("c", 4)]).await;
        replace(&sender, 5, &[]).await;
        sender.updated(object("c", 6)).await.unwrap();
    });
    check_batches(
        &mut receiver,
        &[
            "a: added@1; at 1",
            "replace at 2: a@1 b@2, first",
            "; at 3",
            "replace at 4: c@4",
            "replace at 5: ",
            "c: updated@6; at 6",
        ],
    )
    .await;
    sending.await.unwrap();
}

/// Upstream: TestRealFIFO_ResyncAtomic, TestDeltaFIFO_UpdateResyncRace, TestRealFIFO_UpdateResyncRace: a
/// resync delivers the state of the store when its turn comes, after everything that was queued before it, so
/// it cannot be stale.
#[tokio::test(start_paused = true)]
async fn a_resync_waits_its_turn_behind_queued_changes() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    sender.updated(object("a", 1)).await.unwrap();
    sender.sync_all(ticket(&[1])).await.unwrap();
    sender.deleted(object("a", 2)).await.unwrap();
    check_batches(
        &mut receiver,
        &["a: updated@1; at 1", "resync", "a: deleted@2; at 2"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn resyncs_in_a_row_are_one_for_all_their_handlers() {
    let (sender, mut receiver) = queue(QueueOptions::default());
    for handlers in [&[1, 2][..], &[2, 3]] {
        sender.sync_all(ticket(handlers)).await.unwrap();
    }
    let Some(Batch::SyncAll(due)) = receiver.pop().await else {
        panic!("a resync was sent");
    };
    assert_eq!(due, ticket(&[1, 2, 3]));
    check_batches(&mut receiver, &[]).await;
}

/// Upstream: TestRealFIFO_ReplaceAtomic, for its bookmarks. Ours do not split a batch: they only move its
/// version.
#[tokio::test(start_paused = true)]
async fn a_bookmark_moves_the_version_of_its_scope_in_its_turn() {
    let (mut sender, mut receiver) = queue(one_at_a_time());
    sender.added(object("a", 1)).await.unwrap();
    sender.bookmark(version(5)).await.unwrap();
    sender.bookmark(version(6)).await.unwrap();
    sender.added(object("b", 7)).await.unwrap();
    check_batches(&mut receiver, &["a: added@1; at 1", "; at 6", "b: added@7; at 7"]).await;
}

#[tokio::test(start_paused = true)]
async fn each_scope_reaches_its_own_version() {
    let scopes = ["x", "y"].map(|namespace| Scope::of(Some(namespace)));
    let (mut senders, mut receiver) = DeltaFifo::channel(scopes, QueueOptions::default(), None);
    senders[0].added(object("x/a", 10)).await.unwrap();
    senders[1].added(object("y/a", 3)).await.unwrap();
    senders[1].bookmark(version(4)).await.unwrap();
    senders[0].updated(object("x/a", 11)).await.unwrap();
    check_batches(
        &mut receiver,
        &["x/a: added@10 updated@11, y/a: added@3; at x@11 y@4"],
    )
    .await;
}

/// Upstream: TestDeltaFIFO_HasSynced, TestRealFIFO_HasSynced, TestDeltaFIFO_HasSyncedCorrectOnDeletion,
/// TestRealFIFO_HasSyncedCorrectOnDeletion. Upstream treats any first change as the initial state, and counts
/// objects; here only a whole state counts, and it is popped in one step with its deletions.
#[tokio::test(start_paused = true)]
async fn the_queue_has_synced_when_the_first_replacement_of_every_scope_is_popped() {
    let scopes = ["x", "y"].map(|namespace| Scope::of(Some(namespace)));
    let (mut senders, mut receiver) = DeltaFifo::channel(scopes, QueueOptions::default(), None);
    assert!(!receiver.has_synced(), "nothing was sent");
    senders[0].added(object("x/a", 1)).await.unwrap();
    pop(&mut receiver).await;
    assert!(!receiver.has_synced(), "a change is not a state");

    replace(
        &senders[0],
        2,
        &[object("x/a", 1), object("x/a", 2), object("x/b", 2)],
    )
    .await;
    replace(&senders[1], 2, &[]).await;
    assert!(!receiver.has_synced(), "nobody has taken it");
    assert_eq!(pop(&mut receiver).await, "replace at 2: x/a@2 x/b@2, first");
    assert!(!receiver.has_synced(), "one scope is missing");
    assert_eq!(pop(&mut receiver).await, "replace at 2: , first");
    assert!(receiver.has_synced(), "an empty state is a state");

    replace(&senders[0], 3, &[object("x/c", 3)]).await;
    assert!(receiver.has_synced(), "it never goes back");
    assert_eq!(pop(&mut receiver).await, "replace at 3: x/c@3");
}

/// Objects of an interrupted watch-list are never visible (guarantee I4), nor are objects it deleted.
#[tokio::test(start_paused = true)]
async fn a_state_is_collected_out_of_sight() {
    let (sender, mut receiver) = queue(QueueOptions::default());
    let mut abandoned = sender.begin_replace();
    abandoned.upsert(object("ghost", 1)).await;
    drop(abandoned);
    check_batches(&mut receiver, &[]).await;

    let mut state = sender.begin_replace();
    for (name, number) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
        state.upsert(object(name, number)).await;
    }
    state.remove(&ObjectKey::cluster("b")).await;
    assert_eq!(state.len(), 2);
    state.remove(&ObjectKey::cluster("c")).await;
    state.upsert(object("c", 5)).await;
    sender.replace_all(state.finish(version(5)).await).await.unwrap();
    check_batches(&mut receiver, &["replace at 5: a@3 c@5, first"]).await;
}
