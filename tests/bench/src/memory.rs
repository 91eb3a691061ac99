//! Row `memory`: heap bytes per queued key, without the strings of the key, as one line of JSON.
//!
//! `informer-bench-memory informers memory --keys 1000000`.

#![expect(clippy::print_stdout, reason = "the program prints its result")]

use std::alloc::System;

use informer_core::ObjectKey;
use informer_core::workqueue::{Priority, WorkQueue};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> Result<(), std::num::ParseIntError> {
    let count: usize = std::env::args().next_back().unwrap_or_default().parse()?;
    let keys: Vec<_> = (0..count)
        .map(|number| ObjectKey::namespaced("namespace", format!("object-{number:07}")))
        .collect();
    println!(
        r#"{{"bytes_per_key": {:.1}, "bytes_per_low_priority_key": {:.1}}}"#,
        bytes_per_key(&keys, Priority::Normal),
        bytes_per_key(&keys, Priority::Low)
    );
    Ok(())
}

fn bytes_per_key(keys: &[ObjectKey], priority: Priority) -> f64 {
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    for key in keys {
        queue.add_with(key.clone(), priority);
    }
    let change = region.change();
    let held = change.bytes_allocated - change.bytes_deallocated;
    drop(queue);
    held as f64 / keys.len() as f64
}
