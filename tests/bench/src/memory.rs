//! Row `memory`: heap bytes per queued key, without the strings of the key.

use informer_core::ObjectKey;
use informer_core::workqueue::{Priority, WorkQueue};

use crate::arguments::Arguments;
use crate::{Figures, Result, process};

/// Queues `--keys` keys. The allocator of the program must count.
pub(crate) fn measure(options: &Arguments) -> Result<Figures> {
    let count: usize = options.get("keys")?;
    let keys: Vec<_> = (0..count)
        .map(|number| ObjectKey::namespaced("namespace", format!("object-{number:07}")))
        .collect();
    Ok(vec![
        ("bytes_per_key", bytes_per_key(&keys, Priority::Normal)?),
        ("bytes_per_low_priority_key", bytes_per_key(&keys, Priority::Low)?),
    ])
}

fn bytes_per_key(keys: &[ObjectKey], priority: Priority) -> Result<f64> {
    let heap = || process::heap().ok_or("run informer-bench-counting, whose allocator counts");
    let before = heap()?;
    let queue = WorkQueue::new();
    for key in keys {
        queue.add_with(key.clone(), priority);
    }
    let held = heap()? - before;
    drop(queue);
    Ok(held as f64 / keys.len() as f64)
}
