//! A small cluster with work, trouble and a controller, and the debug page of a program that watches it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule};
use informers::controller::{Action, Controller, Manager, Request};
use informers::debug::{self, Server};
use informers::{Event, HandlerOptions, SharedInformerFactory};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::task::JoinHandle;

pub(crate) struct Cluster {
    api: ApiServer,
    page: Server,
    added: AtomicUsize,
    factory: SharedInformerFactory,
    manager: JoinHandle<()>,
}

fn item(kind: &str, namespace: &str, name: &str) -> serde_json::Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": { "name": name, "labels": { "team": namespace } },
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn named(name: &str) -> HandlerOptions {
    HandlerOptions::default().name(name)
}

impl Cluster {
    /// 240 ConfigMaps with a fast and a slow handler, an index and a controller that fails for some;
    /// Services, Namespaces and Nodes; Secrets that may not be read.
    pub(crate) async fn start() -> Self {
        let api = ApiServer::start();
        for namespace in ["monitoring", "payments", "shop"] {
            api.create(&item("Namespace", "", namespace)).unwrap();
            for number in 0..12 {
                api.create(&item("Service", namespace, &format!("service-{number}")))
                    .unwrap();
            }
            for number in 0..80 {
                let name = format!("item-{number}");
                let name = if namespace == "shop" {
                    format!("item-{}", 100 + number)
                } else {
                    name
                };
                api.create(&item("ConfigMap", namespace, &name)).unwrap();
            }
        }
        for number in 1..=5 {
            api.create(&item("Node", "", &format!("node-{number}"))).unwrap();
        }
        api.faults().add(Rule::new(Fault::Forbidden).resource("secrets"));

        let factory = SharedInformerFactory::new(api.client());
        let core = factory.core().v1();
        let config_maps = core.config_maps().informer();
        let team = |map: &ConfigMap| map.metadata.labels.as_ref()?.get("team").cloned();
        config_maps.add_index("by team", team).unwrap();
        config_maps
            .add_handler_with(named("settings reloader"), |_: Event<ConfigMap>| {})
            .unwrap();
        config_maps
            .add_handler_with(named("slow exporter"), |event: Event<ConfigMap>| {
                if !matches!(event, Event::Added { .. }) {
                    std::thread::sleep(Duration::from_millis(40));
                }
            })
            .unwrap();
        let controller = Controller::new("exposer", &config_maps)
            .workers(2)
            .build()
            .unwrap();
        core.services().informer();
        core.nodes().informer();
        core.namespaces().informer();
        factory.start();
        factory.wait_for_sync().await.unwrap();
        let manager =
            Manager::new(factory.clone()).controller(controller, async |request: Request<ConfigMap>| {
                match request.key().namespace() == Some("payments") && request.key().name().ends_with('7') {
                    true => Err(std::io::Error::other("the payment service does not answer")),
                    false => Ok(Action::await_change()),
                }
            });
        let health = manager.health();
        let manager = tokio::spawn(async move {
            // It is aborted at the end.
            let _finished = manager.run_until(std::future::pending()).await;
        });
        // A manager waits for every informer that exists, and some of the tests add one that cannot sync.
        while health.ready().is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let page = debug::serve(&factory, 0).await.unwrap();
        Self {
            api,
            page,
            added: AtomicUsize::new(0),
            factory,
            manager,
        }
    }

    pub(crate) fn url(&self) -> String {
        self.page.url()
    }

    pub(crate) fn add_config_maps(&self, count: usize) {
        for _ in 0..count {
            let number = self.added.fetch_add(1, Ordering::Relaxed);
            let map = item("ConfigMap", "shop", &format!("added-{number}"));
            self.api.create(&map).unwrap();
        }
    }

    /// Adds the Secrets, and lets things happen for as long as the variable `CHARTS` says, in seconds, so
    /// that the charts of pictures show something.
    pub(crate) async fn fill_charts(&self) {
        let seconds = std::env::var("CHARTS")
            .ok()
            .and_then(|seconds| seconds.parse::<u32>().ok());
        self.factory.core().v1().secrets().informer();
        self.factory.start();
        for second in 0..seconds.unwrap_or_default() {
            // A wave with a burst now and then.
            let changes = 4 + (second * 7 % 11) + if second % 37 < 4 { 60 } else { 0 };
            for change in 0..changes {
                let name = format!("item-{}", (second * 31 + change * 7) % 80);
                let mut map = item("ConfigMap", "monitoring", &name);
                map["data"] = json!({ "changed": format!("{second} {change}") });
                self.api.update(&map).unwrap();
                if change % 5 == 0 {
                    let mut service = item("Service", "shop", &format!("service-{}", change % 12));
                    service["metadata"]["annotations"] = json!({ "changed": format!("{second} {change}") });
                    self.api.update(&service).unwrap();
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.manager.abort();
    }
}
