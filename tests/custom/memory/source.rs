//! An informer of generated pods, which are decoded while they are listed.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use informers::SharedInformer;
use informers::options::Storage;
use informers::source::{
    Decode as _, JsonDecoder, ListEvent, ListMetadata, ListRequest, ListStream, ListWatch, SourceError,
    WatchListSupport, WatchRequest, WatchStream,
};
use informers::{ManagedFields, ResourceVersion};
use k8s_openapi::api::core::v1::Pod;

use crate::pods;

/// Lists pods, and has no changes.
struct Pods {
    count: usize,
    /// Called before each pod.
    visit: Arc<dyn Fn() + Send + Sync>,
}

impl ListWatch<Pod> for Pods {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<Pod>, SourceError>> {
        let metadata = ListMetadata {
            resource_version: Some(ResourceVersion::new("9000000")),
            ..ListMetadata::default()
        };
        let (decoder, visit) = (
            JsonDecoder::of::<Pod>(&(), ManagedFields::Drop),
            self.visit.clone(),
        );
        let pods = (0..self.count).map(move |number| {
            visit();
            let pod: Result<Pod, _> = decoder.decode(pods::json(number).as_bytes());
            ListEvent::Item(Arc::new(pod.expect("the pods of this program can be decoded")).into())
        });
        let events = std::iter::once(ListEvent::Metadata(metadata)).chain(pods);
        Box::pin(async { Ok(stream::iter(events.map(Ok)).boxed()) })
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Pod>, SourceError>> {
        Box::pin(async { Ok(stream::pending().boxed()) })
    }

    fn watch_list(&self) -> WatchListSupport {
        WatchListSupport::Unsupported
    }

    fn resource(&self) -> &str {
        "pods"
    }
}

/// An informer that is in sync. `visit` is called before each pod is listed.
pub(crate) async fn synced(
    count: usize,
    storage: Storage,
    visit: Arc<dyn Fn() + Send + Sync>,
) -> SharedInformer<Pod> {
    let informer = SharedInformer::builder_from_sources(vec![Arc::new(Pods { count, visit })])
        .storage(storage)
        .build()
        .expect("the options are valid");
    informer.start().expect("it starts once");
    informer.synced().await.expect("the source does not fail");
    informer
}
