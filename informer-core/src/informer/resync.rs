//! The task that looks whether a resync is due: the one place where knowledge flows back from handlers to the queue.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::delta::{DeltaSender, ResyncTicket};
use crate::object::Object;

/// The back edge: all the queue's side learns of the handlers.
pub(super) trait ResyncDue: Send + Sync {
    /// The handlers that are to hear of every object again now.
    fn due(&self, now: Instant) -> Option<ResyncTicket>;
}

/// Asks every `period`, and queues a resync when one is due, until nobody takes from the queue any more.
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
