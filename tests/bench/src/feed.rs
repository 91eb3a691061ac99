//! A source of small Pods without a server: a list, and the changes that a channel delivers.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use informer_core::ResourceVersion;
use informer_core::source::{
    ListEvent, ListMetadata, ListRequest, ListStream, ListWatch, SourceError, WatchEvent, WatchListSupport,
    WatchRequest, WatchStream,
};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Mutex, mpsc};

/// The namespace of all Pods.
pub const NAMESPACE: &str = "bench";

/// The name of a Pod.
pub fn name(number: usize) -> String {
    format!("pod-{number:07}")
}

/// A Pod with metadata only, at version 1.
pub fn pod(number: usize) -> Arc<Pod> {
    pod_at(&name(number), 1)
}

/// A Pod with metadata only. It is made where it stays, as in Go: it is large, so to move it takes longer
/// than to make it.
pub fn pod_at(name: &str, version: usize) -> Arc<Pod> {
    let mut pod = Arc::<Pod>::default();
    if let Some(pod) = Arc::get_mut(&mut pod) {
        let meta = &mut pod.metadata;
        meta.namespace = Some(NAMESPACE.to_owned());
        meta.name = Some(name.to_owned());
        meta.uid = Some("u".to_owned());
        meta.resource_version = Some(version.to_string());
    }
    pod
}

/// Lists Pods, and watches what is sent to the channel.
pub struct Feed {
    /// How many there are.
    pods: usize,
    events: Arc<Mutex<mpsc::Receiver<WatchEvent<Pod>>>>,
}

impl Feed {
    /// Creates a source of this many Pods and the sending end of its channel, which holds `capacity` events.
    pub fn new(pods: usize, capacity: usize) -> (Self, mpsc::Sender<WatchEvent<Pod>>) {
        let (sender, events) = mpsc::channel(capacity);
        let events = Arc::new(Mutex::new(events));
        (Self { pods, events }, sender)
    }
}

impl ListWatch<Pod> for Feed {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<Pod>, SourceError>> {
        let metadata = ListMetadata {
            resource_version: Some(ResourceVersion::new("1")),
            ..ListMetadata::default()
        };
        let items: Vec<_> = (0..self.pods)
            .map(|number| ListEvent::Item(pod(number).into()))
            .collect();
        let events = items.into_iter().chain([ListEvent::Metadata(metadata)]);
        async { Ok(stream::iter(events.map(Ok)).boxed()) }.boxed()
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Pod>, SourceError>> {
        let events = self.events.clone().lock_owned();
        async {
            let events = stream::unfold(events.await, async |mut events| {
                let event = events.recv().await?;
                Some((Ok(event), events))
            });
            Ok(events.boxed())
        }
        .boxed()
    }

    fn watch_list(&self) -> WatchListSupport {
        WatchListSupport::Unsupported
    }

    fn resource(&self) -> &str {
        "pods"
    }
}
