//! loom models of the work queue, run under every schedule: no key has two items, no addition is lost, and
//! no wait lasts for ever. `cargo test -p informer-core --features __model --lib model` runs them.

use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use loom::thread;

use super::*;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Takes keys until the end, and counts them.
fn work(queue: &WorkQueue<u8>) -> usize {
    let mut taken = 0;
    while let Some(item) = block_on(queue.get()) {
        drop(item);
        taken += 1;
    }
    taken
}

fn worker(queue: &WorkQueue<u8>) -> thread::JoinHandle<usize> {
    let queue = queue.clone();
    thread::spawn(move || work(&queue))
}

#[test]
fn two_waiting_workers_take_what_is_added_and_end() {
    check(|| {
        let queue = WorkQueue::new();
        let workers = [worker(&queue), worker(&queue)];
        queue.add(1);
        queue.add(2);
        queue.shut_down();
        let taken: usize = workers.map(|worker| worker.join().unwrap()).iter().sum();
        assert_eq!(taken, 2);
    });
}

#[test]
fn an_addition_while_processed_is_seen_by_a_later_item_and_never_by_two_at_once() {
    check(|| {
        let queue = WorkQueue::new();
        let wanted = Arc::new(AtomicUsize::new(1));
        let busy = Arc::new(AtomicBool::new(false));
        queue.add(1);
        let workers = [(); 2].map(|()| {
            let (queue, wanted, busy) = (queue.clone(), wanted.clone(), busy.clone());
            thread::spawn(move || {
                let mut seen = 0;
                while let Some(item) = block_on(queue.get()) {
                    assert!(!busy.swap(true, SeqCst), "two items of one key");
                    seen = wanted.load(SeqCst);
                    busy.store(false, SeqCst);
                    drop(item);
                }
                seen
            })
        });
        wanted.store(2, SeqCst);
        queue.add(1);
        queue.shut_down();
        let seen = workers.map(|worker| worker.join().unwrap());
        assert_eq!(seen.iter().max(), Some(&2));
    });
}

#[test]
fn a_drain_ends_when_the_last_item_is_dropped() {
    check(|| {
        let queue = WorkQueue::new();
        queue.add(1);
        let worker = worker(&queue);
        let left = block_on(queue.drain());
        assert_eq!(left.running, 0);
        assert_eq!(worker.join().unwrap(), 1);
    });
}

#[test]
fn an_abort_returns_what_no_worker_took() {
    check(|| {
        let queue = WorkQueue::new();
        let worker = worker(&queue);
        queue.add(1);
        queue.add(2);
        let back = queue.abort().len();
        assert_eq!(worker.join().unwrap() + back, 2);
    });
}
