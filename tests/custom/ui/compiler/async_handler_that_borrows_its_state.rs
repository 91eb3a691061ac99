//! An async closure that borrows its state: the error shows the form that works.

use informers::{Event, SharedInformer};
use k8s_openapi::api::core::v1::Pod;

fn follow(informer: &SharedInformer<Pod>, sender: tokio::sync::mpsc::Sender<Event<Pod>>) {
    let _ = informer.add_async_handler(async move |event: Event<Pod>| {
        let _ = sender.send(event).await;
    });
}

fn main() {}
