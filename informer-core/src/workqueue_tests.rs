//! The queue on a paused clock, ported from client-go.

use std::collections::HashMap;
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{advance, sleep};

use super::*;

pub(super) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The next key, which has to be ready.
#[track_caller]
pub(super) fn next<T: QueueKey>(queue: &WorkQueue<T>) -> Item<T> {
    // Without tokio's budget: a test may take any number of keys without letting other tasks run.
    let get = tokio::task::unconstrained(queue.get());
    let item = get.now_or_never().expect("a key is ready");
    item.expect("the queue is open")
}

/// Checks that no key is ready, and that the queue is open.
#[track_caller]
pub(super) fn nothing<T: QueueKey + std::fmt::Debug>(queue: &WorkQueue<T>) {
    if let Some(found) = queue.get().now_or_never() {
        panic!("expected to wait, but found {found:?}");
    }
}

/// Upstream: TestBasic. 50 tasks add their numbers 50 times, 10 workers take them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_key_of_many_tasks_is_processed_and_none_after_the_shut_down() {
    let queue = WorkQueue::new();
    let work = |queue: WorkQueue<usize>| async move {
        let mut counts: HashMap<usize, u32> = HashMap::new();
        while let Some(item) = queue.get().await {
            assert_ne!(*item, usize::MAX, "added after the shut-down");
            *counts.entry(*item).or_default() += 1;
            tokio::task::yield_now().await;
        }
        counts
    };
    let workers: Vec<_> = (0..10).map(|_| tokio::spawn(work(queue.clone()))).collect();
    let produce = |queue: WorkQueue<usize>, number: usize| async move {
        for _ in 0..50 {
            queue.add(number);
            tokio::task::yield_now().await;
        }
    };
    let producers: Vec<_> = (0..50)
        .map(|number| tokio::spawn(produce(queue.clone(), number)))
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    queue.shut_down();
    queue.add(usize::MAX);
    let mut all: HashMap<usize, u32> = HashMap::new();
    for worker in workers {
        for (key, count) in worker.await.unwrap() {
            *all.entry(key).or_default() += count;
        }
    }
    assert_eq!(all.len(), 50);
    assert!(all.values().all(|count| (1..=50).contains(count)), "{all:?}");
    assert_eq!(queue.len(), 0);
}

/// Upstream: TestAddWhileProcessing. Every worker adds its key again, once.
#[tokio::test(start_paused = true)]
async fn every_key_that_is_added_by_its_worker_is_processed_again() {
    let queue = WorkQueue::<i32>::new();
    let mut workers = Vec::new();
    for _ in 0..10 {
        let queue = queue.clone();
        workers.push(tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(item) = queue.get().await {
                if item.priority() == Priority::Low {
                    queue.add(*item);
                }
                sleep(ms(2)).await;
                taken.push(*item);
            }
            taken
        }));
    }
    (0..50).for_each(|key| queue.add_with(key, Priority::Low));
    sleep(ms(1_000)).await;
    assert_eq!(queue.len(), 0);
    queue.drain().await;
    let mut taken = Vec::new();
    for worker in workers {
        taken.extend(worker.await.unwrap());
    }
    taken.sort_unstable();
    let expected: Vec<i32> = (0..50).flat_map(|key| [key, key]).collect();
    assert_eq!(taken, expected);
    assert_eq!(queue.status().processing, 0);
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

#[tokio::test(start_paused = true)]
async fn an_addition_by_reference_clones_only_keys_that_are_not_in_the_queue() {
    /// Counts its clones.
    #[derive(Debug)]
    struct Counted(Arc<AtomicU32>);
    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }
    }
    impl Eq for Counted {}
    impl std::hash::Hash for Counted {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }
    impl Clone for Counted {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Ordering::Relaxed);
            Self(self.0.clone())
        }
    }
    let (queue, key) = (WorkQueue::new(), Counted(Arc::default()));
    let clones = || key.0.load(Ordering::Relaxed);
    queue.add_ref(&key);
    assert_eq!((queue.len(), clones()), (1, 1));
    queue.add_ref(&key);
    assert_eq!((queue.len(), clones()), (1, 1), "it is queued");
    let item = next(&queue);
    let taken = clones();
    queue.add_ref(&key);
    assert_eq!(clones(), taken, "it is being processed");
    drop(item);
    assert_eq!(queue.len(), 1, "it was added again");
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

/// Upstream: TestGarbageCollection.
#[tokio::test(start_paused = true)]
async fn a_queue_keeps_no_key_that_is_done() {
    let queue = WorkQueue::new();
    let mut keys: Vec<Weak<u32>> = Vec::new();
    for number in 0..3 {
        let key = Arc::new(number);
        keys.push(Arc::downgrade(&key));
        queue.add_with(key.clone(), Priority::Low);
        queue.add_after(key.clone(), ms(1));
        queue.add(key);
    }
    advance(ms(2)).await;
    for _ in 0..3 {
        drop(next(&queue));
    }
    assert!(keys.iter().all(|key| key.upgrade().is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_delay_can_be_cancelled_and_does_not_touch_a_queued_key() {
    let queue = WorkQueue::new();
    queue.add("foo");
    queue.add_after("foo", ms(50));
    queue.add_after("bar", ms(50));
    assert!(queue.cancel_delayed(&"foo"));
    assert!(!queue.cancel_delayed(&"foo"));
    assert_eq!(*next(&queue), "foo");
    advance(ms(50)).await;
    assert!(!queue.cancel_delayed(&"bar"), "its delay has ended");
    assert_eq!(*next(&queue), "bar");
    nothing(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_delay_of_zero_is_an_addition_and_an_endless_one_never_ends() {
    let queue = WorkQueue::new();
    queue.add_after("now", Duration::ZERO);
    queue.add_after("never", Duration::MAX);
    assert_eq!(*next(&queue), "now");
    advance(Duration::from_secs(9 * 365 * 24 * 3_600)).await;
    nothing(&queue);
    let item = queue.get().await.unwrap();
    assert_eq!(*item, "never");
}

#[tokio::test(start_paused = true)]
async fn keys_become_ready_in_the_order_of_their_times() {
    let queue = WorkQueue::new();
    queue.add_after("delayed", ms(10));
    advance(ms(20)).await;
    // Nothing was called since the delay ended.
    queue.add("later");
    assert_eq!(
        [next(&queue), next(&queue)].map(|item| *item),
        ["delayed", "later"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_item_can_be_moved_to_another_task() {
    let queue = WorkQueue::new();
    queue.add("foo");
    let item = next(&queue);
    let task = tokio::spawn(async move {
        sleep(ms(5)).await;
        drop(item);
    });
    queue.add("foo");
    nothing(&queue);
    task.await.unwrap();
    assert_eq!(*next(&queue), "foo");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_never_waits_lets_other_tasks_run() {
    let queue = WorkQueue::new();
    queue.add(0);
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            while let Some(item) = queue.get().await {
                queue.add(*item);
            }
        }
    });
    tokio::task::yield_now().await;
    queue.abort();
    worker.await.unwrap();
}
