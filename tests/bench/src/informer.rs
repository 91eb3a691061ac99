//! Row `updates`: changes of small Pods through an informer without a server, while others read.
//!
//! The work of client-go's `BenchmarkSharedIndexInformer`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use informer_core::source::WatchEvent;
use informer_core::{Event, ObjectKey, SharedInformer};
use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Semaphore, mpsc};

use crate::arguments::Arguments;
use crate::feed::{Feed, NAMESPACE, name, pod_at};
use crate::{Figures, Result, process, quantile};

/// Changes `--objects` Pods at random for `--milliseconds`, with `--in-flight` events on their way, through
/// `--handlers` handlers. `--readers` threads walk the namespace meanwhile, `--getters` threads read
/// single Pods.
pub(crate) async fn measure(options: &Arguments) -> Result<Figures> {
    let objects: usize = options.get("objects")?;
    let handlers: usize = options.get("handlers").unwrap_or(1);
    let in_flight: usize = options.get("in-flight")?;
    let time = Duration::from_millis(options.get("milliseconds")?);
    let names: Vec<String> = (0..objects).map(name).collect();
    let (feed, events) = Feed::new(objects, in_flight);
    let informer = SharedInformer::from_source(feed);
    let room = Arc::new(Semaphore::new(in_flight));
    for handler in 0..handlers {
        // The first handler lets the writer continue.
        let room = (handler == 0).then(|| room.clone());
        informer.add_handler(move |event: Event<Pod>| {
            if let (Event::Updated { .. }, Some(room)) = (&event, &room) {
                room.add_permits(1);
            }
        })?;
    }
    informer.start()?;
    informer.synced().await?;

    let is_over = Arc::new(AtomicBool::new(false));
    let reads = Arc::new(AtomicU64::new(0));
    let lister = Lister::new(informer.indexer());
    let readers: Vec<_> = (0..options.get("readers")?)
        .map(|_| {
            let (lister, is_over, reads) = (lister.clone(), is_over.clone(), reads.clone());
            std::thread::spawn(move || walk(&lister, objects, &is_over, &reads))
        })
        .collect();
    let getters: Vec<_> = (0..options.get("getters").unwrap_or(0))
        .map(|_| {
            let (lister, is_over) = (lister.clone(), is_over.clone());
            std::thread::spawn(move || get(&lister, objects, &is_over))
        })
        .collect();
    let (start, cpu_before) = (Instant::now(), process::cpu());
    // A task, as the writer in Go is a goroutine.
    let writes = tokio::spawn(async move { write(&names, &events, &room, in_flight, time).await }).await??;
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), process::cpu() - cpu_before);
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().map_err(|_| "a reader panicked")?;
    }
    let reads = reads.load(Ordering::Relaxed);
    let mut figures = vec![
        ("writes_per_second", writes as f64 / elapsed),
        ("reads_per_second", reads as f64 / elapsed),
        ("cpu_per_write", cpu * 1e6 / writes as f64),
        ("cpu_per_call", cpu * 1e6 / (writes * handlers) as f64),
    ];
    let mut gets = Vec::new();
    for getter in getters {
        gets.extend(getter.join().map_err(|_| "a reader panicked")?);
    }
    if !gets.is_empty() {
        figures.push(("get_median", quantile(&mut gets, 0.5)));
        figures.push(("get_p99", quantile(&mut gets, 0.99)));
    }
    Ok(figures)
}

/// Sends changes, and waits at the end until all of them were handled. Returns their number.
async fn write(
    names: &[String],
    events: &mpsc::Sender<WatchEvent<Pod>>,
    room: &Semaphore,
    in_flight: usize,
    time: Duration,
) -> Result<usize> {
    let (end, mut writes) = (Instant::now() + time, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    while Instant::now() < end {
        // Xorshift: any generator does.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = random as usize % names.len();
        writes += 1;
        let pod = pod_at(&names[number], writes + 1);
        room.acquire().await?.forget();
        events.send(WatchEvent::Modified(pod.into())).await?;
    }
    drop(room.acquire_many(u32::try_from(in_flight)?).await?);
    Ok(writes)
}

fn walk(lister: &Lister<Pod>, objects: usize, is_over: &AtomicBool, reads: &AtomicU64) {
    let lister = lister.namespace(NAMESPACE);
    while !is_over.load(Ordering::Relaxed) {
        let mut count = 0;
        lister.for_each(&Selector::everything(), |_| count += 1);
        assert_eq!(count, objects);
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads one Pod each millisecond. Returns the times in microseconds.
fn get(lister: &Lister<Pod>, objects: usize, is_over: &AtomicBool) -> Vec<f64> {
    let keys: Vec<_> = (0..objects)
        .map(|number| ObjectKey::namespaced(NAMESPACE, name(number)))
        .collect();
    let mut times = Vec::new();
    for key in keys.iter().cycle() {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        let start = Instant::now();
        let pod = lister.get_key(key);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        assert!(pod.is_some());
    }
    times
}
