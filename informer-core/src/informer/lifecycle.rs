//! Starts, runs and stops an informer: one supervisor task, and a fixed order of shutdown.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::resync::ResyncDue;
use super::saver::Saver;
use super::scopes::Scopes;
use super::{BoxedRun, Shared, SharedInformer, ShutdownTimeout, StartError, resync};
use crate::committer::Committer;
use crate::delta::{DeltaSender, ResyncTicket};
use crate::object::Object;
use crate::processor::Processor;
use crate::status::StatusBoard;
use crate::sync::Latch;

/// The run state of an informer. An informer runs once: states never go back.
pub(super) enum RunState<K: Object> {
    /// Not started; holds what `start` will run.
    Created(Box<Components<K>>),
    /// Started on this runtime.
    Running { runtime: Handle, tasks: TaskTracker },
    /// Stopped, or stopping.
    Stopped,
}

/// What runs once the informer is started.
pub(super) struct Components<K: Object> {
    pub(super) committer: Committer<K>,
    pub(super) handlers: Vec<BoxedRun>,
    pub(super) runtime: Option<Handle>,
    pub(super) saver: Option<Saver<K>>,
}

impl<K: Object> RunState<K> {
    /// Runs the task of a handler, now or when the informer is started.
    pub(super) fn serve(&mut self, run: BoxedRun) {
        match self {
            Self::Created(components) => components.handlers.push(run),
            Self::Running { runtime, tasks } => {
                tasks.spawn_on(run, runtime);
            }
            Self::Stopped => {}
        }
    }
}

impl<K: Object> SharedInformer<K> {
    /// Starts to list and watch. Returns immediately; [`synced`](Self::synced) waits for the cache.
    pub fn start(&self) -> Result<(), StartError> {
        let shared = &self.shared;
        let mut run_state = shared.run_state.lock();
        if shared.token.is_cancelled() {
            drop(run_state);
            self.stop();
            return Err(StartError::Stopped);
        }
        let runtime = match &*run_state {
            RunState::Created(components) => {
                components.runtime.clone().or_else(|| Handle::try_current().ok())
            }
            RunState::Running { .. } => return Err(StartError::AlreadyStarted),
            RunState::Stopped => return Err(StartError::Stopped),
        };
        let runtime = runtime.ok_or(StartError::NoRuntime)?;
        let tasks = shared.tasks.clone();
        let running = RunState::Running {
            runtime: runtime.clone(),
            tasks: tasks.clone(),
        };
        let RunState::Created(components) = std::mem::replace(&mut *run_state, running) else {
            unreachable!("matched as created above, under the same lock");
        };
        let Components {
            committer,
            handlers,
            saver,
            ..
        } = *components;
        let supervisor = Supervisor {
            processor: shared.processor.clone(),
            board: shared.board.clone(),
            stopped: shared.stopped.clone(),
            token: shared.token.clone(),
            resync: shared.processor.freeze_resync(),
            scopes: shared.scopes.clone(),
            saver,
        };
        shared.indexer.start_filling();
        shared.board.started();
        for handler in handlers {
            tasks.spawn_on(handler, &runtime);
        }
        let resync_queue = shared.scopes.start(&runtime);
        tasks.spawn_on(supervisor.run(committer, resync_queue), &runtime);
        Ok(())
    }

    /// Stops the informer, in order: requests end, what was received is committed, and every handler returns
    /// from its current call and receives nothing more. When this returns, no task of this informer runs. (A
    /// chunk of a response that is being decoded or transformed on another thread is finished there and
    /// dropped.)
    ///
    /// Do not await it inside a handler: it waits for that handler. Further calls wait for the same shutdown.
    pub async fn shutdown(&self) {
        self.stop();
        self.shared.tasks.wait().await;
    }

    /// Like [`shutdown`](Self::shutdown), but stops waiting after `time`.
    ///
    /// # Errors
    /// [`ShutdownTimeout`] names the busy handlers. They still finish by themselves.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), ShutdownTimeout> {
        match tokio::time::timeout(time, self.shutdown()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ShutdownTimeout {
                busy: self.shared.processor.busy(),
                after: time,
            }),
        }
    }

    /// Begins to stop the informer, without waiting.
    pub fn stop(&self) {
        self.shared.token.cancel();
        self.shared.end_if_never_started();
        self.shared.tasks.close();
    }
}

impl<K: Object> Shared<K> {
    /// Waits until no task is left. If the user's token was cancelled before `start`, no supervisor runs that
    /// could end the informer, so this call does it.
    pub(super) async fn ended(&self) {
        tokio::select! {
            biased;
            () = self.stopped.wait() => return,
            () = self.token.cancelled() => self.end_if_never_started(),
        }
        self.stopped.wait().await;
    }

    /// Ends handlers and waiters of an informer that was never started: no supervisor will.
    pub(super) fn end_if_never_started(&self) {
        let before = std::mem::replace(&mut *self.run_state.lock(), RunState::Stopped);
        if let RunState::Created(components) = before {
            drop(components);
            self.scopes.close();
            self.processor.stop();
            self.board.stopped();
            self.stopped.set();
        }
    }
}

/// Runs the tasks of an informer and ends them in order.
struct Supervisor<K: Object> {
    processor: Arc<Processor<K>>,
    board: Arc<StatusBoard>,
    stopped: Latch,
    token: CancellationToken,
    resync: Option<Duration>,
    scopes: Arc<Scopes<K>>,
    saver: Option<Saver<K>>,
}

impl<K: Object> Supervisor<K> {
    async fn run(self, committer: Committer<K>, resync_queue: Option<DeltaSender<K>>) {
        let resync = match (self.resync, resync_queue) {
            (Some(period), Some(queue)) => {
                let handlers = ResyncOf(self.processor.clone());
                let resync = resync::run(period, handlers, queue);
                Some(tokio::spawn(until(self.token.clone(), resync)))
            }
            // No resync will be sent. The queue closes when its last sender is dropped, so this one must go.
            _ => None,
        };
        let saving = self.saver.clone().map(|saver| {
            let saving = saver.run();
            tokio::spawn(until(self.token.clone(), saving))
        });
        let mut committer = tokio::spawn(committer.run());
        let all_produced = async {
            self.token.cancelled().await;
            self.scopes.close();
            self.scopes.ended().await;
            for task in [resync, saving].into_iter().flatten() {
                // It ends with the token, or panics.
                let _ = task.await;
            }
        };
        let ended = tokio::select! {
            () = all_produced => committer.await,
            // It ends before the producers only if it panics. Without it the cache would stay as it is and
            // look live.
            ended = &mut committer => ended,
        };
        if ended.is_err() {
            tracing::error!(resource = %self.board.resource(), "the committer panicked; the informer stops");
        }
        if let Some(saver) = &self.saver {
            saver.save().await;
        }
    }
}

impl<K: Object> Drop for Supervisor<K> {
    /// Ends all waits, also when the runtime is dropped while the informer runs.
    fn drop(&mut self) {
        if !self.token.is_cancelled() {
            self.board.set_broken();
        }
        self.token.cancel();
        self.scopes.close();
        self.processor.stop();
        self.board.stopped();
        self.stopped.set();
    }
}

/// Runs a future until the token is cancelled, then drops it.
async fn until(token: CancellationToken, future: impl Future<Output = ()>) {
    token.run_until_cancelled_owned(future).await;
}

/// Connects the processor to the resync task.
struct ResyncOf<K: Object>(Arc<Processor<K>>);

impl<K: Object> ResyncDue for ResyncOf<K> {
    fn due(&self, now: Instant) -> Option<ResyncTicket> {
        self.0.due(now)
    }
}
