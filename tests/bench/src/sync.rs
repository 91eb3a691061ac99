//! Row `sync`: all Pods of a real server into a cache with one handler, and then their changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use informer_core::source::Encoding;
use informers::{Event, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client};

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::{Figures, Result, process, server};

/// Counts the events of one handler.
#[derive(Clone, Default)]
struct Counts {
    added: Arc<AtomicUsize>,
    updated: Arc<AtomicUsize>,
}

/// Reads `--objects` Pods, then `--updates` changes of them, made by another process.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (objects, updates): (usize, usize) = (options.get("objects")?, options.get("updates")?);
    let client = server::client(library).await?;
    let counts = Counts::default();
    let (start, cpu_before) = (Instant::now(), process::cpu()?);
    // Keeps the cache.
    let _cache: Box<dyn std::any::Any> = match library {
        Library::Informers => Box::new(run_informers(client, options, &counts).await?),
        Library::Kube => Box::new(run_kube(client, options, &counts).await?),
    };
    until(&counts.added, objects).await;
    let mut figures = vec![
        ("wall", start.elapsed().as_secs_f64() * 1e3),
        ("cpu", (process::cpu()? - cpu_before) * 1e3),
        ("peak_rss", process::megabytes("VmHWM")?),
    ];
    if updates > 0 {
        let cpu_before = process::cpu()?;
        server::run_writer(options, updates).await?;
        until(&counts.updated, updates).await;
        let cpu = process::cpu()? - cpu_before;
        figures.push(("cpu_per_event", cpu * 1e6 / updates as f64));
    }
    Ok(figures)
}

async fn until(count: &AtomicUsize, expected: usize) {
    while count.load(Ordering::Relaxed) < expected {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn run_informers(
    client: Client,
    options: &Arguments,
    counts: &Counts,
) -> Result<SharedInformerFactory> {
    let encoding = match options.get::<String>("format").as_deref() {
        Ok("json") => Encoding::Json,
        _ => Encoding::Protobuf,
    };
    let factory = SharedInformerFactory::builder(client)
        .encoding(encoding)
        .build()?;
    let counts = counts.clone();
    factory
        .core()
        .v1()
        .pods()
        .informer()
        .add_handler(move |event: Event<Pod>| {
            match event {
                Event::Added { .. } => &counts.added,
                _ => &counts.updated,
            }
            .fetch_add(1, Ordering::Relaxed);
        })?;
    factory.start();
    factory.wait_for_sync().await?;
    Ok(factory)
}

/// A reflector, as kube's documentation shows it; what it applies counts as an event of a handler.
async fn run_kube(client: Client, options: &Arguments, counts: &Counts) -> Result<reflector::Store<Pod>> {
    let config = match options.get::<String>("kube-start").as_deref() {
        Ok("list") => watcher::Config::default(),
        _ => watcher::Config::default().streaming_lists(),
    };
    let (store, writer) = reflector::store();
    let counts = counts.clone();
    let events = reflector(writer, watcher(Api::<Pod>::all(client), config)).default_backoff();
    tokio::spawn(events.for_each(move |event| {
        match event {
            Ok(watcher::Event::InitApply(_)) => counts.added.fetch_add(1, Ordering::Relaxed),
            Ok(watcher::Event::Apply(_)) => counts.updated.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        futures::future::ready(())
    }));
    store.wait_until_ready().await?;
    Ok(store)
}
