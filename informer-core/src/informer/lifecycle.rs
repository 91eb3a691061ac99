//! Starting, running and stopping: one supervisor, and an order in which things end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::resync::ResyncDue;
use super::{BoxedRun, Shared, SharedInformer, ShutdownTimeout, StartError, resync};
use crate::audit::Auditor;
use crate::committer::Committer;
use crate::delta::{DeltaSender, ResyncTicket};
use crate::object::Object;
use crate::processor::Processor;
use crate::reflector::Reflector;
use crate::status::Board;
use crate::sync::Latch;

/// Where an informer is in its life. It goes through it once.
pub(super) enum Life<K: Object> {
    /// Made, not started. What will run waits here.
    Created(Box<Parts<K>>),
    /// Started; the handle is where its tasks run.
    Running { runtime: Handle, tasks: TaskTracker },
    /// Stopped, or stopping.
    Over,
}

/// What runs once the informer is started.
pub(super) struct Parts<K: Object> {
    pub(super) reflectors: Vec<Reflector<K>>,
    pub(super) auditors: Vec<Auditor>,
    pub(super) committer: Committer<K>,
    pub(super) resync_queue: DeltaSender<K>,
    pub(super) handlers: Vec<BoxedRun>,
    pub(super) runtime: Option<Handle>,
}

impl<K: Object> Life<K> {
    /// Runs a handler's task: now, or as soon as the informer is started.
    pub(super) fn serve(&mut self, run: BoxedRun) {
        match self {
            Self::Created(parts) => parts.handlers.push(run),
            Self::Running { runtime, tasks } => {
                tasks.spawn_on(run, runtime);
            }
            Self::Over => {}
        }
    }
}

impl<K: Object> SharedInformer<K> {
    /// Starts listing and watching. Returns at once; [`synced`](Self::synced) waits for the cache.
    pub fn start(&self) -> Result<(), StartError> {
        let shared = &self.shared;
        let mut life = shared.life.lock();
        if shared.token.is_cancelled() {
            drop(life);
            self.stop();
            return Err(StartError::Stopped);
        }
        let runtime = match &*life {
            Life::Created(parts) => parts.runtime.clone().or_else(|| Handle::try_current().ok()),
            Life::Running { .. } => return Err(StartError::AlreadyStarted),
            Life::Over => return Err(StartError::Stopped),
        };
        let runtime = runtime.ok_or(StartError::NoRuntime)?;
        let tasks = shared.tasks.clone();
        let running = Life::Running {
            runtime: runtime.clone(),
            tasks: tasks.clone(),
        };
        let Life::Created(parts) = std::mem::replace(&mut *life, running) else {
            unreachable!("matched as created above, under the same lock");
        };
        let Parts {
            reflectors,
            auditors,
            committer,
            resync_queue,
            handlers,
            ..
        } = *parts;
        let supervisor = Supervisor {
            processor: shared.processor.clone(),
            board: shared.board.clone(),
            synced: shared.synced.clone(),
            stopped: shared.stopped.clone(),
            token: shared.token.clone(),
            resync: shared.processor.freeze_resync(),
        };
        shared.indexer.start_filling();
        for handler in handlers {
            tasks.spawn_on(handler, &runtime);
        }
        tasks.spawn_on(
            supervisor.run(reflectors, auditors, committer, resync_queue),
            &runtime,
        );
        Ok(())
    }

    /// Stops, in order: no more requests, then what was received is committed, then every handler returns
    /// from the call it is in and hears no more. When this returns, no task of this informer runs. (A piece
    /// of a response that is being decoded or transformed on another thread at that moment is finished there,
    /// and dropped.)
    ///
    /// Do not await it inside a handler: it waits for that handler. Calling it again waits for the same end.
    pub async fn shutdown(&self) {
        self.stop();
        self.shared.tasks.wait().await;
    }

    /// Like [`shutdown`](Self::shutdown), but gives up waiting after a time and names the handlers that are still busy. They finish on
    /// their own.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), ShutdownTimeout> {
        match tokio::time::timeout(time, self.shutdown()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ShutdownTimeout {
                busy: self.shared.processor.busy(),
                after: time,
            }),
        }
    }

    /// Begins to stop, without waiting.
    pub fn stop(&self) {
        self.shared.token.cancel();
        self.shared.end_if_never_started();
        self.shared.tasks.close();
    }
}

impl<K: Object> Shared<K> {
    /// Waits until no task is left. A token of the program's may have stopped an informer that was never
    /// started: then this call ends it, because no supervisor runs that could.
    pub(super) async fn ended(&self) {
        tokio::select! {
            biased;
            () = self.stopped.wait() => return,
            () = self.token.cancelled() => self.end_if_never_started(),
        }
        self.stopped.wait().await;
    }

    /// Ends handlers and waiters where no supervisor will.
    pub(super) fn end_if_never_started(&self) {
        let before = std::mem::replace(&mut *self.life.lock(), Life::Over);
        if let Life::Created(parts) = before {
            drop(parts);
            self.processor.stop();
            self.board.stopped();
            self.stopped.set();
        }
    }
}

/// Runs an informer's tasks and ends them in order.
struct Supervisor<K: Object> {
    processor: Arc<Processor<K>>,
    board: Arc<Board>,
    synced: Latch,
    stopped: Latch,
    token: CancellationToken,
    resync: Option<Duration>,
}

impl<K: Object> Supervisor<K> {
    async fn run(
        self,
        reflectors: Vec<Reflector<K>>,
        auditors: Vec<Auditor>,
        committer: Committer<K>,
        resync_queue: DeltaSender<K>,
    ) {
        let mut producers = JoinSet::new();
        for reflector in reflectors {
            producers.spawn(until(self.token.clone(), keep_reflecting(reflector)));
        }
        for auditor in auditors {
            producers.spawn(until(self.token.clone(), auditor.run(self.synced.clone())));
        }
        match self.resync {
            Some(period) => {
                let handlers = Handlers(self.processor.clone());
                producers.spawn(until(
                    self.token.clone(),
                    resync::run(period, handlers, resync_queue),
                ));
            }
            // Nobody will ask: the queue must not wait for this sender.
            None => drop(resync_queue),
        }
        let mut committer = tokio::spawn(committer.run());
        let all_produced = async { while producers.join_next().await.is_some() {} };
        let ended = tokio::select! {
            () = all_produced => committer.await,
            // It outlives the producers unless it fails; without it the cache would stand still and look live.
            ended = &mut committer => ended,
        };
        if ended.is_err() {
            tracing::error!(resource = %self.board.resource(), "the committer failed; the informer stops");
        }
    }
}

impl<K: Object> Drop for Supervisor<K> {
    /// The end, also where the runtime is dropped under a running informer: nobody waits for ever.
    fn drop(&mut self) {
        self.token.cancel();
        self.processor.stop();
        self.board.stopped();
        self.stopped.set();
    }
}

/// Drops a future, and with it everything it holds, when the token is cancelled.
async fn until(token: CancellationToken, future: impl Future<Output = ()>) {
    token.run_until_cancelled_owned(future).await;
}

/// Runs a reflector; a panic in it (in a source of the user's, say) costs a pause, not the informer.
async fn keep_reflecting<K: Object>(mut reflector: Reflector<K>) {
    while let Err(payload) = AssertUnwindSafe(reflector.run()).catch_unwind().await {
        // The panic hook has printed what it said; it may quote an object, so it is not repeated here.
        drop(payload);
        reflector.panicked().await;
    }
}

struct Handlers<K: Object>(Arc<Processor<K>>);

impl<K: Object> ResyncDue for Handlers<K> {
    fn due(&self, now: Instant) -> Option<ResyncTicket> {
        self.0.due(now)
    }
}
