//! What ends a program: Ctrl-C, the time of `--for`, the end of the script, or an output that was closed.

use std::pin::Pin;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::failure::Result;

/// Why a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Interrupted,
    TimeIsUp,
    ScriptIsOver,
    OutputIsClosed,
    /// By itself: nothing is left to do.
    Done,
}

impl Reason {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Interrupted => "Ctrl-C",
            Self::TimeIsUp => "the time is up",
            Self::ScriptIsOver => "the demo is over",
            Self::OutputIsClosed => "the output is closed",
            Self::Done => "done",
        }
    }
}

/// Waits for the end.
pub(super) struct Ending {
    interrupted: Pin<Box<dyn Future<Output = ()> + Send>>,
    clock: Clock,
    script: Script,
    closed: watch::Receiver<bool>,
    reason: Option<Reason>,
}

/// The time of `--for`.
#[derive(Clone, Copy)]
enum Clock {
    Unlimited,
    /// Does not run yet.
    Set(Duration),
    Runs {
        until: Instant,
    },
}

/// The script of the embedded server.
enum Script {
    /// A cluster has none.
    None,
    Runs(JoinHandle<Result>),
    Over(Result),
}

impl Ending {
    /// From here on, Ctrl-C does not kill the process.
    pub(super) fn new(time: Option<Duration>, closed: watch::Receiver<bool>) -> Self {
        let mut interrupted: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(interrupted());
        // The first poll registers for the signal.
        let _pending = interrupted.as_mut().now_or_never();
        Self {
            interrupted,
            clock: time.map_or(Clock::Unlimited, Clock::Set),
            script: Script::None,
            closed,
            reason: None,
        }
    }

    pub(super) fn set_script(&mut self, script: JoinHandle<Result>) {
        self.script = Script::Runs(script);
    }

    /// Starts the clock, unless it runs.
    pub(super) fn start_clock(&mut self) {
        if let Clock::Set(time) = self.clock {
            self.clock = Clock::Runs {
                until: Instant::now() + time,
            };
        }
    }

    /// Waits for the end; returns at once if it was reached before. Can be cancelled and called again.
    pub(super) async fn reached(&mut self) {
        if self.reason.is_some() {
            return;
        }
        let Self {
            interrupted,
            clock,
            script,
            closed,
            reason,
        } = self;
        *reason = Some(tokio::select! {
            biased;
            () = interrupted => Reason::Interrupted,
            () = is_true(closed) => Reason::OutputIsClosed,
            () = clock.up() => Reason::TimeIsUp,
            () = script.over() => Reason::ScriptIsOver,
        });
    }

    /// Stops the script. Returns the reason of the end, or the error of the script.
    pub(super) async fn close(mut self) -> Result<Reason> {
        if let Script::Runs(task) = &self.script {
            task.abort();
            self.script.over().await;
        }
        match self.script {
            Script::Over(Err(error)) => Err(error),
            Script::Over(Ok(())) | Script::None | Script::Runs(_) => Ok(self.reason.unwrap_or(Reason::Done)),
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

impl Script {
    async fn over(&mut self) {
        match self {
            Self::None => std::future::pending().await,
            Self::Over(_) => {}
            Self::Runs(task) => {
                // A task that was aborted has no outcome: that is how it should end.
                let outcome = task.await.unwrap_or_else(|error| match error.is_panic() {
                    true => Err(error.into()),
                    false => Ok(()),
                });
                *self = Self::Over(outcome);
            }
        }
    }
}

/// Waits for Ctrl-C; for ever if that is not supported here.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

async fn is_true(closed: &mut watch::Receiver<bool>) {
    if closed.wait_for(|closed| *closed).await.is_err() {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(time: Option<Duration>) -> (Ending, watch::Sender<bool>) {
        let closed = watch::Sender::new(false);
        (Ending::new(time, closed.subscribe()), closed)
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_counts_from_the_start_of_the_clock() {
        let (mut ending, _closed) = ending(Some(Duration::from_secs(10)));
        let early = tokio::time::timeout(Duration::from_secs(60), ending.reached()).await;
        assert!(early.is_err(), "the clock did not run");
        ending.start_clock();
        let started = Instant::now();
        ending.reached().await;
        // Reached once is reached for ever.
        ending.reached().await;
        assert_eq!(started.elapsed().as_secs(), 10);
        assert_eq!(ending.close().await.unwrap(), Reason::TimeIsUp);
    }

    #[tokio::test]
    async fn a_closed_output_ends_the_program() {
        let (mut ending, closed) = ending(None);
        closed.send_replace(true);
        ending.reached().await;
        assert_eq!(ending.close().await.unwrap(), Reason::OutputIsClosed);
    }

    #[tokio::test]
    async fn the_error_of_a_script_is_kept() {
        let (mut ending, _closed) = ending(None);
        ending.set_script(tokio::spawn(async { Err("a bad step".into()) }));
        ending.reached().await;
        assert_eq!(ending.close().await.unwrap_err().to_string(), "a bad step");
    }

    #[tokio::test]
    async fn a_script_that_still_runs_is_stopped() {
        let (mut ending, _closed) = ending(None);
        ending.set_script(tokio::spawn(std::future::pending()));
        assert_eq!(ending.close().await.unwrap(), Reason::Done);
    }
}
