//! The scripts of the small examples of this workspace.

use serde_json::{Value, json};

use super::script::Script;

impl Script {
    /// Pods on two nodes; one is scheduled, one is created on a third node, one is deleted. For a program
    /// that shows the pods of each node.
    pub fn pods_on_nodes() -> Self {
        Self::new()
            .create(pod("shop", "cart-0", "Running", Some("node-1")))
            .create(pod("shop", "front-0", "Running", Some("node-1")))
            .create(pod("payments", "api-0", "Running", Some("node-2")))
            .create(pod("shop", "front-1", "Pending", None))
            .shown("node-2 1 payments/api-0")
            .update(pod("shop", "front-1", "Pending", Some("node-2")))
            .shown("node-2 2 payments/api-0 shop/front-1")
            .create(pod("shop", "search-0", "Running", Some("node-3")))
            .shown("node-3 1 shop/search-0")
            .delete(pod("shop", "cart-0", "Running", None))
            .shown("node-1 1 shop/front-0")
    }

    /// A ConfigMap `shop/shop-settings` with good settings, better ones, bad ones, none, and good ones again.
    /// For a program that keeps the last good settings.
    pub fn settings() -> Self {
        let settings = |workers| settings("shop-settings", "workers", workers);
        Self::new()
            .create(settings("2"))
            // A program that selects its ConfigMap by name never receives this one.
            .create(self::settings("other-settings", "workers", "64"))
            .shown("settings, version .. 2 workers")
            .update(settings("8"))
            .shown("settings, version .. 8 workers")
            .update(settings("eight"))
            .shown("kept, .. 8 workers")
            .update(settings("65"))
            .shown("kept, .. 8 workers")
            .update(self::settings("shop-settings", "wokers", "9"))
            .shown("kept, .. \"wokers\" .. 8 workers")
            .delete(settings("8"))
            .shown("kept, .. deleted .. 8 workers")
            .create(settings("4"))
            .shown("settings, version .. 4 workers")
    }

    /// Services and EndpointSlices; an endpoint becomes ready, a second slice is created, a service is
    /// deleted. For a program that shows the ready addresses of each service.
    pub fn endpoints() -> Self {
        Self::new()
            .create(service("search"))
            .create(service("cart"))
            .create(slice(
                "shop",
                "cart-1",
                &[("10.0.0.1", None), ("10.0.0.2", Some(false))],
            ))
            // A service of the same name in another namespace.
            .create(slice("other", "cart-1", &[("10.0.0.9", Some(true))]))
            .shown("shop/search 0 ready")
            .update(slice(
                "shop",
                "cart-1",
                &[("10.0.0.1", None), ("10.0.0.2", Some(true))],
            ))
            .shown("shop/cart 2 ready 10.0.0.1 10.0.0.2")
            .create(slice("shop", "cart-2", &[("10.0.0.3", Some(true))]))
            .shown("shop/cart 3 ready")
            .delete(slice("shop", "cart-1", &[]))
            .shown("shop/cart 1 ready 10.0.0.3")
            .delete(service("search"))
            .shown("shop/search deleted")
    }

    /// Five pods; another is created and starts, one is deleted, and then nothing happens. For a program with
    /// resyncs.
    pub fn resyncs() -> Self {
        let mut script = Self::new();
        for number in 0..5 {
            let name = format!("front-{number}");
            script = script.create(pod("shop", &name, "Running", Some("node-1")));
        }
        script = script
            .shown("added shop/front-4")
            .create(pod("shop", "cart-0", "Pending", None))
            .shown("added shop/cart-0")
            .update(pod("shop", "cart-0", "Running", Some("node-2")))
            .shown("updated shop/cart-0")
            .delete(pod("shop", "front-0", "Running", None))
            .shown("deleted shop/front-0");
        // Long enough for every handler with a resync.
        (0..3).fold(script, |script, _| script.shown("resync shop/front-4"))
    }

    /// A website, which is a custom resource, for a program that runs its pods by a Deployment. The script
    /// does what controllers and people do: pods become ready, the website grows, its Deployment and then the
    /// website itself are deleted. `definition` is the CustomResourceDefinition, in YAML.
    pub fn websites(definition: &'static str) -> Self {
        Self::new()
            .create_yaml(definition)
            .create(website(1))
            .shown("shop/front Progressing: 0 of 1")
            .merge(ready_replicas(1))
            .shown("shop/front Available: 1 of 1")
            .merge(website(3))
            .shown("shop/front Progressing: 1 of 3")
            .merge(ready_replicas(3))
            .shown("shop/front Available: 3 of 3")
            .delete(deployment())
            .shown("shop/front Progressing: 0 of 3")
            .merge(ready_replicas(3))
            .shown("shop/front Available: 3 of 3")
            .delete(website(3))
            .shown("shop/front deleted")
    }
}

fn pod(namespace: &str, name: &str, phase: &str, node: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": namespace, "name": name },
        "spec": { "containers": [], "nodeName": node }, "status": { "phase": phase },
    })
}

fn settings(name: &str, key: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "shop", "name": name },
        "data": { "greeting": "welcome", key: value },
    })
}

fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "namespace": "shop", "name": name },
        "spec": { "selector": { "app": name } },
    })
}

/// A slice of the service `cart`: addresses, and whether they are ready.
fn slice(namespace: &str, name: &str, endpoints: &[(&str, Option<bool>)]) -> Value {
    let labels = json!({ "kubernetes.io/service-name": "cart" });
    let endpoints = endpoints
        .iter()
        .map(|(address, ready)| json!({ "addresses": [address], "conditions": { "ready": ready } }));
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "namespace": namespace, "name": name, "labels": labels },
        "addressType": "IPv4", "endpoints": Vec::from_iter(endpoints),
    })
}

fn website(replicas: i32) -> Value {
    json!({
        "apiVersion": "hosting.example.com/v1", "kind": "Website",
        "metadata": { "namespace": "shop", "name": "front" },
        "spec": { "plan": "small", "image": "registry.example.com/site:1", "replicas": replicas,
        "port": 8080 },
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "namespace": "shop", "name": "front" },
    })
}

/// The status of the Deployment when its controller has seen every change of it.
fn ready_replicas(ready: i32) -> Value {
    let mut fields = deployment();
    fields["status"] = json!({ "observedGeneration": 1_000, "readyReplicas": ready });
    fields
}
