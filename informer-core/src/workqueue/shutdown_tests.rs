//! Shut-down, drain and abort, ported from client-go and beyond.

use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::{advance, sleep};

use super::super::tests::{ms, next, nothing};
use super::super::{Item, Priority};
use super::*;

/// Starts a drain, and lets it run until it waits.
async fn draining(queue: &WorkQueue<&'static str>) -> JoinHandle<Left<&'static str>> {
    let task = tokio::spawn({
        let queue = queue.clone();
        async move { queue.drain().await }
    });
    sleep(ms(1)).await;
    task
}

/// A queue with two keys that are being processed.
fn two_items() -> (WorkQueue<&'static str>, [Item<&'static str>; 2]) {
    let queue = WorkQueue::new();
    queue.add("foo");
    queue.add("bar");
    let items = [next(&queue), next(&queue)];
    (queue, items)
}

/// Upstream: TestQueueDrainageUsingShutDownWithDrain.
#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_all_items() {
    let (queue, [foo, bar]) = two_items();
    let drain = draining(&queue).await;
    queue.add("ignored");
    drop(foo);
    sleep(ms(10)).await;
    assert!(!drain.is_finished());
    drop(bar);
    let left = drain.await.unwrap();
    assert_eq!((left.delayed.len(), left.running), (0, 0));
    assert!(queue.get().await.is_none());
}

/// Upstream: TestNoQueueDrainageUsingShutDown.
#[tokio::test(start_paused = true)]
async fn a_shut_down_does_not_wait() {
    let (queue, _items) = two_items();
    queue.add("queued");
    queue.shut_down();
    assert!(queue.is_shut_down());
    assert_eq!(*next(&queue), "queued");
    assert!(queue.get().now_or_never().unwrap().is_none());
    assert_eq!(queue.status().processing, 2);
}

/// Upstream: TestForceQueueShutdownUsingShutDown. There a second shut-down ends the drain.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_drain() {
    let (queue, items) = two_items();
    let drain = draining(&queue).await;
    queue.shut_down();
    sleep(ms(10)).await;
    assert!(!drain.is_finished(), "a shut-down is part of the drain");
    assert_eq!(queue.abort(), [""; 0]);
    assert_eq!(drain.await.unwrap().running, 2);
    drop(items);
    assert_eq!(queue.drain().await.running, 0);
}

/// Upstream: TestQueueDrainageUsingShutDownWithDrainWithDirtyItem.
#[tokio::test(start_paused = true)]
async fn a_drain_processes_keys_that_were_added_again() {
    let (queue, [foo, bar]) = two_items();
    queue.add("foo");
    let drain = draining(&queue).await;
    drop(bar);
    let waiting = queue.get();
    drop(foo);
    let again = waiting.await.unwrap();
    sleep(ms(10)).await;
    assert!(!drain.is_finished());
    assert_eq!(*again, "foo");
    drop(again);
    drain.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_get_waits_for_a_key_that_was_added_again_before_the_shut_down() {
    let (queue, [foo, bar]) = two_items();
    queue.add("foo");
    queue.shut_down();
    drop(bar);
    nothing(&queue);
    drop(foo);
    assert_eq!(*next(&queue), "foo");
    assert!(queue.get().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_queued_keys_and_reports_delayed_ones() {
    let queue = WorkQueue::new();
    queue.add("queued");
    queue.add_after("late", ms(700));
    queue.add_after("early", ms(300));
    queue.add_after("due", ms(50));
    sleep(ms(100)).await;
    let drain = draining(&queue).await;
    queue.add_after("ignored", ms(1));
    sleep(ms(500)).await;
    assert_eq!([next(&queue), next(&queue)].map(|item| *item), ["queued", "due"]);
    let left = drain.await.unwrap();
    assert_eq!(left.delayed, [("early", ms(0)), ("late", ms(99))]);
    assert_eq!(queue.drain().await.delayed, [], "each is reported once");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_drain_loses_nothing() {
    let (queue, items) = two_items();
    queue.add_after("delayed", ms(10));
    drop(queue.drain().now_or_never());
    assert!(queue.is_shut_down());
    drop(items);
    assert_eq!(queue.drain().await.delayed, [("delayed", ms(10))]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_takes_back_each_key_once() {
    let queue = WorkQueue::new();
    for key in ["running", "again 1", "again 2", "again 3", "low", "raised"] {
        queue.add_with(key, Priority::Low);
    }
    let items = [(); 4].map(|()| next(&queue));
    for key in ["raised", "normal", "again 3", "again 1", "again 2"] {
        queue.add(key);
    }
    for key in ["again 1", "low", "running", "delayed"] {
        queue.add_after(key, ms(10));
    }
    assert_eq!(
        queue.abort(),
        [
            "raised", "normal", "low", "again 1", "again 2", "again 3", "running", "delayed"
        ]
    );
    assert!(queue.get().now_or_never().unwrap().is_none());
    assert_eq!(queue.abort(), [""; 0]);
    drop(items);
    queue.add("ignored");
    advance(ms(20)).await;
    assert!(queue.get().now_or_never().unwrap().is_none());
    let status = queue.status();
    assert_eq!((status.ready, status.delayed, status.processing), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn every_waiting_task_ends_with_the_queue() {
    for end in [WorkQueue::shut_down, |queue: &WorkQueue<u8>| drop(queue.abort())] {
        let queue = WorkQueue::new();
        queue.add_after(1, ms(1_000));
        let workers: Vec<_> = (0..5)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.get().await.is_none() })
            })
            .collect();
        sleep(ms(1)).await;
        end(&queue);
        for worker in workers {
            assert!(worker.await.unwrap());
        }
    }
}
