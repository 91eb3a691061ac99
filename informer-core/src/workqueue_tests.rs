//! The queue on a paused clock, ported from client-go.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::{advance, sleep};

use super::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The next key, which has to be ready.
#[track_caller]
fn next<T: QueueKey>(queue: &WorkQueue<T>) -> Item<T> {
    let item = queue.get().now_or_never().expect("a key is ready");
    item.expect("the queue is open")
}

/// Checks that no key is ready, and that the queue is open.
#[track_caller]
fn nothing<T: QueueKey + std::fmt::Debug>(queue: &WorkQueue<T>) {
    if let Some(found) = queue.get().now_or_never() {
        panic!("expected to wait, but found {found:?}");
    }
}

/// Upstream: TestLen.
#[tokio::test(start_paused = true)]
async fn keys_that_are_queued_already_do_not_count() {
    let queue = WorkQueue::new();
    queue.add("foo");
    assert_eq!(queue.len(), 1);
    queue.add("bar");
    assert_eq!(queue.len(), 2);
    queue.add("foo");
    assert_eq!(queue.len(), 2);
    assert!(!queue.is_empty());
}

/// Upstream: TestReinsert.
#[tokio::test(start_paused = true)]
async fn a_key_added_while_processed_is_handed_out_once_more() {
    let queue = WorkQueue::new();
    queue.add("foo");
    let item = next(&queue);
    queue.add("foo");
    queue.add("foo");
    nothing(&queue);
    drop(item);
    let again = next(&queue);
    assert_eq!(*again, "foo");
    drop(again);
    nothing(&queue);
    assert_eq!(queue.len(), 0);
}

/// Upstream: TestCollapse. There a hook is called for the second addition; here a higher priority has an
/// effect.
#[tokio::test(start_paused = true)]
async fn two_additions_are_one_item() {
    let queue = WorkQueue::new();
    queue.add("bar");
    queue.add("bar");
    let item = next(&queue);
    assert_eq!(item.key(), &"bar");
    drop(item);
    assert_eq!(queue.len(), 0);
    nothing(&queue);
}

/// Upstream: TestCollapseWhileProcessing.
#[tokio::test(start_paused = true)]
async fn a_second_worker_waits_until_the_first_is_done() {
    let queue = WorkQueue::new();
    queue.add("bar");
    let item = next(&queue);
    queue.add("bar");
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item) }
    });
    sleep(ms(100)).await;
    assert!(!second.is_finished());
    drop(item);
    assert_eq!(second.await.unwrap(), Some("bar"));
    assert_eq!(queue.len(), 0);
}

/// Upstream: TestSimpleQueue.
#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_ready_after_its_delay_and_once() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(50));
    assert_eq!(queue.len(), 0);
    advance(ms(49)).await;
    nothing(&queue);
    advance(ms(11)).await;
    assert_eq!(queue.len(), 1);
    let item = next(&queue);
    assert_eq!((*item, item.waited()), ("foo", ms(10)));
    drop(item);
    advance(Duration::from_secs(10)).await;
    nothing(&queue);
    assert_eq!(queue.status().delayed, 0);
}

/// Upstream: TestDeduping.
#[tokio::test(start_paused = true)]
async fn the_earliest_of_several_delays_counts() {
    let queue = WorkQueue::new();
    for delays in [[50, 70], [60, 30]] {
        queue.add_after("foo", ms(delays[0]));
        queue.add_after("foo", ms(delays[1]));
        let first = *delays.iter().min().unwrap();
        advance(ms(first - 1)).await;
        nothing(&queue);
        advance(ms(1)).await;
        assert_eq!(*next(&queue), "foo");
        advance(ms(100)).await;
        nothing(&queue);
    }
}

/// Upstream: TestAddTwoFireEarly.
#[tokio::test(start_paused = true)]
async fn a_shorter_delay_that_is_added_later_ends_first() {
    let queue = WorkQueue::new();
    queue.add_after("foo", Duration::from_secs(1));
    queue.add_after("bar", ms(50));
    let start = tokio::time::Instant::now();
    let order = async {
        let mut order = Vec::new();
        for _ in 0..2 {
            order.push((*queue.get().await.unwrap(), start.elapsed()));
        }
        queue.add_after("bar", Duration::from_secs(2));
        order.push((*queue.get().await.unwrap(), start.elapsed()));
        order
    };
    assert_eq!(
        order.await,
        [("bar", ms(50)), ("foo", ms(1_000)), ("bar", ms(3_000))]
    );
}

/// Upstream: TestCopyShifting.
#[tokio::test(start_paused = true)]
async fn keys_whose_delays_end_together_are_taken_in_order_of_time() {
    let queue = WorkQueue::new();
    queue.add_after("foo", Duration::from_secs(1));
    queue.add_after("bar", ms(500));
    queue.add_after("baz", ms(250));
    nothing(&queue);
    advance(Duration::from_secs(2)).await;
    assert_eq!(queue.len(), 3);
    let order = [next(&queue), next(&queue), next(&queue)].map(|item| *item);
    assert_eq!(order, ["baz", "bar", "foo"]);
}

/// Upstream: TestRateLimitingQueue.
#[tokio::test(start_paused = true)]
async fn a_rate_limited_addition_uses_the_delay_of_the_limiter() {
    let limiter = limiter::ExponentialBackoff::new(ms(1), Duration::from_secs(1));
    let queue = WorkQueue::with_limiter(limiter);
    assert_eq!(queue.add_rate_limited("one"), ms(1));
    assert_eq!(queue.add_rate_limited("one"), ms(2));
    assert_eq!(queue.retries(&"one"), 2);
    assert_eq!(queue.add_rate_limited("two"), ms(1));
    assert_eq!(queue.add_rate_limited("two"), ms(2));
    assert_eq!(queue.retries(&"two"), 2);
    assert_eq!(queue.status().delayed, 2);
    queue.forget(&"one");
    assert_eq!(queue.retries(&"one"), 0);
    assert_eq!(queue.add_rate_limited("one"), ms(1));
    advance(ms(1)).await;
    assert_eq!([next(&queue), next(&queue)].map(|item| *item), ["one", "two"]);
    advance(ms(10)).await;
    nothing(&queue);
}
