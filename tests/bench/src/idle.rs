//! Row `idle`: what informers cost that have nothing to do.

use std::time::Duration;

use futures::StreamExt as _;
use informer_core::{Event, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client};

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::{Figures, Result, process, server};

/// How long the informers do nothing before they are measured, and while their processor time is.
const IDLE: Duration = Duration::from_secs(3);

/// Starts one informer, then `--informers` in all, of ConfigMaps in as many empty namespaces, with one client
/// and one handler each.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let informers: usize = options.get("informers")?;
    let namespace: String = options.get("namespace")?;
    let client = server::client(library).await?;
    // Keeps the caches.
    let mut caches = vec![start(library, client.clone(), format!("{namespace}-0")).await?];
    tokio::time::sleep(IDLE).await;
    let first = process::megabytes("VmRSS")?;
    for number in 1..informers {
        caches.push(start(library, client.clone(), format!("{namespace}-{number}")).await?);
    }
    tokio::time::sleep(IDLE).await;
    let cpu_before = process::cpu();
    tokio::time::sleep(IDLE).await;
    let cpu = process::cpu() - cpu_before;
    let figures = vec![
        ("first", first),
        ("above_first", process::megabytes("VmRSS")? - first),
        ("connections", process::connections()? as f64),
        ("cpu", cpu * 1e3 / IDLE.as_secs_f64()),
    ];
    drop(caches);
    Ok(figures)
}

/// Returns when it is synced.
async fn start(
    library: Library,
    client: Client,
    namespace: String,
) -> Result<Option<SharedInformer<ConfigMap>>> {
    match library {
        Library::Informers => {
            let mut builder = SharedInformer::<ConfigMap>::builder(client).namespace(namespace);
            if let Some(decode) = informer_protobuf::decoder::<ConfigMap>() {
                builder = builder.protobuf(decode);
            }
            let informer = builder.build()?;
            informer.add_handler(|_: Event<ConfigMap>| ())?;
            informer.start()?;
            informer.synced().await?;
            Ok(Some(informer))
        }
        Library::Kube => {
            let (store, writer) = reflector::store();
            let config = watcher::Config::default().streaming_lists();
            let api = Api::<ConfigMap>::namespaced(client, &namespace);
            let events = reflector(writer, watcher(api, config)).default_backoff();
            tokio::spawn(events.for_each(|_| futures::future::ready(())));
            store.wait_until_ready().await?;
            Ok(None)
        }
    }
}
