//! One controller of ConfigMaps with one worker, in each of the libraries.

use std::convert::Infallible;
use std::future::pending;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use informers::SharedInformerFactory;
use informers::controller::{self, Manager, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{self, watcher};
use kube::{Api, Client};

use crate::Result;

/// A library with controllers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    Informers,
    Kube,
}

impl FromStr for Library {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "informers" => Ok(Self::Informers),
            "kube-rs" => Ok(Self::Kube),
            _ => Err(format!("unknown library \"{name}\"")),
        }
    }
}

/// Called at the start of each reconcile.
pub(crate) type Started = Arc<dyn Fn(&ConfigMap) + Send + Sync>;

/// Runs a controller in the background until the process ends. A reconcile calls `started`, then sleeps for
/// `work`.
pub(crate) fn run(
    library: Library,
    client: Client,
    namespace: &str,
    started: Started,
    work: Duration,
) -> Result<()> {
    match library {
        Library::Informers => run_informers(client, namespace, started, work),
        Library::Kube => {
            run_kube(client, namespace, started, work);
            Ok(())
        }
    }
}

fn run_informers(client: Client, namespace: &str, started: Started, work: Duration) -> Result<()> {
    let factory = SharedInformerFactory::builder(client)
        .namespaces([namespace])
        .build()?;
    let config_maps = factory.core().v1().config_maps();
    let controller = controller::Controller::new("bench", &config_maps.informer())
        .workers(1)
        .build()?;
    let reconcile = move |request: Request<ConfigMap>| {
        let started = started.clone();
        async move {
            if let Some(config_map) = request.object() {
                started(&config_map);
            }
            sleep(work).await;
            Ok::<_, Infallible>(controller::Action::await_change())
        }
    };
    let manager = Manager::new(factory).controller(controller, reconcile);
    tokio::spawn(manager.run_until(pending()));
    Ok(())
}

fn run_kube(client: Client, namespace: &str, started: Started, work: Duration) {
    let config_maps = Api::<ConfigMap>::namespaced(client, namespace);
    let reconcile = move |config_map: Arc<ConfigMap>, started: Arc<Started>| async move {
        started(&config_map);
        sleep(work).await;
        Ok::<_, Infallible>(runtime::controller::Action::await_change())
    };
    let controller = runtime::Controller::new(config_maps, watcher::Config::default())
        .with_config(runtime::controller::Config::default().concurrency(1))
        .run(
            reconcile,
            |_, _, _| runtime::controller::Action::await_change(),
            Arc::new(started),
        );
    tokio::spawn(controller.for_each(async |_| ()));
}

async fn sleep(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
