//! `Item`: a key that is being processed.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::slots::SlotId;
use super::state::Taken;
use super::{Priority, QueueKey, WorkQueue};

/// A key that was taken from a [`WorkQueue`]. Dropping it is client-go's `Done`.
///
/// While it exists, no other item of the same key exists. If the key is added meanwhile, it is queued again
/// when the item is dropped. An item owns a handle of its queue, so it can be moved to another task.
#[must_use = "dropping the item marks its key as done"]
pub struct Item<T: QueueKey> {
    queue: WorkQueue<T>,
    key: T,
    priority: Priority,
    waited: Duration,
    slot: SlotId,
}

impl<T: QueueKey> Item<T> {
    pub(super) fn new(queue: WorkQueue<T>, taken: Taken<T>) -> Self {
        Self {
            queue,
            key: taken.key,
            priority: taken.priority,
            waited: taken.waited,
            slot: taken.slot,
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &T {
        &self.key
    }

    /// Returns how long the key was ready before it was taken. A delay does not count, nor does the time
    /// during which a previous item of the key existed.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns the highest priority with which the key was added.
    pub fn priority(&self) -> Priority {
        self.priority
    }
}

impl<T: QueueKey> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.key
    }
}

impl<T: QueueKey> Drop for Item<T> {
    fn drop(&mut self) {
        self.queue.done(self.slot);
    }
}

impl<T: QueueKey + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}
