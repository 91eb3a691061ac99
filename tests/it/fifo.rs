//! The plain queue: the newest object of each key, handed out once.

use std::sync::Arc;

use informer_core::ObjectKey;
use informer_core::delta::{Closed, Fifo};
use tokio::time::{sleep, timeout};

use crate::queue_support::LONG;

fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster(name)
}

fn item(name: &str, value: u32) -> (ObjectKey, Arc<u32>) {
    (key(name), Arc::new(value))
}

/// Adds `name` with `value`.
fn add(fifo: &Fifo<u32>, name: &str, value: u32) {
    let (key, value) = item(name, value);
    fifo.add(key, value);
}

async fn pop(fifo: &Fifo<u32>) -> (String, u32) {
    let (key, value) = timeout(LONG, fifo.pop()).await.expect("nothing to pop").unwrap();
    (key.to_string(), *value)
}

/// Pops these, in this order, and then nothing.
async fn check(fifo: &Fifo<u32>, expected: &[(&str, u32)]) {
    let mut popped = Vec::new();
    while !fifo.is_empty() {
        popped.push(pop(fifo).await);
    }
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    assert_eq!(popped, expected);
    timeout(LONG, fifo.pop()).await.expect_err("the line was empty");
}

/// Upstream: TestFIFO_basic.
#[tokio::test(start_paused = true)]
async fn each_of_two_senders_keeps_its_order() {
    const EACH: u32 = 500;
    let fifo = Fifo::new();
    for sender in ["x", "y"] {
        let fifo = fifo.clone();
        tokio::spawn(async move {
            for value in 0..EACH {
                add(&fifo, &format!("{sender}{value}"), value);
                tokio::task::yield_now().await;
            }
        });
    }
    let mut next = [0, 0];
    for _ in 0..2 * EACH {
        let (name, value) = pop(&fifo).await;
        let sender = usize::from(name.starts_with('y'));
        assert_eq!(value, next[sender]);
        next[sender] += 1;
    }
    assert_eq!(next, [EACH, EACH]);
}

/// Upstream: TestFIFO_addUpdate.
#[tokio::test(start_paused = true)]
async fn only_the_newest_object_of_a_key_comes_out_and_only_once() {
    let fifo = Fifo::new();
    add(&fifo, "a", 1);
    fifo.update(key("a"), Arc::new(2));
    assert_eq!(fifo.len(), 1);
    check(&fifo, &[("a", 2)]).await;
}

/// Upstream: TestFIFO_addReplace.
#[tokio::test(start_paused = true)]
async fn a_replacement_forgets_the_line() {
    let fifo = Fifo::new();
    add(&fifo, "a", 1);
    add(&fifo, "gone", 1);
    fifo.replace([item("b", 3), item("a", 2), item("b", 4)]);
    check(&fifo, &[("b", 4), ("a", 2)]).await;
}

/// Upstream: TestFIFO_detectLineJumpers.
#[tokio::test(start_paused = true)]
async fn a_key_added_again_after_it_came_out_goes_to_the_back() {
    let fifo = Fifo::new();
    for (name, value) in [("a", 10), ("b", 1), ("c", 11), ("a", 13)] {
        add(&fifo, name, value);
    }
    assert_eq!(pop(&fifo).await, ("a".to_owned(), 13));
    add(&fifo, "a", 14);
    check(&fifo, &[("b", 1), ("c", 11), ("a", 14)]).await;
}

/// Upstream: TestFIFOCache, as far as it applies. A deletion only takes the key out of the line.
#[tokio::test(start_paused = true)]
async fn a_deleted_key_never_comes_out() {
    let fifo = Fifo::new();
    add(&fifo, "a", 1);
    add(&fifo, "b", 2);
    fifo.delete(&key("a"));
    fifo.delete(&key("unknown"));
    check(&fifo, &[("b", 2)]).await;
    fifo.delete(&key("b"));
    add(&fifo, "a", 3);
    check(&fifo, &[("a", 3)]).await;
}

/// A deletion in the middle leaves the order of the others, and a key added again goes to the back.
#[tokio::test(start_paused = true)]
async fn deletions_leave_the_order_of_the_others() {
    let fifo = Fifo::new();
    for (place, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        add(&fifo, name, place as u32);
    }
    fifo.delete(&key("b"));
    fifo.delete(&key("d"));
    add(&fifo, "b", 9);
    add(&fifo, "a", 8);
    assert_eq!(fifo.len(), 3);
    check(&fifo, &[("a", 8), ("c", 2), ("b", 9)]).await;
}

/// As upstream's `Resync`: what waits stays in its order, and what was handed out does not come back.
#[tokio::test(start_paused = true)]
async fn a_resync_changes_nothing() {
    let fifo = Fifo::new();
    fifo.replace([item("a", 1), item("b", 2), item("c", 3)]);
    fifo.delete(&key("b"));
    assert_eq!(pop(&fifo).await, ("a".to_owned(), 1));
    fifo.resync();
    assert_eq!((fifo.len(), fifo.has_synced()), (1, false));
    check(&fifo, &[("c", 3)]).await;
    assert!(fifo.has_synced());
    fifo.resync();
    check(&fifo, &[]).await;
}

/// Half of a large queue is deleted in the time of a small one: each deletion used to walk the whole line.
#[tokio::test(start_paused = true)]
async fn many_keys_can_be_deleted_from_a_long_line() {
    const KEYS: u32 = 100_000;
    let fifo = Fifo::new();
    fifo.replace((0..KEYS).map(|value| item(&value.to_string(), value)));
    for value in (0..KEYS).rev().filter(|value| value % 2 == 1) {
        fifo.delete(&key(&value.to_string()));
    }
    assert_eq!(fifo.len(), KEYS as usize / 2);
    assert_eq!(pop(&fifo).await.1, 0);
    assert_eq!(pop(&fifo).await.1, 2);
}

/// Upstream: TestFIFO_HasSynced.
#[tokio::test(start_paused = true)]
async fn the_queue_has_synced_when_its_first_state_has_come_out() {
    type Act = fn(&Fifo<u32>);
    async fn check(actions: &[Act], pops: usize, expected: bool) {
        let fifo = Fifo::new();
        for act in actions {
            act(&fifo);
        }
        for _ in 0..pops {
            pop(&fifo).await;
        }
        assert_eq!(
            fifo.has_synced(),
            expected,
            "{} actions, {pops} pops",
            actions.len()
        );
    }
    let replace_two: Act = |fifo| fifo.replace([item("a", 1), item("b", 1)]);
    let replace_none: Act = |fifo| fifo.replace([]);
    check(&[], 0, false).await;
    check(&[|fifo| add(fifo, "a", 1)], 0, true).await;
    check(&[|fifo| fifo.delete(&key("a"))], 0, true).await;
    check(&[replace_none], 0, true).await;
    check(&[replace_two], 0, false).await;
    check(&[replace_two], 1, false).await;
    check(&[replace_two], 2, true).await;
    // Further cases: what else can happen to a queued state.
    check(&[replace_two, |fifo| fifo.delete(&key("b"))], 1, true).await;
    check(&[replace_two, |fifo| add(fifo, "c", 1)], 2, true).await;
    check(&[replace_two, replace_none], 0, true).await;
    check(&[replace_two, |fifo| fifo.replace([item("c", 1)])], 0, false).await;
    check(&[|fifo| add(fifo, "a", 1), replace_two], 0, true).await;
}

/// Upstream: TestFIFO_PopShouldUnblockWhenClosed.
#[tokio::test(start_paused = true)]
async fn ten_waiting_pops_end_when_the_queue_is_closed() {
    let fifo = Fifo::<u32>::new();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let fifo = fifo.clone();
            tokio::spawn(async move { fifo.pop().await })
        })
        .collect();
    sleep(LONG).await;
    assert!(waiting.iter().all(|task| !task.is_finished()));
    fifo.close();
    for task in waiting {
        assert_eq!(
            timeout(LONG, task).await.expect("it was not woken").unwrap(),
            Err(Closed)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn ten_waiting_pops_each_get_one_of_ten() {
    let fifo = Fifo::new();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let fifo = fifo.clone();
            tokio::spawn(async move { fifo.pop().await })
        })
        .collect();
    sleep(LONG).await;
    for value in 0..10 {
        add(&fifo, &value.to_string(), value);
    }
    let mut values = Vec::new();
    for task in waiting {
        values.push(
            *timeout(LONG, task)
                .await
                .expect("it was not woken")
                .unwrap()
                .unwrap()
                .1,
        );
    }
    values.sort_unstable();
    assert_eq!(values, Vec::from_iter(0..10));
}

#[tokio::test(start_paused = true)]
async fn a_pop_dropped_while_it_waits_takes_nothing_and_robs_nobody_of_a_wakeup() {
    let fifo = Fifo::new();
    let pops = [(); 2].map(|()| {
        let fifo = fifo.clone();
        tokio::spawn(async move { fifo.pop().await })
    });
    sleep(LONG).await;
    let [dropped, kept] = pops;
    add(&fifo, "a", 1);
    dropped.abort();
    // Nothing ran in between, so the first was dropped before it could take anything.
    assert!(dropped.await.unwrap_err().is_cancelled());
    let popped = timeout(LONG, kept).await.expect("the wake-up was lost").unwrap();
    assert_eq!(popped, Ok(item("a", 1)));
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_hands_out_what_is_left() {
    let fifo = Fifo::new();
    add(&fifo, "a", 1);
    fifo.close();
    assert_eq!(pop(&fifo).await, ("a".to_owned(), 1));
    assert_eq!(fifo.pop().await, Err(Closed));
}
