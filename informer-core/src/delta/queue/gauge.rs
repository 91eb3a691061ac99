//! The depth of a queue and its progress, for the status of an informer.

use std::sync::Weak;

use super::Queue;
use super::receiver::DeltaReceiver;
use crate::sync::Mutex;

/// Reads the depth of a queue. Keeps neither the queue open nor its entries alive.
pub(crate) struct QueueGauge<K>(Weak<Mutex<Queue<K>>>);

impl<K> QueueGauge<K> {
    /// The number of entries that wait: changes, bookmarks, and one for each whole state.
    pub(crate) fn depth(&self) -> usize {
        self.0.upgrade().map_or(0, |queue| queue.lock().log.len())
    }
}

impl<K> QueueGauge<K> {
    /// The number of batches that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.0.upgrade().map_or(0, |queue| queue.lock().taken)
    }
}

impl<K> DeltaReceiver<K> {
    /// Returns the gauge of this queue.
    pub(crate) fn gauge(&self) -> QueueGauge<K> {
        QueueGauge(std::sync::Arc::downgrade(&self.queue))
    }
}
