//! A subscriber of the spans and log lines of one test, while other tests run in the same process.

use std::sync::LazyLock;

use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Subscriber};

/// A second subscriber that lives as long as the process.
///
/// While only one lives, tracing asks the thread that first reaches a span or log line whether it is wanted,
/// and keeps the answer for all threads. That may be the thread of another test, which wants none. With two,
/// tracing asks both.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

/// Sends the spans and log lines of this thread to a subscriber, until the guard is dropped.
pub fn to(subscriber: impl Subscriber + Send + Sync + 'static) -> DefaultGuard {
    LazyLock::force(&SECOND);
    tracing::subscriber::set_default(subscriber)
}
