//! Row `growth`: time and memory per object, and the time of reads, for a number of objects.

use std::hint::black_box;
use std::time::Instant;

use informer_core::ObjectKey;
use informers::Selector;

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::sync::{self, Cache};
use crate::template::{self, PODS_PER_NAMESPACE};
use crate::{Figures, Result, process};

/// How many single objects are read, and how many namespaces.
const GETS: usize = 100_000;
const LISTS: usize = 2_000;

/// Reads `--objects` Pods of the replay server, then single ones and whole namespaces of
/// [`PODS_PER_NAMESPACE`] Pods.
pub(crate) async fn measure(options: &Arguments) -> Result<Figures> {
    let objects: usize = options.get("objects")?;
    let counts = sync::Counts::default();
    let (cache, figures) = sync::run(Library::Informers, options, &counts, objects).await?;
    let Cache::Informers(factory) = cache else {
        return Err("kube-rs has no such row".into());
    };
    let rss = process::megabytes("VmRSS")?;
    let lister = factory.core().v1().pods().lister();
    // Every 7,919th: neighbours would be in the processor's cache.
    let numbers = |count: usize| (0..count).map(move |read| read * 7919 % objects);
    let keys: Vec<_> = numbers(GETS)
        .map(|number| ObjectKey::namespaced(template::namespace(number), template::name(number)))
        .collect();
    let start = Instant::now();
    for key in &keys {
        let pod = lister.get_key(key).ok_or("a Pod is missing")?;
        black_box(&pod);
    }
    let get = start.elapsed().as_secs_f64() * 1e9 / GETS as f64;
    let namespaces: Vec<_> = numbers(LISTS).map(template::namespace).collect();
    let start = Instant::now();
    for namespace in &namespaces {
        let pods = lister.namespace(namespace).list(&Selector::everything());
        if pods.len() != PODS_PER_NAMESPACE {
            return Err(format!("{} Pods in {namespace}", pods.len()).into());
        }
        black_box(&pods);
    }
    let list = start.elapsed().as_secs_f64() * 1e6 / LISTS as f64;
    let per_object = |name: &str| {
        let figure = figures.iter().find(|(found, _)| *found == name);
        figure.map_or(0.0, |(_, value)| value * 1e3 / objects as f64)
    };
    Ok(vec![
        ("wall_per_object", per_object("wall")),
        ("cpu_per_object", per_object("cpu")),
        ("user_per_object", per_object("user")),
        ("rss_per_object", rss * 1024.0 / objects as f64),
        ("get", get),
        ("list", list),
    ])
}
