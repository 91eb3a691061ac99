//! C1, C3 and C7: the guarantees of controllers that the work queue keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use informers::workqueue::limiter::ExponentialBackoff;
use informers::workqueue::{Priority, WorkQueue};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

/// The work on one key.
#[derive(Default)]
struct Key {
    busy: AtomicBool,
    /// Raised before each addition.
    wanted: AtomicU32,
    /// The value of `wanted` that the last item of the key started with.
    seen: AtomicU32,
}

/// Adds keys at random from several threads, with all kinds of additions, while workers process them. No key
/// may be processed twice at once, and after the last addition of a key an item of it must start.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c01_no_key_is_on_two_workers_and_no_addition_is_lost() {
    let queue: WorkQueue<usize> = WorkQueue::new();
    let keys: Arc<[Key]> = (0..4).map(|_| Key::default()).collect();
    let mut workers = Vec::new();
    for _ in 0..4 {
        let (queue, keys) = (queue.clone(), keys.clone());
        workers.push(tokio::spawn(async move {
            while let Some(item) = queue.get().await {
                let key = &keys[*item];
                assert!(!key.busy.swap(true, SeqCst), "two items of one key");
                key.seen.store(key.wanted.load(SeqCst), SeqCst);
                tokio::task::yield_now().await;
                key.busy.store(false, SeqCst);
            }
        }));
    }
    let mut producers = Vec::new();
    for seed in 0..4 {
        let (queue, keys) = (queue.clone(), keys.clone());
        producers.push(tokio::spawn(async move {
            let mut random = SmallRng::seed_from_u64(seed);
            for _ in 0..5_000 {
                let key = random.random_range(0..keys.len());
                keys[key].wanted.fetch_add(1, SeqCst);
                match random.random_range(0..4) {
                    0 => queue.add_with(key, Priority::Low),
                    1 => queue.add_after(key, Duration::from_micros(random.random_range(0..50))),
                    _ => queue.add(key),
                }
                if random.random_range(0..4) == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for producer in producers {
        producer.await.unwrap();
    }
    // Delayed additions end first, so that the drain has none to report.
    while queue.status().delayed > 0 {
        tokio::task::yield_now().await;
    }
    queue.drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    for key in keys.iter() {
        assert_eq!(key.seen.load(SeqCst), key.wanted.load(SeqCst));
    }
}

#[tokio::test(start_paused = true)]
async fn c01_a_key_that_is_being_processed_is_not_handed_out() {
    let queue = WorkQueue::new();
    queue.add("key");
    let first = queue.get().await.unwrap();
    queue.add("key");
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item) }
    });
    sleep(Duration::from_secs(60)).await;
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.await.unwrap(), Some("key"));
}

#[tokio::test(start_paused = true)]
async fn c03_failures_are_retried_with_growing_bounded_delays_until_a_success() {
    let longest = Duration::from_secs(10);
    let queue = WorkQueue::with_limiter(ExponentialBackoff::new(Duration::from_millis(5), longest));
    queue.add("key");
    let mut failed = None;
    let mut waits = Vec::new();
    for _ in 0..20 {
        let item = queue.get().await.unwrap();
        waits.extend(failed.map(|failed: Instant| failed.elapsed()));
        queue.add_rate_limited(*item);
        failed = Some(Instant::now());
    }
    let grow = |pair: &[Duration]| pair[1] == (pair[0] * 2).min(longest);
    assert!(waits.windows(2).all(grow), "{waits:?}");
    assert_eq!((waits[0], waits[18]), (Duration::from_millis(5), longest));

    let item = queue.get().await.unwrap();
    queue.forget(&item);
    assert_eq!(queue.retries(&item), 0);
    assert_eq!(queue.add_rate_limited(*item), Duration::from_millis(5));
}

/// Two normal keys are added for each one that is taken, so the normal line is never empty.
#[tokio::test(start_paused = true)]
async fn c07_a_low_key_at_position_p_is_taken_after_at_most_eight_times_p() {
    let queue = WorkQueue::new();
    let low = 0..20_u32;
    low.clone().for_each(|key| queue.add_with(key, Priority::Low));
    let mut fresh = 1_000..;
    let mut taken = Vec::new();
    for _ in 0..8 * low.len() {
        fresh.by_ref().take(2).for_each(|key| queue.add(key));
        taken.push(*queue.get().await.unwrap());
    }
    for (position, key) in (1..).zip(low) {
        let after = taken
            .iter()
            .position(|taken| *taken == key)
            .map(|index| index + 1);
        assert!(
            after.is_some_and(|after| after <= 8 * position),
            "{key} at position {position} was taken after {after:?}"
        );
    }
}
