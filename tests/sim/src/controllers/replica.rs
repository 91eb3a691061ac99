//! One replica: a program with a controller that is started, stopped, killed and started again.

use std::sync::Arc;
use std::time::Duration;

use informer_testing::ApiServer;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::judge::Court;
use super::life::Life;
use super::network;
use super::plan::{ControllerPlan, Weather};
use super::process::Process;
use super::reconciler::Behaviour;
use crate::verdict::report;

/// How long a stopped process may take in addition to its grace period: to drop reconciles, to release its
/// lease, and to stop its caches.
const STOP: Duration = Duration::from_secs(20);

/// One replica.
pub(super) struct Replica {
    number: usize,
    /// The number of processes it has had.
    processes: u64,
    current: Option<Current>,
}

/// The process of a replica.
struct Current {
    process: Arc<Process>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Replica {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            processes: 0,
            current: None,
        }
    }

    pub(super) fn process(&self) -> Option<&Arc<Process>> {
        self.current.as_ref().map(|current| &current.process)
    }

    /// Starts a process, unless one runs.
    pub(super) fn start(
        &mut self,
        plan: &ControllerPlan,
        server: &ApiServer,
        court: &Court,
        behaviour: &Behaviour,
    ) {
        if self.current.is_some() {
            return;
        }
        let name = format!("r{}.{}", self.number, self.processes);
        let seed = plan.seed ^ (self.number as u64) << 32 ^ self.processes << 40;
        self.processes += 1;
        let process = Process::new(name, seed, plan, self.number);
        court.admit(&process);
        let stop = CancellationToken::new();
        let client = network::client(server, &process);
        let life = Life {
            process: process.clone(),
            client,
            court: court.clone(),
            behaviour: behaviour.clone(),
            seed,
            stop: stop.clone(),
        };
        self.current = Some(Current {
            process,
            stop,
            task: tokio::spawn(life.live()),
        });
    }

    /// Whether its process has ended by itself: it lost its leadership, or its caches did not sync.
    pub(super) fn has_ended(&mut self) -> bool {
        let has_ended = self
            .current
            .as_ref()
            .is_some_and(|current| current.task.is_finished());
        if has_ended {
            self.current = None;
        }
        has_ended
    }

    /// Stops the process, and waits for its end.
    pub(super) async fn stop(&mut self) {
        let Some(Current { process, stop, task }) = self.current.take() else {
            return;
        };
        process.thaw();
        process.state().stopping();
        stop.cancel();
        let limit = process.options.grace + STOP;
        match tokio::time::timeout(limit, task).await {
            Err(_) => report("C4", || format!("{} did not end within {limit:?}", process.name)),
            Ok(Err(error)) => report("panic", || format!("{}: {error}", process.name)),
            Ok(Ok(())) => {}
        }
    }

    /// Kills the process: it does nothing more, and its lease is not released.
    pub(super) fn kill(&mut self) {
        if let Some(Current { process, task, .. }) = self.current.take() {
            process.set_weather(Weather::Dead);
            process.thaw();
            task.abort();
            process.end();
        }
    }
}
