//! The queue's bounds and its ends: waiting, wake-ups, and dropped waits.

use std::sync::Arc;
use std::time::Duration;

use informer_core::Scope;
use informer_core::delta::{Closed, DeltaFifo, DeltaReceiver, DeltaSender, QueueOptions, ResyncTicket};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::queue_support::{LONG, check_batches, object, pop, queue, replace, version};

/// A queue of capacity one with one change in it.
async fn full() -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let (mut sender, receiver) = queue(QueueOptions::default().capacity(1).batch(1));
    sender.added(object("first", 1)).await.unwrap();
    (sender, receiver)
}

/// Sends from a separate task.
fn send(sender: &DeltaSender<ConfigMap>, name: &str, at: u64) -> JoinHandle<Result<(), Closed>> {
    let mut sender = sender.clone();
    let object = object(name, at);
    tokio::spawn(async move { sender.added(object).await.map(drop) })
}

/// Lets every task run until it waits: the paused clock moves only then.
async fn settle() {
    sleep(Duration::from_secs(1)).await;
}

async fn outcome(task: JoinHandle<Result<(), Closed>>) -> Result<(), Closed> {
    timeout(LONG, task)
        .await
        .expect("the sender was not woken")
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_holds_the_sender_back_until_a_pop() {
    let (sender, mut receiver) = full().await;
    let waiting = send(&sender, "second", 2);
    settle().await;
    assert!(!waiting.is_finished(), "there was no room");
    assert_eq!(receiver.len(), 1);
    assert_eq!(pop(&mut receiver).await, "first: added@1; at 1");
    outcome(waiting).await.unwrap();
    assert_eq!(pop(&mut receiver).await, "second: added@2; at 2");
}

#[tokio::test(start_paused = true)]
async fn ten_senders_that_wait_all_get_their_turn() {
    let (sender, mut receiver) = full().await;
    let waiting: Vec<_> = (0..10)
        .map(|number| send(&sender, &number.to_string(), number + 2))
        .collect();
    settle().await;
    let mut popped = Vec::new();
    for _ in 0..11 {
        popped.push(pop(&mut receiver).await);
        assert!(receiver.len() <= 1, "never more than the capacity");
    }
    for task in waiting {
        outcome(task).await.unwrap();
    }
    popped.sort();
    popped.dedup();
    assert_eq!(popped.len(), 11, "each came out once: {popped:?}");
}

#[tokio::test(start_paused = true)]
async fn a_send_dropped_while_it_waits_enqueues_nothing_and_robs_nobody_of_a_wakeup() {
    let (sender, mut receiver) = full().await;
    let dropped = send(&sender, "dropped", 2);
    let kept = send(&sender, "kept", 3);
    settle().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert_eq!(pop(&mut receiver).await, "first: added@1; at 1");
    outcome(kept).await.unwrap();
    check_batches(&mut receiver, &["kept: added@3; at 3"]).await;
}

/// The woken task is dropped before it runs: the other one gets its room.
#[tokio::test(start_paused = true)]
async fn a_send_dropped_after_its_wakeup_leaves_the_room_to_others() {
    let (sender, mut receiver) = full().await;
    let dropped = send(&sender, "dropped", 2);
    let kept = send(&sender, "kept", 3);
    settle().await;
    pop(&mut receiver).await;
    dropped.abort();
    outcome(kept).await.unwrap();
    check_batches(&mut receiver, &["kept: added@3; at 3"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_pop_dropped_while_it_waits_takes_nothing() {
    let (mut sender, mut receiver) = queue(QueueOptions::default());
    timeout(LONG, receiver.pop()).await.expect_err("nothing was sent");
    sender.added(object("a", 1)).await.unwrap();
    check_batches(&mut receiver, &["a: added@1; at 1"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_pop_is_woken_by_each_kind_of_entry() {
    async fn check<F>(send: impl FnOnce(DeltaSender<ConfigMap>) -> F, expected: &str)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, mut receiver) = queue(QueueOptions::default());
        let waiting = tokio::spawn(async move { pop(&mut receiver).await });
        settle().await;
        // A separate sender keeps the queue open, so only the entry can wake the pop.
        let open = sender.clone();
        tokio::spawn(send(sender));
        assert_eq!(timeout(LONG, waiting).await.unwrap().unwrap(), expected);
        drop(open);
    }
    check(
        |mut sender| async move { drop(sender.deleted(object("a", 1)).await.unwrap()) },
        "a: deleted@1; at 1",
    )
    .await;
    check(
        |sender| async move { replace(&sender, 2, &[]).await },
        "replace at 2: , first",
    )
    .await;
    check(
        |sender| async move { sender.bookmark(version(3)).await.unwrap() },
        "; at 3",
    )
    .await;
    let ticket = ResyncTicket::new(vec![1]);
    check(
        |sender| async move { sender.sync_all(ticket).await.unwrap() },
        "resync",
    )
    .await;
}

/// Upstream: TestDeltaFIFO_PopShouldUnblockWhenClosed, TestRealFIFO_PopShouldUnblockWhenClosed, where ten
/// pops wait. Here there is one receiver, and a pop borrows it: ten cannot wait.
#[tokio::test(start_paused = true)]
async fn a_waiting_pop_ends_when_the_last_sender_is_dropped() {
    let (sender, mut receiver) = queue(QueueOptions::default());
    let other = sender.clone();
    let waiting = tokio::spawn(async move { pop(&mut receiver).await });
    drop(sender);
    settle().await;
    assert!(!waiting.is_finished(), "one sender is left");
    drop(other);
    assert_eq!(timeout(LONG, waiting).await.unwrap().unwrap(), "closed");
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_before_the_last_sender_was_dropped_is_popped_first() {
    let (mut sender, mut receiver) = queue(QueueOptions::default().batch(1));
    sender.added(object("a", 1)).await.unwrap();
    sender.added(object("b", 2)).await.unwrap();
    drop(sender);
    for expected in ["a: added@1; at 1", "b: added@2; at 2", "closed", "closed"] {
        assert_eq!(pop(&mut receiver).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_closes_refuses_senders_and_keeps_what_is_queued() {
    let (mut sender, mut receiver) = full().await;
    let waiting = [send(&sender, "second", 2), send(&sender, "third", 3)];
    settle().await;
    receiver.close();
    for task in waiting {
        assert_eq!(outcome(task).await, Err(Closed));
    }
    assert_eq!(sender.added(object("fourth", 4)).await, Err(Closed));
    assert_eq!(sender.bookmark(version(5)).await, Err(Closed));
    for expected in ["first: added@1; at 1", "closed"] {
        assert_eq!(pop(&mut receiver).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_senders_that_wait_learn_that_the_receiver_is_gone() {
    let (sender, receiver) = full().await;
    let waiting: Vec<_> = (0..10)
        .map(|number| send(&sender, &number.to_string(), number + 2))
        .collect();
    settle().await;
    drop(receiver);
    for task in waiting {
        assert_eq!(outcome(task).await, Err(Closed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_dropped_frees_what_was_queued() {
    let (mut sender, receiver) = queue(QueueOptions::default());
    let held = object("a", 1);
    sender.added(held.clone()).await.unwrap();
    assert_eq!(Arc::strong_count(&held), 2);
    drop(receiver);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_replacement_waits_for_the_first_of_its_scope_only() {
    let scopes = ["x", "y"].map(|namespace| Scope::of(Some(namespace)));
    let (senders, mut receiver) = DeltaFifo::channel(scopes, QueueOptions::default(), None);
    let [x, y] = senders.try_into().ok().unwrap();
    replace(&x, 1, &[object("x/a", 1)]).await;
    let waiting = {
        let x = x.clone();
        tokio::spawn(async move { replace(&x, 2, &[object("x/b", 2)]).await })
    };
    settle().await;
    assert!(!waiting.is_finished(), "the first is still queued");
    replace(&y, 3, &[]).await;
    assert_eq!(pop(&mut receiver).await, "replace at 1: x/a@1, first");
    timeout(LONG, waiting).await.unwrap().unwrap();
    check_batches(&mut receiver, &["replace at 3: , first", "replace at 2: x/b@2"]).await;
}

/// Changes never wait behind a replacement, nor it behind them: only their own bounds apply.
#[tokio::test(start_paused = true)]
async fn a_replacement_has_room_in_a_full_queue() {
    let (sender, mut receiver) = full().await;
    timeout(LONG, replace(&sender, 2, &[]))
        .await
        .expect("it waited for room it does not need");
    check_batches(&mut receiver, &["first: added@1; at 1", "replace at 2: , first"]).await;
}

#[tokio::test(start_paused = true)]
async fn bookmarks_cannot_fill_the_memory() {
    let scopes = ["x", "y"].map(|namespace| Scope::of(Some(namespace)));
    let (senders, mut receiver) =
        DeltaFifo::channel::<ConfigMap>(scopes, QueueOptions::default().capacity(5), None);
    // Two scopes in turn, so that no bookmark merges with its neighbour.
    let sending = tokio::spawn(async move {
        for number in 1..=10 {
            senders[number % 2]
                .bookmark(version(number as u64))
                .await
                .unwrap();
        }
        timeout(LONG, senders[1].bookmark(version(11)))
            .await
            .expect_err("there was no room");
    });
    sending.await.unwrap();
    assert_eq!(pop(&mut receiver).await, "; at x@10 y@9");
}

#[tokio::test(start_paused = true)]
async fn a_capacity_or_batch_of_nothing_counts_as_one() {
    let mut options = QueueOptions::default();
    options.capacity = 0;
    options.batch = 0;
    let (mut sender, mut receiver) = queue(options);
    let sent = timeout(LONG, sender.added(object("a", 1))).await;
    sent.expect("a queue without room would wait for ever").unwrap();
    check_batches(&mut receiver, &["a: added@1; at 1"]).await;
    assert!(receiver.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_queue_without_scopes_is_closed() {
    let (senders, mut receiver) = DeltaFifo::channel::<ConfigMap>([], QueueOptions::default(), None);
    assert!(senders.is_empty());
    assert_eq!(pop(&mut receiver).await, "closed");
}

/// Real threads and a tiny queue: nothing is lost, nothing hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_senders_on_many_threads_lose_nothing() {
    const SENDERS: u64 = 8;
    const EACH: u64 = 500;
    let (sender, mut receiver) = queue(QueueOptions::default().capacity(3).batch(2));
    let together = Arc::new(Barrier::new(SENDERS as usize));
    for number in 0..SENDERS {
        let (mut sender, together) = (sender.clone(), together.clone());
        tokio::spawn(async move {
            together.wait().await;
            for at in 1..=EACH {
                sender.updated(object(&number.to_string(), at)).await.unwrap();
            }
        });
    }
    drop(sender);
    let mut popped = 0;
    while let Some(batch) = timeout(LONG, receiver.pop()).await.expect("a wake-up was lost") {
        let informer_core::delta::Batch::Changes { deltas, .. } = batch else {
            panic!("only changes were sent");
        };
        popped += deltas
            .iter()
            .map(|deltas| deltas.changes.len() as u64)
            .sum::<u64>();
    }
    assert_eq!(popped, SENDERS * EACH);
}
