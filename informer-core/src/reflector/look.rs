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
use crate::sync::{can_spin, simulation};

/// How long a task looks, if the last event came as soon.
const LOOK: Duration = Duration::from_micros(100);

/// How often a task of a simulation looks. Its clock stands still meanwhile.
const SIMULATED_LOOKS: u32 = 3;

/// Whether a task looks for the next event before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// It never does: on one core nothing happens meanwhile, and the clock of the current-thread runtime may
    /// be paused.
    Ignored,
    /// The last event that was awaited took long.
    Slow,
    /// It came within moments.
    Fast,
}

/// Takes events from a watch.
pub(super) struct Look {
    pace: Pace,
    /// Since when the next event is awaited; `None` if one was there at once.
    waits_since: Option<Instant>,
}

impl Look {
    pub(super) fn of_current_runtime() -> Self {
        let pace = match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            _ if !fast_paths::are_on() => Pace::Ignored,
            _ if simulation::is_running() => Pace::Slow,
            Ok(RuntimeFlavor::MultiThread) if can_spin() => Pace::Slow,
            _ => Pace::Ignored,
        };
        Self {
            pace,
            waits_since: None,
        }
    }

    /// Returns the next item of the stream if it is there, or comes within moments while events come fast.
    /// Otherwise the caller waits for it.
    pub(super) async fn next<K>(&mut self, stream: &mut WatchStream<K>) -> Option<Next<K>> {
        if self.pace == Pace::Ignored {
            return None;
        }
        for looks in 0.. {
            if let Some(next) = stream.next().now_or_never() {
                return Some(next);
            }
            let since = *self.waits_since.get_or_insert_with(Instant::now);
            let is_over = match simulation::is_running() {
                true => looks >= SIMULATED_LOOKS,
                false => since.elapsed() >= LOOK,
            };
            if self.pace == Pace::Slow || is_over {
                break;
            }
            tokio::task::yield_now().await;
        }
        None
    }

    /// Records that an event came. Events come at about the same pace for a while, so the time that this one
    /// was awaited predicts that of the next one.
    pub(super) fn event_came(&mut self) {
        let Some(since) = self.waits_since.take() else {
            return;
        };
        self.pace = match self.pace {
            Pace::Ignored => Pace::Ignored,
            _ if since.elapsed() < LOOK => Pace::Fast,
            _ => Pace::Slow,
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

    const EVENT: Result<WatchEvent<ConfigMap>, SourceError> = Ok(WatchEvent::Unknown);

    fn look(pace: Pace) -> Look {
        Look {
            pace,
            waits_since: None,
        }
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
        for (pace, expected) in [(Pace::Slow, true), (Pace::Fast, true), (Pace::Ignored, false)] {
            let mut ready = stream::iter([EVENT]).boxed();
            assert_eq!(look(pace).next(&mut ready).await.is_some(), expected, "{pace:?}");
        }
    }

    #[tokio::test]
    async fn a_task_looks_for_an_event_only_while_they_come_fast() {
        assert!(look(Pace::Fast).next(&mut soon()).await.is_some());
        assert!(look(Pace::Slow).next(&mut soon()).await.is_none());
        let mut silent: WatchStream<ConfigMap> = stream::pending().boxed();
        assert!(look(Pace::Fast).next(&mut silent).await.is_none(), "a look ends");
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_an_event_decides_what_follows_it() {
        let mut look = look(Pace::Slow);
        for (waited, expected) in [
            (LOOK / 2, Pace::Fast),
            (LOOK, Pace::Slow),
            (Duration::ZERO, Pace::Fast),
        ] {
            look.waits_since = Some(Instant::now());
            tokio::time::advance(waited).await;
            look.event_came();
            assert_eq!(look.pace, expected, "{waited:?}");
        }
        look.event_came();
        assert_eq!(look.pace, Pace::Fast, "an event that was there changes nothing");
    }

    #[tokio::test]
    async fn a_task_of_the_current_thread_runtime_never_looks() {
        assert_eq!(Look::of_current_runtime().pace, Pace::Ignored);
    }
}
