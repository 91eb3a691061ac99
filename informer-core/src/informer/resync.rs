//! The resync task: the only place where information flows back from handlers to the queue.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::delta::{DeltaSender, ResyncTicket};
use crate::object::Object;

/// What the queue's side knows about the handlers.
pub(super) trait ResyncDue: Send + Sync {
    /// The handlers for which a resync is due.
    fn due(&self, now: Instant) -> Option<ResyncTicket>;
}

/// Checks every `period` whether a resync is due and queues it, until the queue is closed.
pub(super) async fn run<K: Object>(period: Duration, handlers: impl ResyncDue, queue: DeltaSender<K>) {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        if let Some(ticket) = handlers.due(now)
            && queue.sync_all(ticket).await.is_err()
        {
            return;
        }
    }
}
