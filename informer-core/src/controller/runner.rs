//! The run of a controller: starts its workers, and stops them in order.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ControllerShared;
use super::outcome::Action;
use super::request::Request;
use super::worker::{Permit, work};
use crate::key::ObjectKey;
use crate::leader::Leadership;
use crate::object::Object;

/// How long cancelled reconciles have to end. A future is dropped at its next await; only code that blocks
/// its thread takes longer.
const DROP_TIME: Duration = Duration::from_secs(1);

/// How a controller runs, and when it stops.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Cancel it to stop: no reconcile starts after that.
    pub stop: CancellationToken,
    /// How long running reconciles may take after the stop, before they are cancelled. Default: 30 seconds.
    pub grace: Duration,
    /// If set, the controller also stops when the leadership is lost, and cancels running reconciles then.
    pub leadership: Option<Leadership>,
}

/// What was left when a controller stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// The keys that were due, or due later, and were not started: each once. Those whose last reconcile
    /// ended after the stop with an error or a requeue are among them.
    pub left: Vec<ObjectKey>,
    /// The keys whose reconcile was cancelled.
    pub cancelled: Vec<ObjectKey>,
    /// The keys whose reconcile could not be cancelled, because it blocks its thread.
    pub running: Vec<ObjectKey>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            stop: CancellationToken::new(),
            grace: Duration::from_secs(30),
            leadership: None,
        }
    }
}

impl Run {
    /// Stops when the token is cancelled.
    #[must_use]
    pub fn stop(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Sets how long running reconciles may take after the stop.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Runs only while a lease is held.
    #[must_use]
    pub fn leadership(mut self, leadership: Leadership) -> Self {
        self.leadership = Some(leadership);
        self
    }
}

pub(super) async fn run<K, R, F, E>(shared: &Arc<ControllerShared<K>>, reconcile: Arc<R>, run: Run) -> Stopped
where
    K: Object,
    R: Fn(Request<K>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let stop = run.stop.child_token();
    let permit = Permit {
        stop: stop.clone(),
        abort: CancellationToken::new(),
        leadership: run.leadership.clone(),
        waits: TaskTracker::new(),
    };
    // If this future is dropped, so are the workers (by the set), and the waits end.
    let _stops_waits = stop.clone().drop_guard();
    let mut workers = JoinSet::new();
    for _ in 0..shared.options.workers {
        workers.spawn(work(shared.clone(), reconcile.clone(), permit.clone()));
    }
    let mut triggers = JoinSet::new();
    for trigger in std::mem::take(&mut *shared.triggers.lock()) {
        triggers.spawn(trigger.forward(shared.queue.clone(), shared.primary.indexer()));
    }

    tokio::select! {
        biased;
        () = lost(run.leadership.as_ref()) => permit.abort.cancel(),
        () = stop.cancelled() => {}
    }
    stop.cancel();
    triggers.abort_all();
    for registration in &shared.registrations {
        drop(registration.remove());
    }
    let mut left = shared.queue.abort();
    let finished = async { while workers.join_next().await.is_some() {} };
    tokio::pin!(finished);
    let is_finished = tokio::select! {
        biased;
        () = &mut finished => true,
        () = lost(run.leadership.as_ref()) => false,
        () = tokio::time::sleep(run.grace) => false,
    };
    if !is_finished {
        permit.abort.cancel();
        let _ = tokio::time::timeout(DROP_TIME, finished).await;
    }
    permit.waits.close();
    permit.waits.wait().await;
    left.extend(shared.queue.abort());
    let mut stopped = shared.book.lock().stopped();
    stopped.left.append(&mut left);
    let mut known = HashSet::new();
    stopped.left.retain(|key| known.insert(key.clone()));
    if stopped != Stopped::default() {
        let (left, cancelled, running) = (stopped.left.len(), stopped.cancelled.len(), stopped.running.len());
        tracing::info!(
            controller = &*shared.name,
            left,
            cancelled,
            running,
            "stopped with keys left"
        );
    }
    stopped
}

/// Waits for the loss of the leadership, for ever if there is none to lose.
async fn lost(leadership: Option<&Leadership>) {
    match leadership {
        Some(leadership) => drop(leadership.lost().await),
        None => std::future::pending().await,
    }
}
