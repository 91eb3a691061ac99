//! loom models of the queue, run under every schedule: no wait lasts for ever, and everything accepted is
//! popped. `cargo test -p informer-core --features __model --lib model` runs them.

use std::cell::Cell;

use k8s_openapi::api::core::v1::ConfigMap;
use loom::future::block_on;
use loom::thread;

use super::*;

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

fn channel() -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let options = QueueOptions::default().capacity(1).batch(1);
    let (mut senders, receiver) = DeltaFifo::channel([Scope::All], options, None);
    (senders.remove(0), receiver)
}

/// Runs a model with at most two preemptions, so that it ends in seconds. According to loom's documentation
/// two or three find nearly all bugs.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Pops until the queue is closed, and counts the changes.
fn drain(receiver: &mut DeltaReceiver<ConfigMap>) -> usize {
    let popped = Cell::new(0);
    block_on(async {
        while let Some(batch) = receiver.pop().await {
            let Batch::Changes { deltas, .. } = batch else {
                panic!("only changes were sent");
            };
            let changes: usize = deltas.iter().map(|deltas| deltas.changes.len()).sum();
            popped.set(popped.get() + changes);
        }
    });
    popped.get()
}

/// Sends changes until the queue is closed, and counts the accepted ones.
fn send(sender: &mut DeltaSender<ConfigMap>, names: &[&str]) -> usize {
    block_on(async {
        let mut accepted = 0;
        for name in names {
            match sender.added(object(name)).await {
                Ok(_) => accepted += 1,
                Err(Closed) => break,
            }
        }
        accepted
    })
}

#[test]
fn a_sender_that_waits_for_room_is_woken_by_the_pop() {
    check(|| {
        let (mut sender, mut receiver) = channel();
        let producer = thread::spawn(move || send(&mut sender, &["a", "b"]));
        assert_eq!(drain(&mut receiver), 2);
        assert_eq!(producer.join().unwrap(), 2);
    });
}

#[test]
fn two_senders_that_wait_for_room_are_both_woken() {
    check(|| {
        let (mut sender, mut receiver) = channel();
        let mut other = sender.clone();
        let producers = [
            thread::spawn(move || send(&mut sender, &["a"])),
            thread::spawn(move || send(&mut other, &["b"])),
        ];
        assert_eq!(drain(&mut receiver), 2);
        for producer in producers {
            assert_eq!(producer.join().unwrap(), 1);
        }
    });
}

#[test]
fn entries_accepted_before_a_close_are_popped() {
    check(|| {
        let (mut sender, mut receiver) = channel();
        let producer = thread::spawn(move || send(&mut sender, &["a", "b"]));
        receiver.close();
        let popped = drain(&mut receiver);
        assert_eq!(producer.join().unwrap(), popped);
    });
}

#[test]
fn a_sender_that_waits_for_room_returns_when_the_receiver_is_dropped() {
    check(|| {
        let (mut sender, mut receiver) = channel();
        let producer = thread::spawn(move || send(&mut sender, &["a", "b", "c"]));
        let popped = usize::from(block_on(receiver.pop()).is_some());
        drop(receiver);
        let accepted = producer.join().unwrap();
        assert!(
            (popped..=2).contains(&accepted),
            "{accepted} accepted, {popped} popped"
        );
    });
}

#[test]
fn a_waiting_pop_is_woken_when_the_last_sender_is_dropped() {
    check(|| {
        let (sender, mut receiver) = channel();
        let other = sender.clone();
        let producers = [
            thread::spawn(move || drop(sender)),
            thread::spawn(move || drop(other)),
        ];
        assert_eq!(drain(&mut receiver), 0);
        for producer in producers {
            producer.join().unwrap();
        }
    });
}
