//! A controller as its observers see it: without its type, and without keeping it alive.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::status::{Book, ControllerStatus, RunningKey};
use super::{ControllerShared, STUCK_AFTER};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::sync::Mutex;
use crate::workqueue::WorkQueue;

/// Shows the status of a [`Controller`](super::Controller) for as long as it exists.
#[derive(Clone)]
pub struct WeakController {
    name: Arc<str>,
    queue: WorkQueue<ObjectKey>,
    book: Weak<Mutex<Book>>,
    time_limit: Duration,
}

impl WeakController {
    pub(super) fn new<K: Object>(shared: &ControllerShared<K>) -> Self {
        Self {
            name: shared.name.clone(),
            queue: shared.queue.clone(),
            book: Arc::downgrade(&shared.book),
            time_limit: shared.options.time_limit,
        }
    }

    /// The name of the controller.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the controller is doing; `None` once it was dropped.
    pub fn status(&self) -> Option<ControllerStatus> {
        let book = self.book.upgrade()?;
        let queue = self.queue.status();
        let status = book.lock().status(&self.name, queue);
        Some(status)
    }

    /// Returns what its metrics need; `None` once it was dropped.
    #[cfg(feature = "metrics")]
    pub fn metrics(&self) -> Option<super::ControllerMetrics> {
        let book = self.book.upgrade()?;
        let queue = self.queue.read_metrics();
        let metrics = book.lock().metrics(&self.name, queue);
        Some(metrics)
    }

    /// Returns whether the controller still exists.
    pub fn exists(&self) -> bool {
        self.book.strong_count() > 0
    }

    /// See [`Controller::stuck`](super::Controller::stuck).
    pub fn stuck(&self) -> Option<RunningKey> {
        let limit = self.time_limit.saturating_add(STUCK_AFTER);
        let longest = self.book.upgrade()?.lock().longest();
        longest.filter(|running| running.elapsed > limit)
    }
}

impl fmt::Debug for WeakController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakController").field(&self.name).finish()
    }
}
