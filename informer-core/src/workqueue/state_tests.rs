//! Random operations, compared with a naive model of the rules.

use futures::FutureExt;
use proptest::prelude::*;

use super::super::tests::ms;
use super::super::{Item, WorkQueue};
use super::*;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Add(u8, Priority),
    AddAfter(u8, u64, Priority),
    Cancel(u8),
    Get,
    /// Drops an item, counted from the oldest.
    Done(usize),
    Advance(u64),
    ShutDown,
    Abort,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let key = 0..6_u8;
    let priority = || prop_oneof![Just(Priority::Low), Just(Priority::Normal)];
    let operation = prop_oneof![
        60 => (key.clone(), priority()).prop_map(|(key, priority)| Operation::Add(key, priority)),
        30 => (key.clone(), 0..30_u64, priority()).prop_map(|(key, delay, priority)| {
            Operation::AddAfter(key, delay, priority)
        }),
        5 => key.prop_map(Operation::Cancel),
        60 => Just(Operation::Get),
        50 => (0..4_usize).prop_map(Operation::Done),
        20 => (0..20_u64).prop_map(Operation::Advance),
        1 => Just(Operation::ShutDown),
        1 => Just(Operation::Abort),
    ];
    prop::collection::vec(operation, 0..150)
}

/// The rules, with lists that are searched from the start.
#[derive(Default)]
struct Model {
    now: u64,
    normal: Vec<u8>,
    low: Vec<u8>,
    /// The time, the number of the insertion, the key, the priority.
    delayed: Vec<(u64, u64, u8, Priority)>,
    insertions: u64,
    /// With the priority of an addition meanwhile.
    processing: Vec<(u8, Option<Priority>)>,
    /// Normal keys taken while a low one waited.
    turns: u32,
    shut_down: bool,
}

impl Model {
    fn add(&mut self, key: u8, priority: Priority) {
        if let Some((_, again)) = self.processing.iter_mut().find(|(held, _)| *held == key) {
            *again = (*again).max(Some(priority));
        } else if self.normal.contains(&key) || (self.low.contains(&key) && priority == Priority::Low) {
        } else if priority == Priority::Low {
            self.low.push(key);
        } else {
            self.low.retain(|held| *held != key);
            self.normal.push(key);
        }
    }

    fn add_after(&mut self, key: u8, delay: u64, priority: Priority) {
        if delay == 0 {
            return self.add(key, priority);
        }
        let at = self.now + delay;
        self.insertions += 1;
        if let Some(held) = self.delayed.iter_mut().find(|held| held.2 == key) {
            held.3 = held.3.max(priority);
            if at < held.0 {
                (held.0, held.1) = (at, self.insertions);
            }
        } else {
            self.delayed.push((at, self.insertions, key, priority));
        }
        self.delayed.sort_unstable();
    }

    fn advance(&mut self, time: u64) {
        self.now += time;
        while !self.shut_down && self.delayed.first().is_some_and(|first| first.0 <= self.now) {
            let (_, _, key, priority) = self.delayed.remove(0);
            self.add(key, priority);
        }
    }

    /// `None` if it has to wait, `Some(None)` at the end.
    fn get(&mut self) -> Option<Option<u8>> {
        let low = !self.low.is_empty() && (self.normal.is_empty() || self.turns == 7);
        let line = if low { &mut self.low } else { &mut self.normal };
        if line.is_empty() {
            let ends = self.shut_down && self.processing.iter().all(|(_, again)| again.is_none());
            return ends.then_some(None);
        }
        let key = line.remove(0);
        self.turns = if low || self.low.is_empty() {
            0
        } else {
            self.turns + 1
        };
        self.processing.push((key, None));
        Some(Some(key))
    }

    fn done(&mut self, index: usize) {
        if let (key, Some(priority)) = self.processing.remove(index) {
            self.add(key, priority);
        }
    }

    /// The keys that an abort returns, sorted.
    fn abort(&mut self) -> Vec<u8> {
        self.shut_down = true;
        let mut keys: Vec<u8> = self.normal.drain(..).chain(self.low.drain(..)).collect();
        keys.extend(self.delayed.drain(..).map(|(_, _, key, _)| key));
        let again = |(key, again): &mut (u8, Option<Priority>)| again.take().map(|_| *key);
        keys.extend(self.processing.iter_mut().filter_map(again));
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

async fn check(operations: Vec<Operation>) {
    let queue = WorkQueue::new();
    let mut model = Model::default();
    let mut items: Vec<Item<u8>> = Vec::new();
    for operation in operations {
        match operation {
            Operation::Add(key, priority) => {
                queue.add_with(key, priority);
                if !model.shut_down {
                    model.add(key, priority);
                }
            }
            Operation::AddAfter(key, delay, priority) => {
                queue.add_after_with(key, ms(delay), priority);
                if !model.shut_down {
                    model.add_after(key, delay, priority);
                }
            }
            Operation::Cancel(key) => {
                let held = model.delayed.iter().position(|held| held.2 == key);
                held.map(|index| model.delayed.remove(index));
                assert_eq!(queue.cancel_delayed(&key), held.is_some());
            }
            Operation::Get => {
                let taken = queue.get().now_or_never();
                let key = taken.as_ref().map(|item| item.as_ref().map(|item| **item));
                assert_eq!(key, model.get());
                items.extend(taken.flatten());
            }
            Operation::Done(index) if index < items.len() => {
                drop(items.remove(index));
                model.done(index);
            }
            Operation::Done(_) => {}
            Operation::Advance(time) => {
                tokio::time::advance(ms(time)).await;
                model.advance(time);
            }
            Operation::ShutDown => {
                queue.shut_down();
                model.shut_down = true;
            }
            Operation::Abort => {
                let mut keys = queue.abort();
                keys.sort_unstable();
                assert_eq!(keys, model.abort());
            }
        }
        let status = queue.status();
        assert_eq!(status.ready, model.normal.len() + model.low.len());
        assert_eq!(status.low_priority, model.low.len());
        assert_eq!(status.delayed, model.delayed.len());
        assert_eq!(status.processing, items.len());
        let again = queue.shared.inner.lock().state.again;
        let expected = model.processing.iter().filter(|(_, again)| again.is_some());
        assert_eq!(again, expected.count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_do_what_the_model_does(operations in operations()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(check(operations));
    }
}
