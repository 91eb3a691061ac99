//! Row `queue`: operations per second, from the first addition until every key is done.

use std::hint::black_box;
use std::time::Instant;

use informer_core::ObjectKey;
use informer_core::workqueue::WorkQueue;

use crate::arguments::Arguments;
use crate::{Figures, Result};

/// Adds keys from one thread, as a handler does, while `--workers` tasks take them and mark them as done.
///
/// `--additions` is their number, `--distinct` the number of different keys, which are added in turn.
pub(crate) async fn measure(options: &Arguments) -> Result<Figures> {
    let additions: usize = options.get("additions")?;
    let workers: usize = options.get("workers")?;
    let keys = keys(options.get("distinct")?);
    let queue = WorkQueue::<ObjectKey>::new();
    let workers: Vec<_> = (0..workers)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut taken = 0_usize;
                while let Some(item) = queue.get().await {
                    black_box(item.key());
                    taken += 1;
                }
                taken
            })
        })
        .collect();
    let start = Instant::now();
    let producer = queue.clone();
    // Dropping two million keys is not part of the measurement.
    let keys = tokio::task::spawn_blocking(move || {
        for key in keys.iter().cycle().take(additions) {
            // Go copies two string headers; a clone here would change two reference counts.
            producer.add_ref(key);
        }
        keys
    })
    .await?;
    queue.drain().await;
    let elapsed = start.elapsed();
    drop(keys);
    let mut taken = 0;
    for worker in workers {
        taken += worker.await?;
    }
    let per_second = |count: usize| count as f64 / elapsed.as_secs_f64();
    Ok(vec![
        // Each key that is taken is also marked as done.
        ("operations_per_second", per_second(additions + 2 * taken)),
        ("additions_per_second", per_second(additions)),
        ("taken", taken as f64),
    ])
}

/// Keys in ten namespaces, as the program in Go has them.
fn keys(count: usize) -> Vec<ObjectKey> {
    let namespaces: Vec<_> = (0..10)
        .map(|number| std::sync::Arc::<str>::from(format!("namespace-{number}")))
        .collect();
    (0..count)
        .map(|number| ObjectKey::namespaced(namespaces[number % 10].clone(), format!("object-{number:07}")))
        .collect()
}
