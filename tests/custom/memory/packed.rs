//! Measures whole informers with decoded and with packed storage: memory per pod, and the time of reads.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informers::options::Storage;
use informers::{ObjectKey, Selector};
use stats_alloc::Region;

use crate::{ALLOCATOR, ROUNDS, source};

/// The number of pods of the smaller and of the larger informer. The difference is without constant costs.
const PODS: [usize; 2] = [2_000, 12_000];

/// Prints one line per storage.
pub(crate) fn print() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be created");
    println!(
        "\n| storage | heap per pod, bytes | constant, KB | sync per pod | get | list per pod | select none |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, storage) in [
        ("decoded", Storage::Decoded),
        ("packed", Storage::Packed { hot_objects: 0 }),
    ] {
        runtime.block_on(row(name, storage));
    }
}

async fn row(name: &str, storage: Storage) {
    let mut heaps = Vec::new();
    let mut last = None;
    let mut sync = Duration::ZERO;
    for count in PODS {
        let (region, start) = (Region::new(ALLOCATOR), Instant::now());
        let informer = source::synced(count, storage, Arc::new(|| {})).await;
        sync = start.elapsed() / u32::try_from(count).unwrap_or(u32::MAX);
        let change = region.change();
        heaps.push(change.bytes_allocated.saturating_sub(change.bytes_deallocated));
        last = Some(informer);
    }
    let informer = last.expect("there are two sizes");
    let indexer = informer.indexer();
    let per_pod = heaps[1].saturating_sub(heaps[0]) / (PODS[1] - PODS[0]);
    let keys: Vec<ObjectKey> = indexer.keys().into_iter().step_by(17).take(200).collect();
    let get = fastest(keys.len(), || {
        keys.iter().for_each(|key| drop(black_box(indexer.get(key))))
    });
    let list = fastest(indexer.list_namespace("team-3").len(), || {
        drop(black_box(indexer.list_namespace("team-3")))
    });
    let none: Selector = "tier=none".parse().expect("it is valid");
    let select = fastest(indexer.len(), || drop(black_box(indexer.select(&none))));
    println!(
        "| {name} | {per_pod} | {} | {sync:.1?} | {get:.2?} | {list:.2?} | {select:.2?} |",
        heaps[0].saturating_sub(PODS[0] * per_pod) / 1_000,
    );
    informer.shutdown().await;
}

/// The time of the fastest round, per object.
fn fastest(objects: usize, work: impl Fn()) -> Duration {
    let round = || {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let time = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    time / u32::try_from(objects).unwrap_or(u32::MAX)
}
