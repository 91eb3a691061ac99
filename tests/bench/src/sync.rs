//! Row `sync`: the Pods of a server into a cache with one handler, and then their changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use informer_core::source::Encoding;
use informers::options::Storage;
use informers::{Event, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client};

use crate::arguments::Arguments;
use crate::controllers::{Library, Started};
use crate::{Figures, Result, process, server, writer};

/// Counts the events of one handler.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub(crate) added: Arc<AtomicUsize>,
    pub(crate) updated: Arc<AtomicUsize>,
}

/// Keeps a cache alive.
pub(crate) enum Cache {
    Informers(SharedInformerFactory),
    Kube,
}

/// Reads `--objects` Pods, then `--updates` changes of them, made by another process. `--namespace`, if it is
/// given, limits the informer.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (objects, updates): (usize, usize) = (options.get("objects")?, options.get("updates")?);
    let counts = Counts::default();
    let (_cache, mut figures) = run(library, options, &counts, objects).await?;
    if let Some(heap) = process::heap() {
        figures.push(("heap_per_object", heap as f64 / objects as f64));
    }
    if updates > 0 {
        let cpu_before = process::cpu();
        writer::change_pods(options, updates).await?;
        until(&counts.updated, updates).await;
        let cpu = process::cpu() - cpu_before;
        figures.push(("cpu_per_event", cpu * 1e6 / updates as f64));
    }
    Ok(figures)
}

/// Starts a cache of Pods, waits until its handler has received `objects` of them, and returns what that
/// took.
pub(crate) async fn run(
    library: Library,
    options: &Arguments,
    counts: &Counts,
    objects: usize,
) -> Result<(Cache, Figures)> {
    let client = server::client(library).await?;
    let (start, cpu_before, user_before) = (Instant::now(), process::cpu(), process::user()?);
    let cache = match library {
        Library::Informers => run_informers(client, options, counts).await?,
        Library::Kube => run_kube(client, options, counts).await?,
    };
    until(&counts.added, objects).await;
    let figures = vec![
        ("wall", start.elapsed().as_secs_f64() * 1e3),
        ("cpu", (process::cpu() - cpu_before) * 1e3),
        ("user", (process::user()? - user_before) * 1e3),
        ("peak_rss", process::megabytes("VmHWM")?),
    ];
    Ok((cache, figures))
}

pub(crate) async fn until(count: &AtomicUsize, expected: usize) {
    while count.load(Ordering::Relaxed) < expected {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn run_informers(client: Client, options: &Arguments, counts: &Counts) -> Result<Cache> {
    let encoding = match options.get::<String>("format").as_deref() {
        Ok("json") => Encoding::Json,
        _ => Encoding::Protobuf,
    };
    let storage = match options.get::<String>("storage").as_deref() {
        Ok("packed") => Storage::packed(),
        _ => Storage::Decoded,
    };
    let mut builder = SharedInformerFactory::builder(client)
        .encoding(encoding)
        .kind::<Pod>(move |pods| pods.storage(storage));
    if let Some(namespace) = namespace(options) {
        builder = builder.namespaces([namespace]);
    }
    let factory = builder.build()?;
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
    Ok(Cache::Informers(factory))
}

/// A real server has several sets of Pods, each in a namespace. The replay server has one.
fn namespace(options: &Arguments) -> Option<String> {
    options.get("namespace").ok()
}

/// A reflector, as kube's documentation shows it; what it applies counts as an event of a handler.
async fn run_kube(client: Client, options: &Arguments, counts: &Counts) -> Result<Cache> {
    let config = match options.get::<String>("kube-start").as_deref() {
        Ok("list") => watcher::Config::default(),
        _ => watcher::Config::default().streaming_lists(),
    };
    let api = match namespace(options) {
        Some(namespace) => Api::<Pod>::namespaced(client, &namespace),
        None => Api::all(client),
    };
    let (store, writer) = reflector::store();
    let counts = counts.clone();
    let events = reflector(writer, watcher(api, config)).default_backoff();
    tokio::spawn(events.for_each(move |event| {
        match event {
            Ok(watcher::Event::InitApply(_)) => counts.added.fetch_add(1, Ordering::Relaxed),
            Ok(watcher::Event::Apply(_)) => counts.updated.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        futures::future::ready(())
    }));
    store.wait_until_ready().await?;
    // The writer, in the task above, keeps the objects.
    Ok(Cache::Kube)
}

/// Starts a cache of the ConfigMaps of one namespace whose handler calls `seen` with every state.
pub(crate) async fn run_handler(
    library: Library,
    client: Client,
    namespace: &str,
    seen: Started,
) -> Result<Cache> {
    match library {
        Library::Informers => {
            let factory = SharedInformerFactory::builder(client)
                .namespaces([namespace])
                .build()?;
            let informer = factory.core().v1().config_maps().informer();
            informer.add_handler(move |event: Event<ConfigMap>| match event {
                Event::Added { object, .. } => seen(&object),
                Event::Updated { new, .. } => seen(&new),
                _ => {}
            })?;
            factory.start();
            factory.wait_for_sync().await?;
            Ok(Cache::Informers(factory))
        }
        Library::Kube => {
            let (store, writer) = reflector::store();
            let config = watcher::Config::default().streaming_lists();
            let api = Api::<ConfigMap>::namespaced(client, namespace);
            let events = reflector(writer, watcher(api, config)).default_backoff();
            tokio::spawn(events.for_each(move |event| {
                if let Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) = event {
                    seen(&object);
                }
                futures::future::ready(())
            }));
            store.wait_until_ready().await?;
            Ok(Cache::Kube)
        }
    }
}
