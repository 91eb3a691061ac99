//! Lists and watches Pods with `kube::Api` only: the baseline for `pods_with_informers.rs`.

#![expect(clippy::print_stdout, reason = "the program prints the events it receives")]

use std::pin::pin;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pods: Api<Pod> = Api::all(informers::client::try_default().await?);
    let list = pods.list(&ListParams::default()).await?;
    println!("{} pods", list.items.len());
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut events = pin!(pods.watch(&WatchParams::default(), &version).await?);
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Added(pod) = event {
            println!("added {:?}", pod.metadata.name);
        }
    }
    Ok(())
}
