//! The options of a queue.

use std::fmt;

use super::limiter::{RateLimiter, default_controller_limiter};
use super::{QueueKey, WorkQueue};

/// How urgent a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Taken after keys of normal priority, but not later than [`Priorities`] allows. For objects of the
    /// initial state and resyncs, so that they do not delay fresh changes.
    Low,
    /// The default.
    #[default]
    Normal,
}

/// How a queue uses the priorities of its keys.
///
/// ```
/// use informer_core::workqueue::{Priorities, WorkQueue};
///
/// let queue: WorkQueue<u32> = WorkQueue::builder().priorities(Priorities::Ignored).build();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Priorities {
    /// Keys of normal priority are taken first. While keys of both priorities are ready, one of `low_every`
    /// keys taken is the one of low priority that is ready longest.
    ///
    /// So the key at position `p` of the low-priority line is one of the next `p * low_every` keys taken, no
    /// matter how many others are added. The default is 8; 0 and 1 are treated as 2.
    Weighted {
        /// The number of keys taken for each one of low priority, including it.
        low_every: u32,
    },
    /// Every key has normal priority: keys are taken in the order in which they became ready, as in
    /// client-go.
    Ignored,
}

impl Priorities {
    pub(super) fn valid(self) -> Self {
        match self {
            Self::Weighted { low_every } => Self::Weighted {
                low_every: low_every.max(2),
            },
            Self::Ignored => Self::Ignored,
        }
    }
}

impl Default for Priorities {
    fn default() -> Self {
        Self::Weighted { low_every: 8 }
    }
}

/// Options of a [`WorkQueue`], from [`WorkQueue::builder`].
pub struct WorkQueueBuilder<T> {
    limiter: Option<Box<dyn RateLimiter<T>>>,
    priorities: Priorities,
}

impl<T: QueueKey> WorkQueueBuilder<T> {
    pub(super) fn new() -> Self {
        Self {
            limiter: None,
            priorities: Priorities::default(),
        }
    }

    /// Sets the rate limiter of [`add_rate_limited`](WorkQueue::add_rate_limited). Default:
    /// [`default_controller_limiter`].
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Sets how priorities are used. Default: one of 8 keys has low priority.
    #[must_use]
    pub fn priorities(mut self, priorities: Priorities) -> Self {
        self.priorities = priorities;
        self
    }

    /// Creates the queue.
    pub fn build(self) -> WorkQueue<T> {
        let default = || -> Box<dyn RateLimiter<T>> { Box::new(default_controller_limiter()) };
        WorkQueue::from_parts(self.limiter.unwrap_or_else(default), self.priorities)
    }
}

impl<T> fmt::Debug for WorkQueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueueBuilder")
            .field("priorities", &self.priorities)
            .finish_non_exhaustive()
    }
}
