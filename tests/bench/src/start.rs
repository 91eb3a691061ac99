//! Row `start`: how soon a fresh change is reconciled while the initial objects are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::DeleteParams;
use tokio::sync::mpsc;

use crate::arguments::Arguments;
use crate::controllers::{self, Library};
use crate::{Figures, Result, server};

/// The object that is created meanwhile.
const FRESH: &str = "fresh";

/// The time one reconcile takes.
const WORK: Duration = Duration::from_millis(1);

/// Starts a controller in a filled `--namespace`, creates an object when `--after` reconciles have started,
/// and counts the reconciles that start from before the request until that object's, including it.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (namespace, after): (String, usize) = (options.get("namespace")?, options.get("after")?);
    let client = server::client(library).await?;
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let started = {
        let count = count.clone();
        move |config_map: &ConfigMap| {
            let position = count.fetch_add(1, Ordering::Relaxed) + 1;
            if position == after || config_map.metadata.name.as_deref() == Some(FRESH) {
                let _ = sender.send((position, Instant::now()));
            }
        }
    };
    controllers::run(library, client, &namespace, Arc::new(started), WORK)?;
    receiver.recv().await.ok_or("the controller ended")?;
    let (before, requested) = (count.load(Ordering::Relaxed), Instant::now());
    server::create(&config_maps, FRESH.to_owned()).await?;
    let (position, started) = receiver.recv().await.ok_or("the controller ended")?;
    config_maps.delete(FRESH, &DeleteParams::default()).await?;
    Ok(vec![
        ("position", (position - before) as f64),
        ("milliseconds", (started - requested).as_secs_f64() * 1e3),
    ])
}
