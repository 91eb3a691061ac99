//! The order of priorities, and its bound.

use super::super::slots::KEPT;
use super::super::tests::{ms, next, nothing};
use super::super::{Item, WorkQueue};
use super::*;

/// Takes all ready keys, and finishes each at once.
fn take_all(queue: &WorkQueue<u32>) -> Vec<u32> {
    let mut keys = Vec::new();
    while !queue.is_empty() {
        keys.push(*next(queue));
    }
    keys
}

fn with_low(keys: std::ops::Range<u32>) -> WorkQueue<u32> {
    let queue = WorkQueue::new();
    keys.for_each(|key| queue.add_with(key, Priority::Low));
    queue
}

#[tokio::test(start_paused = true)]
async fn normal_keys_overtake_low_ones_and_one_of_eight_is_low() {
    let queue = with_low(0..3);
    (100..120).for_each(|key| queue.add(key));
    let expected: Vec<u32> = (100..107)
        .chain([0])
        .chain(107..114)
        .chain([1])
        .chain(114..120)
        .chain([2])
        .collect();
    assert_eq!(take_all(&queue), expected);
}

#[tokio::test(start_paused = true)]
async fn a_fresh_change_is_taken_before_a_large_initial_state() {
    let queue = with_low(0..10_000);
    queue.add(10_000);
    let item = next(&queue);
    assert_eq!((*item, item.priority()), (10_000, Priority::Normal));
    assert_eq!(*next(&queue), 0);
    assert_eq!(queue.status().low_priority, 9_999);
}

#[tokio::test(start_paused = true)]
async fn a_queued_key_that_is_added_with_a_higher_priority_moves() {
    let queue = with_low(0..3);
    queue.add(2);
    queue.add_with(2, Priority::Low);
    assert_eq!((queue.len(), queue.status().low_priority), (3, 2));
    assert_eq!(take_all(&queue), [2, 0, 1]);
    nothing(&queue);
}

#[tokio::test(start_paused = true)]
async fn an_addition_while_processed_keeps_the_highest_priority() {
    let queue = with_low(0..1);
    let priority_after = |priorities: &[Priority]| {
        let item = next(&queue);
        for priority in priorities {
            queue.add_with(*item, *priority);
        }
        drop(item);
        let priority = next(&queue).priority();
        queue.add_with(0, Priority::Low);
        priority
    };
    use Priority::{Low, Normal};
    assert_eq!(priority_after(&[Low]), Low);
    assert_eq!(priority_after(&[Low, Normal]), Normal);
    assert_eq!(priority_after(&[Normal, Low]), Normal);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_keeps_the_highest_priority_and_the_earliest_time() {
    let queue = WorkQueue::new();
    queue.add_after_with("raised", ms(10), Priority::Low);
    queue.add_after_with("raised", ms(20), Priority::Normal);
    queue.add_after_with("low", ms(5), Priority::Low);
    tokio::time::advance(ms(10)).await;
    let items: [Item<&str>; 2] = [next(&queue), next(&queue)];
    assert_eq!(
        items.map(|item| (*item, item.priority(), item.waited())),
        [("raised", Priority::Normal, ms(0)), ("low", Priority::Low, ms(5))]
    );
}

#[tokio::test(start_paused = true)]
async fn a_raised_key_has_waited_since_it_was_first_added() {
    let queue = with_low(0..1);
    tokio::time::advance(ms(10)).await;
    queue.add(0);
    tokio::time::advance(ms(5)).await;
    assert_eq!(next(&queue).waited(), ms(15));
}

#[tokio::test(start_paused = true)]
async fn ignored_priorities_are_one_line() {
    let queue = WorkQueue::builder().priorities(Priorities::Ignored).build();
    queue.add_with("low", Priority::Low);
    queue.add("normal");
    assert_eq!(queue.status().low_priority, 0);
    let first = next(&queue);
    assert_eq!((*first, first.priority()), ("low", Priority::Normal));
}

#[tokio::test(start_paused = true)]
async fn a_weight_below_two_is_treated_as_two() {
    for low_every in [0, 1, 2] {
        let priorities = Priorities::Weighted { low_every };
        let queue = WorkQueue::builder().priorities(priorities).build();
        (0..2).for_each(|key| queue.add_with(key, Priority::Low));
        (10..13).for_each(|key| queue.add(key));
        assert_eq!(take_all(&queue), [10, 0, 11, 1, 12], "{low_every}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_gives_its_memory_back() {
    let queue = with_low(0..10_000);
    (10_000..20_000).for_each(|key| queue.add(key));
    take_all(&queue);
    assert!(queue.shared.inner.lock().state.capacity() <= KEPT);
    queue.add(1);
    assert_eq!(*next(&queue), 1);
}

/// Raised keys once left entries behind, which counted again if the key was added within a tick of the clock.
#[tokio::test(start_paused = true)]
async fn a_raised_key_that_is_added_again_waits_at_the_end() {
    let queue = with_low(0..3);
    queue.add(1);
    assert_eq!(*next(&queue), 1);
    queue.add_with(1, Priority::Low);
    assert_eq!(take_all(&queue), [0, 2, 1]);
}
