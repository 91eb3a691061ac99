//! Waiting for keys: no wake-up is lost when any of the tasks stops waiting, and one task keeps the time.

use std::time::Duration;

use counting::CountingWaker;
use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep, timeout};

use super::super::tests::{ms, next, nothing};
use super::*;

/// A waker that counts.
mod counting {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    pub(super) struct CountingWaker(AtomicUsize);

    impl CountingWaker {
        pub(super) fn new() -> (Arc<Self>, Waker) {
            let count = Arc::new(Self::default());
            (count.clone(), Waker::from(count))
        }

        pub(super) fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Starts a task that takes one key, and reports it with the time.
fn worker(queue: &WorkQueue<&'static str>) -> JoinHandle<(&'static str, Duration)> {
    let queue = queue.clone();
    let start = Instant::now();
    tokio::spawn(async move {
        // A lost wake-up fails the test instead of blocking it.
        let item = timeout(Duration::from_secs(3_600), queue.get()).await;
        let item = item.expect("woken").expect("the queue is open");
        (*item, start.elapsed())
    })
}

/// Polls once with a waker that counts.
fn poll(get: &mut Get<'_, &'static str>, waker: &Waker) -> Poll<Option<&'static str>> {
    get.poll_unpin(&mut Context::from_waker(waker))
        .map(|item| item.map(|item| *item))
}

#[tokio::test(start_paused = true)]
async fn a_get_that_is_dropped_takes_nothing() {
    let queue = WorkQueue::new();
    drop(queue.get());
    nothing(&queue);
    queue.add("foo");
    drop(queue.get());
    assert_eq!(*next(&queue), "foo");
}

#[tokio::test(start_paused = true)]
async fn a_woken_get_that_is_dropped_wakes_another() {
    let queue = WorkQueue::new();
    let (first_woken, first_waker) = CountingWaker::new();
    let (second_woken, second_waker) = CountingWaker::new();
    let (mut first, mut second) = (queue.get(), queue.get());
    assert!(poll(&mut first, &first_waker).is_pending());
    assert!(poll(&mut second, &second_waker).is_pending());
    queue.add("foo");
    assert_eq!((first_woken.count(), second_woken.count()), (1, 0));
    drop(first);
    assert_eq!(second_woken.count(), 1);
    assert_eq!(poll(&mut second, &second_waker), Poll::Ready(Some("foo")));
}

#[tokio::test(start_paused = true)]
async fn each_addition_wakes_one_task() {
    let queue = WorkQueue::new();
    let wakers: Vec<_> = (0..4).map(|_| CountingWaker::new()).collect();
    let mut gets: Vec<_> = wakers.iter().map(|_| queue.get()).collect();
    for (get, (_, waker)) in gets.iter_mut().zip(&wakers) {
        assert!(poll(get, waker).is_pending());
    }
    queue.add("foo");
    queue.add("bar");
    let counts: Vec<_> = wakers.iter().map(|(count, _)| count.count()).collect();
    assert_eq!(counts, [1, 1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_newest_waker_of_a_get_is_used() {
    let queue = WorkQueue::new();
    let (old, old_waker) = CountingWaker::new();
    let (new, new_waker) = CountingWaker::new();
    let mut get = queue.get();
    assert!(poll(&mut get, &old_waker).is_pending());
    assert!(poll(&mut get, &new_waker).is_pending());
    queue.add("foo");
    assert_eq!((old.count(), new.count()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn waiting_tasks_wake_when_delays_end() {
    let queue = WorkQueue::new();
    let workers = [worker(&queue), worker(&queue), worker(&queue)];
    sleep(ms(1)).await;
    queue.add_after("a", ms(99));
    queue.add_after("b", ms(49));
    queue.add_after("c", ms(99));
    let mut taken = Vec::new();
    for worker in workers {
        taken.push(worker.await.unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, [("a", ms(100)), ("b", ms(50)), ("c", ms(100))]);
}

#[tokio::test(start_paused = true)]
async fn only_one_waiting_task_has_a_timer() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(50));
    let wakers: Vec<_> = (0..3).map(|_| CountingWaker::new()).collect();
    let mut gets: Vec<_> = wakers.iter().map(|_| queue.get()).collect();
    for (get, (_, waker)) in gets.iter_mut().zip(&wakers) {
        assert!(poll(get, waker).is_pending());
    }
    sleep(ms(60)).await;
    let counts: Vec<_> = wakers.iter().map(|(count, _)| count.count()).collect();
    assert_eq!(counts, [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_is_aborted_hands_the_time_over() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(50));
    let (keeper, other) = (worker(&queue), worker(&queue));
    sleep(ms(10)).await;
    keeper.abort();
    assert_eq!(other.await.unwrap(), ("foo", ms(50)));
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_is_dropped_after_its_time_loses_nothing() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(50));
    let (_, keeper_waker) = CountingWaker::new();
    let mut keeper = queue.get();
    assert!(poll(&mut keeper, &keeper_waker).is_pending());
    let other = worker(&queue);
    sleep(ms(80)).await;
    assert!(!other.is_finished(), "the timekeeper was not polled");
    drop(keeper);
    assert_eq!(other.await.unwrap(), ("foo", ms(80)));
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_takes_a_key_hands_the_time_over() {
    let queue = WorkQueue::new();
    queue.add_after("late", ms(50));
    let (keeper, other) = (worker(&queue), worker(&queue));
    sleep(ms(10)).await;
    queue.add("now");
    assert_eq!(keeper.await.unwrap(), ("now", ms(10)));
    assert_eq!(other.await.unwrap(), ("late", ms(50)));
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_follows_the_earliest_delay() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(100));
    let first = worker(&queue);
    sleep(ms(10)).await;
    queue.add_after("foo", ms(10));
    assert_eq!(first.await.unwrap(), ("foo", ms(20)));

    queue.add_after("cancelled", ms(10));
    let second = worker(&queue);
    sleep(ms(5)).await;
    assert!(queue.cancel_delayed(&"cancelled"));
    queue.add_after("bar", ms(20));
    assert_eq!(second.await.unwrap(), ("bar", ms(25)));
}

#[tokio::test(start_paused = true)]
async fn no_timer_is_left_when_no_key_is_delayed() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(10));
    let (woken, waker) = CountingWaker::new();
    let mut get = queue.get();
    assert!(poll(&mut get, &waker).is_pending());
    queue.cancel_delayed(&"foo");
    sleep(ms(20)).await;
    assert_eq!(woken.count(), 1);
    assert!(poll(&mut get, &waker).is_pending());
    advance(Duration::from_secs(3_600)).await;
    assert_eq!(woken.count(), 1);
}
