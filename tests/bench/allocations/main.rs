//! How often the common operations allocate, compared with `expected.txt`.
//!
//! Counts do not depend on the machine or its load, so a change of one is a change of the code. After a
//! change on purpose: `UPDATE=1 cargo test --workspace --test allocations`.

use std::alloc::System;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use informer_bench::feed::{Feed, NAMESPACE, name, pod, pod_at};
use informer_bench::template::{PODS_PER_NAMESPACE, PodSize, Template};
use informer_core::source::{Decode as _, JsonDecoder, ManagedFields, WatchEvent};
use informer_core::workqueue::WorkQueue;
use informer_core::{Event, ObjectKey, SharedInformer};
use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Pod;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How often an operation is repeated. The median counts: tables and trees grow now and then.
const ROUNDS: usize = 101;

/// The allocations so far, of all threads. A block that grows counts again.
fn count() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn median(mut counts: Vec<usize>) -> usize {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

/// The allocations of one call.
fn of<T>(mut operation: impl FnMut(usize) -> T) -> usize {
    let counts = (0..ROUNDS).map(|round| {
        let before = count();
        let result = operation(round);
        let allocations = count() - before;
        black_box(result);
        allocations
    });
    median(counts.collect())
}

/// One test, because the allocations of all threads count.
#[test]
fn common_operations_allocate_as_often_as_expected() {
    let mut found = String::new();
    for (operation, allocations) in [
        ("decode a Pod from JSON", decode_json()),
        ("decode a Pod from protobuf", decode_protobuf()),
        ("one change through the store and one handler", change()),
        ("get of one object", get()),
        ("list of a namespace of 200", list()),
        ("queue: add, get and done of one key", queue()),
    ] {
        let _ = writeln!(found, "{operation}: {allocations}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("allocations/expected.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &found).expect("the folder of this test is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "the number of allocations changed:\n{}\nif it is on purpose, run \
         `UPDATE=1 cargo test --workspace --test allocations`",
        difference(&expected, &found)
    );
}

/// The lines that differ.
fn difference(expected: &str, found: &str) -> String {
    let mut text = String::new();
    for line in expected
        .lines()
        .filter(|line| !found.lines().any(|other| other == *line))
    {
        let _ = writeln!(text, "- {line}");
    }
    for line in found
        .lines()
        .filter(|line| !expected.lines().any(|other| other == *line))
    {
        let _ = writeln!(text, "+ {line}");
    }
    text
}

fn decode_json() -> usize {
    let (bytes, decoder) = (
        Template::json(PodSize::Large).pod(7),
        JsonDecoder::of::<Pod>(&(), ManagedFields::Drop),
    );
    of(|_| Arc::<Pod>::new(decoder.decode(&bytes).expect("a Pod")))
}

fn decode_protobuf() -> usize {
    let decode = informer_protobuf::decoder::<Pod>().expect("a built-in kind");
    let bytes = Template::protobuf(PodSize::Large).pod(7);
    of(|_| Arc::new(decode(&bytes, ManagedFields::Drop).expect("a Pod")))
}

/// From the source to the return of the handler, one change at a time.
fn change() -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (feed, events) = Feed::new(1_000, 1);
        let informer = SharedInformer::from_source(feed);
        let handled = Arc::new(Notify::new());
        let notify = handled.clone();
        let handler = move |event: Event<Pod>| {
            if matches!(event, Event::Updated { .. }) {
                notify.notify_one();
            }
        };
        let registration = informer.add_handler(handler).expect("not stopped");
        informer.start().expect("not started before");
        registration.synced().await.expect("the handler runs");
        let mut counts = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let event = WatchEvent::Modified(pod_at(&name(round), round + 2).into());
            let before = count();
            events.send(event).await.expect("the informer watches");
            handled.notified().await;
            counts.push(count() - before);
        }
        median(counts)
    })
}

fn lister() -> Lister<Pod> {
    Lister::from_objects((0..PODS_PER_NAMESPACE).map(|number| Arc::unwrap_or_clone(pod(number))))
}

fn get() -> usize {
    let (lister, key) = (lister(), ObjectKey::namespaced(NAMESPACE, name(7)));
    of(|_| lister.get_key(&key).expect("it is in the store"))
}

fn list() -> usize {
    let lister = lister().namespace(NAMESPACE);
    of(|_| lister.list(&Selector::everything()))
}

fn queue() -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (queue, key) = (WorkQueue::new(), ObjectKey::namespaced(NAMESPACE, name(7)));
    of(|_| {
        queue.add(key.clone());
        runtime.block_on(queue.get()).expect("the key was added")
    })
}
