//! Triggers: streams from outside that cause reconciles.

use std::pin::Pin;

use futures::{Stream, StreamExt as _};

use crate::key::ObjectKey;
use crate::object::Object;
use crate::store::Indexer;
use crate::workqueue::{Priority, WorkQueue};

/// A stream that causes reconciles.
pub(super) enum Trigger {
    /// Of these keys.
    Keys(Pin<Box<dyn Stream<Item = ObjectKey> + Send>>),
    /// Of every object in the cache.
    All(Pin<Box<dyn Stream<Item = ()> + Send>>),
}

impl Trigger {
    /// Forwards the stream to the queue until it ends.
    pub(super) async fn forward<K: Object>(self, queue: WorkQueue<ObjectKey>, objects: Indexer<K>) {
        match self {
            Self::Keys(mut keys) => {
                while let Some(key) = keys.next().await {
                    queue.add(key);
                }
            }
            Self::All(mut stream) => {
                while stream.next().await.is_some() {
                    for key in objects.keys() {
                        queue.add_with(key, Priority::Low);
                    }
                }
            }
        }
    }
}
