//! A source of small Pods without a server: a list, and the changes of a stream.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
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

/// Lists Pods, and watches a stream of changes.
pub struct Feed {
    /// How many there are.
    pods: usize,
    changes: Arc<Mutex<BoxStream<'static, WatchEvent<Pod>>>>,
}

impl Feed {
    /// Creates a source of this many Pods and the sending end of the channel of its changes, which holds
    /// `capacity` events.
    pub fn new(pods: usize, capacity: usize) -> (Self, mpsc::Sender<WatchEvent<Pod>>) {
        let (sender, receiver) = mpsc::channel(capacity);
        let changes = stream::unfold(receiver, async |mut receiver| {
            let event = receiver.recv().await?;
            Some((event, receiver))
        });
        (Self::of(pods, changes), sender)
    }

    /// Creates a source of this many Pods, and of changes that are made when the informer polls them, as the
    /// events of a server are decoded then.
    pub fn of(pods: usize, changes: impl Stream<Item = WatchEvent<Pod>> + Send + 'static) -> Self {
        let changes = Arc::new(Mutex::new(changes.boxed()));
        Self { pods, changes }
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
        let changes = self.changes.clone().lock_owned();
        async {
            let changes = stream::unfold(changes.await, async |mut changes| {
                let event = changes.next().await?;
                Some((Ok(event), changes))
            });
            Ok(changes.boxed())
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
