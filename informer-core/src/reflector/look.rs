//! Looks for the next event of a watch for a moment before the task sleeps, if events come fast.
//!
//! A task that sleeps lets its worker sleep, and to wake that costs more than all work on a change. While it
//! looks, the task yields, so other tasks run as before.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use crate::fast_paths;
use crate::source::{SourceError, WatchEvent, WatchStream};
use crate::sync::can_spin;

/// How long a task looks, if the last event came as soon.
const LOOK: Duration = Duration::from_micros(100);

/// Whether a task looks for the next event before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Never: on one core nothing happens meanwhile, and the clock of the current-thread runtime may be
    /// paused.
    Never,
    /// The last event was awaited for long.
    Skip,
    /// The last event came within moments.
    Briefly,
}

impl Look {
    pub(super) fn of_current_runtime() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) if fast_paths::are_on() && can_spin() => Self::Skip,
            _ => Self::Never,
        }
    }

    /// Returns the next item of the stream if it comes within moments. Otherwise the caller waits for it.
    pub(super) async fn next<K>(self, stream: &mut WatchStream<K>) -> Option<Next<K>> {
        if self != Self::Briefly {
            return None;
        }
        let begun = Instant::now();
        loop {
            if let Some(next) = stream.next().now_or_never() {
                return Some(next);
            }
            if begun.elapsed() >= LOOK {
                return None;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Records how long the last event was awaited. Events come at about the same pace for a while, so this
    /// predicts the next one.
    pub(super) fn waited(&mut self, time: Duration) {
        *self = match *self {
            Self::Never => Self::Never,
            _ if time < LOOK => Self::Briefly,
            _ => Self::Skip,
        };
    }
}

/// An item of a watch stream, or its end.
type Next<K> = Option<Result<WatchEvent<K>, SourceError>>;

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use futures::stream;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn ready() -> WatchStream<ConfigMap> {
        stream::iter([Ok(WatchEvent::Unknown)]).boxed()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_task_looks_only_while_events_come_fast() {
        let mut look = Look::of_current_runtime();
        if look == Look::Never {
            // One core.
            return;
        }
        assert!(look.next(&mut ready()).await.is_none(), "no event came yet");
        look.waited(LOOK / 2);
        assert!(look.next(&mut ready()).await.is_some());
        look.waited(LOOK);
        assert!(look.next(&mut ready()).await.is_none(), "the last one took long");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_look_ends_if_nothing_comes() {
        let mut silent: WatchStream<ConfigMap> = stream::pending().boxed();
        assert!(Look::Briefly.next(&mut silent).await.is_none());
    }

    #[tokio::test]
    async fn a_task_of_the_current_thread_runtime_never_looks() {
        let mut look = Look::of_current_runtime();
        look.waited(Duration::ZERO);
        assert_eq!(look, Look::Never);
    }
}
