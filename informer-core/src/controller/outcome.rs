//! What a reconcile returns, and what becomes of its key.

use std::time::Duration;

/// When to reconcile the key again after a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    after: Option<Duration>,
}

impl Action {
    /// Reconciles the key again after this time, or earlier if something changes. The next reconcile of the
    /// key, for whatever reason it runs, decides anew.
    pub fn requeue(after: Duration) -> Self {
        Self { after: Some(after) }
    }

    /// Reconciles the key again only when something changes.
    pub fn await_change() -> Self {
        Self { after: None }
    }

    pub(super) fn after(self) -> Option<Duration> {
        self.after
    }
}
