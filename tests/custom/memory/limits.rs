//! The memory of a packed store, by counting allocations, which do not vary by machine.

#[expect(dead_code, reason = "only the program `memory` measures metadata alone")]
mod pods;
mod source;

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informers::options::Storage;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The heap of an informer of so many pods: the most while they were listed, and after that.
struct Heap {
    most: usize,
    after: usize,
}

async fn heap(count: usize, storage: Storage) -> Heap {
    let region = Arc::new(Region::new(ALLOCATOR));
    let live = move || {
        let change = region.change();
        change.bytes_allocated.saturating_sub(change.bytes_deallocated)
    };
    let most = Arc::new(AtomicUsize::new(0));
    let visit = {
        let (live, most) = (live.clone(), most.clone());
        Arc::new(move || {
            most.fetch_max(live(), Ordering::Relaxed);
        })
    };
    let informer = source::synced(count, storage, visit).await;
    assert_eq!(informer.indexer().len(), count);
    let after = live();
    informer.shutdown().await;
    Heap {
        most: most.load(Ordering::Relaxed),
        after,
    }
}

/// One test, so that no other one allocates meanwhile.
#[tokio::test]
async fn a_packed_pod_takes_less_than_700_bytes_and_few_are_decoded_at_once() {
    const PODS: usize = 300;
    let small = heap(PODS, Storage::packed()).await;
    let large = heap(3 * PODS, Storage::packed()).await;
    let per_pod = large.after.saturating_sub(small.after) / (2 * PODS);
    assert!((100..700).contains(&per_pod), "{per_pod} bytes");
    // One batch of 128 waits to be packed, of 41 KB each.
    let decoded = large.most.saturating_sub(large.after);
    assert!(decoded < 8 << 20, "{decoded} bytes more while the list was read");

    let whole = heap(PODS, Storage::Decoded).await;
    assert!(
        whole.after > 10 * PODS * per_pod,
        "{} bytes decoded, {per_pod} packed",
        whole.after / PODS
    );
}
