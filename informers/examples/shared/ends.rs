//! What ends a run: Ctrl-C, the time that was asked for, or the end of the embedded server's story.

use std::pin::Pin;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::Failure;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Interrupted,
    TimeIsUp,
    StoryIsOver,
}

/// Waits for the end.
pub(crate) struct Ends {
    interrupted: Pin<Box<dyn Future<Output = ()> + Send>>,
    clock: Clock,
    story: Story,
}

/// The time that was asked for.
#[derive(Clone, Copy)]
enum Clock {
    Unlimited,
    /// It does not run yet.
    Set(Duration),
    Runs {
        until: Instant,
    },
}

/// What happens on the embedded server.
enum Story {
    /// There is none: a cluster has its own life.
    None,
    Told(JoinHandle<Result<(), Failure>>),
    Over(Result<(), Failure>),
}

impl Ends {
    pub(super) fn new(time: Option<Duration>, story: Option<JoinHandle<Result<(), Failure>>>) -> Self {
        Self {
            interrupted: Box::pin(interrupted()),
            clock: time.map_or(Clock::Unlimited, Clock::Set),
            story: story.map_or(Story::None, Story::Told),
        }
    }

    /// From now on the time counts.
    pub(crate) fn start_clock(&mut self) {
        if let Clock::Set(time) = self.clock {
            self.clock = Clock::Runs {
                until: Instant::now() + time,
            };
        }
    }

    /// Waits for the end; at once if it has come. May be cancelled and called again.
    pub(crate) async fn reached(&mut self) -> Ending {
        let Self {
            interrupted,
            clock,
            story,
        } = self;
        tokio::select! {
            biased;
            () = interrupted => Ending::Interrupted,
            () = clock.up() => Ending::TimeIsUp,
            () = story.end() => Ending::StoryIsOver,
        }
    }

    /// Ends the story if it is not over. The error is the one it came upon before.
    pub(super) async fn close(mut self) -> Result<(), Failure> {
        if let Story::Told(task) = &self.story {
            task.abort();
            self.story.end().await;
        }
        match self.story {
            Story::Over(outcome) => outcome,
            Story::None | Story::Told(_) => Ok(()),
        }
    }
}

impl Clock {
    async fn up(self) {
        match self {
            Self::Runs { until } => sleep_until(until).await,
            Self::Unlimited | Self::Set(_) => std::future::pending().await,
        }
    }
}

impl Story {
    async fn end(&mut self) {
        match self {
            Self::None => std::future::pending().await,
            Self::Over(_) => {}
            Self::Told(task) => {
                // An aborted task has no outcome: that is how it should end.
                let outcome = task.await.unwrap_or_else(|error| match error.is_panic() {
                    true => Err(error.into()),
                    false => Ok(()),
                });
                *self = Self::Over(outcome);
            }
        }
    }
}

/// Waits for Ctrl-C; for ever where that cannot be listened for.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
