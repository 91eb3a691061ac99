//! Old snapshots are dropped off the async workers, whatever the size of the batch.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use informer_core::source::{
    ListEvent, ListMetadata, ListRequest, ListStream, ListWatch, SourceError, WatchEvent, WatchRequest,
    WatchStream,
};
use informer_core::{InitialState, ObjectKey, ResourceVersion, SharedInformer};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::scripted::status;

const OBJECTS: u64 = 3_000;

/// An object that counts the drops of its kind on one thread.
struct Counted {
    metadata: ObjectMeta,
    dropped: Arc<Dropped>,
}

struct Dropped {
    thread: ThreadId,
    count: AtomicUsize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        if thread::current().id() == self.dropped.thread {
            self.dropped.count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl kube::Resource for Counted {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Counted".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "example.com".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "counted".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

fn object(number: u64, version: u64, dropped: &Arc<Dropped>) -> Arc<Counted> {
    Arc::new(Counted {
        metadata: ObjectMeta {
            name: Some(format!("item-{number}")),
            namespace: Some("default".into()),
            uid: Some(number.to_string()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        dropped: dropped.clone(),
    })
}

/// Every list has all objects in a new state. A watch has one event, or for `None` the error that leads to a
/// list.
struct Source {
    dropped: Arc<Dropped>,
    lists: AtomicUsize,
    events: Mutex<UnboundedReceiver<Option<WatchEvent<Counted>>>>,
}

impl ListWatch<Counted> for Source {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<Counted>, SourceError>> {
        let round = self.lists.fetch_add(1, Ordering::SeqCst) as u64 + 1;
        let metadata = ListMetadata {
            resource_version: Some(ResourceVersion::new(&(round * OBJECTS * 2).to_string())),
            ..ListMetadata::default()
        };
        let dropped = self.dropped.clone();
        let items = (0..OBJECTS).map(move |number| {
            ListEvent::Item(object(number, (round * 2 - 1) * OBJECTS + number, &dropped).into())
        });
        let events = std::iter::once(ListEvent::Metadata(metadata)).chain(items);
        Box::pin(async { Ok(stream::iter(events.map(Ok)).boxed()) })
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Counted>, SourceError>> {
        Box::pin(async {
            Ok(match self.events.lock().await.recv().await {
                Some(Some(event)) => stream::iter([Ok(event)]).chain(stream::pending()).boxed(),
                Some(None) | None => stream::iter([Err(status(410, "Expired"))]).boxed(),
            })
        })
    }

    fn resource(&self) -> &str {
        "counted"
    }
}

/// A reader held a snapshot while everything changed; after one small event it was dropped on the async
/// worker.
#[tokio::test(start_paused = true)]
async fn i14_a_snapshot_that_a_reader_held_is_not_dropped_on_an_async_worker() {
    let dropped = Arc::new(Dropped {
        thread: thread::current().id(),
        count: AtomicUsize::new(0),
    });
    let (say, events) = unbounded_channel();
    let source = Source {
        dropped: dropped.clone(),
        lists: AtomicUsize::new(0),
        events: Mutex::new(events),
    };
    let informer = SharedInformer::builder_from_sources(vec![Arc::new(source)])
        .initial_state(InitialState::List)
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    let indexer = informer.indexer();
    let held = indexer.snapshot();
    assert_eq!(held.len() as u64, OBJECTS);

    // Everything changes while the reader holds the old state.
    say.send(None).unwrap();
    let version = ResourceVersion::new(&(4 * OBJECTS).to_string());
    informer
        .wait_until_within(&version, Duration::from_secs(60))
        .await
        .unwrap();
    drop(held);
    assert_eq!(
        dropped.count.load(Ordering::SeqCst),
        0,
        "the store keeps what readers return"
    );

    // One small event.
    let changed = object(7, 4 * OBJECTS + 1, &dropped);
    say.send(Some(WatchEvent::Modified(changed.into()))).unwrap();
    let version = ResourceVersion::new(&(4 * OBJECTS + 1).to_string());
    informer
        .wait_until_within(&version, Duration::from_secs(60))
        .await
        .unwrap();
    assert!(indexer.contains(&ObjectKey::namespaced("default", "item-7")));
    informer.shutdown().await;
    // The test still holds the last state; where it drops that is the choice of the user.
    let count = dropped.count.load(Ordering::SeqCst);
    assert!(count < 100, "{count} objects were dropped on the async worker");
}
