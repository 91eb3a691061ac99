//! An async closure with state of its own: the form that works is beside the bound that is not met.

use informers::{Event, SharedInformer};
use k8s_openapi::api::core::v1::Pod;

fn follow(informer: &SharedInformer<Pod>, sender: tokio::sync::mpsc::Sender<Event<Pod>>) {
    let _ = informer.add_async_handler(async move |event: Event<Pod>| {
        let _ = sender.send(event).await;
    });
}

fn main() {}
