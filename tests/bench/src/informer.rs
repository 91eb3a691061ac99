//! Row `updates`: changes of small Pods through an informer without a server, while others read.
//!
//! The work of client-go's `BenchmarkSharedIndexInformer`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _, stream};
use informer_core::source::WatchEvent;
use informer_core::{Event, ObjectKey, SharedInformer};
use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Semaphore, oneshot};

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
    let room = Arc::new(Semaphore::new(in_flight));
    let (begin, begun) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    let writer = Writer {
        names,
        room: room.clone(),
        in_flight: u32::try_from(in_flight)?,
        random: 0x9E37_79B9_7F4A_7C15,
        writes: 0,
    };
    let feed = Feed::of(objects, writer.changes(time, begun, end));
    let informer = SharedInformer::from_source(feed);
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
    begin.send(()).map_err(|()| "the informer does not watch")?;
    let writes = ended.await?;
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

/// Makes changes of Pods at random, as long as fewer than `in_flight` are on their way.
struct Writer {
    names: Vec<String>,
    room: Arc<Semaphore>,
    in_flight: u32,
    random: u64,
    writes: usize,
}

impl Writer {
    /// The changes, from `begun` on for this time. When all of them were handled, `ended` receives their
    /// number.
    fn changes(
        self,
        time: Duration,
        begun: oneshot::Receiver<()>,
        ended: oneshot::Sender<usize>,
    ) -> impl Stream<Item = WatchEvent<Pod>> + Send + 'static {
        let changes = async move {
            // An error means that the measurement was given up.
            begun.await.ok()?;
            let state = (self, Instant::now() + time, ended);
            Some(stream::unfold(state, async |(mut writer, end, ended)| {
                if Instant::now() < end {
                    let change = writer.change().await?;
                    return Some((change, (writer, end, ended)));
                }
                writer.room.acquire_many(writer.in_flight).await.ok()?.forget();
                let _ = ended.send(writer.writes);
                // The end of a watch would begin another one.
                std::future::pending().await
            }))
        };
        stream::once(changes).filter_map(std::future::ready).flatten()
    }

    async fn change(&mut self) -> Option<WatchEvent<Pod>> {
        // Xorshift: any generator does.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let number = self.random as usize % self.names.len();
        self.writes += 1;
        let pod = pod_at(&self.names[number], self.writes + 1);
        self.room.acquire().await.ok()?.forget();
        Some(WatchEvent::Modified(pod.into()))
    }
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
