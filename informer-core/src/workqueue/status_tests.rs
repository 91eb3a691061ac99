//! Counts and times, ported from client-go's metrics.

use tokio::time::advance;

use super::super::tests::{ms, next};
use super::super::{Priority, WorkQueue};
use super::*;

/// Upstream: TestMetrics. Its histograms are `Item::waited`, and the time between get and drop.
#[tokio::test(start_paused = true)]
async fn a_status_counts_keys_and_measures_items() {
    let queue = WorkQueue::new();
    assert_eq!(queue.status(), QueueStatus::default());

    queue.add("foo");
    queue.add("foo");
    advance(ms(50)).await;
    let waiting = queue.status();
    assert_eq!((waiting.ready, waiting.adds), (1, 1));
    assert_eq!(waiting.oldest_waiting, Some(ms(50)));

    let item = next(&queue);
    assert_eq!(item.waited(), ms(50));
    queue.add("foo");
    advance(ms(25)).await;
    let second = {
        queue.add("bar");
        next(&queue)
    };
    advance(ms(10)).await;
    let running = queue.status();
    assert_eq!((running.ready, running.processing, running.adds), (0, 2, 3));
    assert_eq!(running.oldest_waiting, None);
    assert_eq!(running.longest_running, Some(ms(35)));
    assert_eq!(running.unfinished, ms(45));

    drop(item);
    advance(ms(5)).await;
    let done = queue.status();
    assert_eq!((done.ready, done.processing), (1, 1));
    assert_eq!(done.longest_running, Some(ms(15)));
    assert_eq!(
        done.oldest_waiting,
        Some(ms(5)),
        "ready since the item was dropped"
    );
    drop(second);
    assert_eq!(next(&queue).waited(), ms(5));
    assert_eq!(queue.status().unfinished, ms(0));
}

/// Upstream: TestMetricShutdown. Nothing runs in the background here, so only the counts can change.
#[tokio::test(start_paused = true)]
async fn nothing_is_counted_after_a_shut_down() {
    let queue = WorkQueue::new();
    queue.shut_down();
    queue.add("foo");
    queue.add_after("foo", ms(1));
    queue.add_rate_limited("foo");
    advance(ms(100)).await;
    assert_eq!(queue.status(), QueueStatus::default());
    assert_eq!(queue.retries(&"foo"), 1, "the limiter has counted it");
}

#[tokio::test(start_paused = true)]
async fn delayed_and_low_keys_and_retries_are_counted() {
    let queue = WorkQueue::new();
    queue.add_with("low", Priority::Low);
    advance(ms(3)).await;
    queue.add("normal");
    queue.add_after("delayed", ms(10));
    queue.add_after("low", ms(10));
    queue.add_rate_limited("limited");
    let status = queue.status();
    assert_eq!((status.ready, status.low_priority, status.delayed), (2, 1, 3));
    assert_eq!((status.adds, status.retries), (2, 3));
    assert_eq!(status.oldest_waiting, Some(ms(3)));
    advance(ms(10)).await;
    let status = queue.status();
    assert_eq!((status.ready, status.delayed, status.adds), (4, 0, 4));
}

#[tokio::test(start_paused = true)]
async fn debug_output_has_counts_and_no_keys() {
    let queue = WorkQueue::new();
    queue.add("secret");
    let text = format!("{queue:?} {:?}", WorkQueue::<u8>::builder());
    assert!(text.contains("ready: 1") && !text.contains("secret"), "{text}");
}
