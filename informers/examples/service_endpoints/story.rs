//! The story on the embedded server: endpoints get ready, a second slice comes, and a service goes.

use serde_json::{Value, json};

use super::join::SERVICE_NAME;
use super::shared::{Failure, Stage};

/// Puts two services there, and then changes what is behind them.
pub(crate) fn tell(
    mut stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let server = stage.server.clone();
    let search = server.create(&service("search"))?;
    server.create(&service("cart"))?;
    server.create(&slice("cart-1", &[("10.0.0.1", true), ("10.0.0.2", false)]))?;
    Ok(async move {
        stage.until(&["shop/search", "0 ready"]).await?;

        // A pod passes its readiness probe.
        server.update(&slice("cart-1", &[("10.0.0.1", true), ("10.0.0.2", true)]))?;
        stage.until(&["shop/cart", "2 ready  10.0.0.1 10.0.0.2"]).await?;

        // A service may have any number of slices.
        server.create(&slice("cart-2", &[("10.0.0.3", true)]))?;
        stage.until(&["shop/cart", "3 ready"]).await?;

        server.delete(&slice("cart-1", &[]))?;
        stage.until(&["shop/cart", "1 ready  10.0.0.3"]).await?;

        server.delete(&search)?;
        stage.until(&["shop/search", "gone"]).await
    })
}

fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "namespace": "shop", "name": name },
        "spec": { "selector": { "app": name } },
    })
}

/// A slice of the service `cart`: addresses, and whether they are ready.
fn slice(name: &str, endpoints: &[(&str, bool)]) -> Value {
    let endpoints = endpoints
        .iter()
        .map(|(address, ready)| json!({ "addresses": [address], "conditions": { "ready": ready } }));
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": { "namespace": "shop", "name": name, "labels": { SERVICE_NAME: "cart" } },
        "addressType": "IPv4",
        "endpoints": Vec::from_iter(endpoints),
    })
}
