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
use crate::sync::{Streak, can_spin, simulation};

/// How long a task looks, if the last events came as soon.
const LOOK: Duration = Duration::from_micros(100);

/// How often a task of a simulation looks. Its clock stands still meanwhile.
const SIMULATED_LOOKS: u32 = 3;

/// Takes events from a watch.
pub(super) struct Look {
    /// The events that were awaited for moments only. `None` if the task never looks: on one core nothing
    /// happens meanwhile, and the clock of the current-thread runtime may be paused.
    streak: Option<Streak>,
    /// Since when the next event is awaited; `None` if one was there at once.
    waits_since: Option<Instant>,
}

impl Look {
    pub(super) fn of_current_runtime() -> Self {
        let streak = match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            _ if !fast_paths::are_on() => None,
            _ if simulation::is_running() => Some(Streak::default()),
            Ok(RuntimeFlavor::MultiThread) if can_spin() => Some(Streak::default()),
            _ => None,
        };
        Self {
            streak,
            waits_since: None,
        }
    }

    /// Returns the next item of the stream if it is there, or comes within moments while events come fast.
    /// Otherwise the caller waits for it.
    pub(super) async fn next<K>(&mut self, stream: &mut WatchStream<K>) -> Option<Next<K>> {
        let streak = self.streak?;
        for looks in 0.. {
            if let Some(next) = stream.next().now_or_never() {
                return Some(next);
            }
            let since = *self.waits_since.get_or_insert_with(Instant::now);
            let is_over = match simulation::is_running() {
                true => looks >= SIMULATED_LOOKS,
                false => since.elapsed() >= LOOK,
            };
            if !streak.is_long() || is_over {
                break;
            }
            tokio::task::yield_now().await;
        }
        None
    }

    /// Records that an event came. Events come at about the same pace for a while, so the times that the last
    /// ones were awaited predict that of the next one.
    pub(super) fn event_came(&mut self) {
        if let (Some(since), Some(streak)) = (self.waits_since.take(), &mut self.streak) {
            streak.record(since.elapsed() < LOOK);
        }
    }
}

/// An item of a watch stream, or its end.
type Next<K> = Option<Result<WatchEvent<K>, SourceError>>;

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use futures::stream;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    const EVENT: Result<WatchEvent<ConfigMap>, SourceError> = Ok(WatchEvent::Unknown);

    fn look(streak: Option<Streak>) -> Look {
        Look {
            streak,
            waits_since: None,
        }
    }

    /// Of a task that looks for the next event.
    fn long() -> Streak {
        let mut streak = Streak::default();
        (0..100).for_each(|_| streak.record(true));
        streak
    }

    /// A stream whose event comes at the second poll.
    fn soon() -> WatchStream<ConfigMap> {
        stream::once(async {
            tokio::task::yield_now().await;
            EVENT
        })
        .boxed()
    }

    #[tokio::test]
    async fn an_event_that_is_there_is_taken_at_any_pace() {
        for (streak, expected) in [
            (Some(Streak::default()), true),
            (Some(long()), true),
            (None, false),
        ] {
            let mut ready = stream::iter([EVENT]).boxed();
            assert_eq!(
                look(streak).next(&mut ready).await.is_some(),
                expected,
                "{streak:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_task_looks_for_an_event_only_while_they_come_fast() {
        assert!(look(Some(long())).next(&mut soon()).await.is_some());
        assert!(look(Some(Streak::default())).next(&mut soon()).await.is_none());
        let mut silent: WatchStream<ConfigMap> = stream::pending().boxed();
        assert!(
            look(Some(long())).next(&mut silent).await.is_none(),
            "a look ends"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_an_event_decides_what_follows_it() {
        let mut look = look(Some(long()));
        for (waited, expected) in [(LOOK / 2, long()), (LOOK, Streak::default())] {
            look.waits_since = Some(Instant::now());
            tokio::time::advance(waited).await;
            look.event_came();
            assert_eq!(look.streak, Some(expected), "{waited:?}");
        }
        look.event_came();
        assert_eq!(
            look.streak,
            Some(Streak::default()),
            "an event that was there changes nothing"
        );
    }

    #[tokio::test]
    async fn a_task_of_the_current_thread_runtime_never_looks() {
        assert_eq!(Look::of_current_runtime().streak, None);
    }
}
