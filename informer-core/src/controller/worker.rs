//! One worker: takes keys, calls the reconciler, settles the outcome.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::ControllerShared;
use super::error::{FailedReconcile, ReconcileError};
use super::outcome::Action;
use super::request::Request;
use super::status::text_of;
use super::writes::{self, Confirmation, Unconfirmed, Writes};
use crate::key::ObjectKey;
use crate::leader::Leadership;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::sync::{panic_text, simulation};
use crate::workqueue::Item;

/// How long after its writes were not confirmed a key is reconciled again. It bounds the rate of a reconciler
/// whose writes the cache never has, such as those that a field selector excludes.
const RECHECK: Duration = Duration::from_secs(1);

/// What one run's workers share.
#[derive(Clone)]
pub(super) struct Permit {
    /// Cancelled: no reconcile starts.
    pub(super) stop: CancellationToken,
    /// Cancelled: running reconciles are dropped.
    pub(super) abort: CancellationToken,
    /// Without a valid one, nothing starts or continues.
    pub(super) leadership: Option<Leadership>,
    /// The waits for caches to show writes.
    pub(super) waits: TaskTracker,
}

/// How one call of the reconciler ended.
enum Outcome {
    Done(Action),
    Failed(ReconcileError),
    /// Dropped by a stop or by the loss of the leadership.
    Cancelled,
}

impl Permit {
    fn may_start(&self) -> bool {
        if crate::mutant::is("C4") {
            return true;
        }
        !self.stop.is_cancelled() && self.leadership.as_ref().is_none_or(Leadership::is_valid)
    }
}

/// Reconciles keys until the queue ends or nothing may start any more.
pub(super) async fn work<K, R, F, E>(shared: Arc<ControllerShared<K>>, reconcile: Arc<R>, permit: Permit)
where
    K: Object,
    R: Fn(Request<K>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    while let Some(item) = shared.queue.get().await {
        simulation::yield_point().await;
        if !permit.may_start() {
            shared.book.lock().not_started(item.key().clone());
            return;
        }
        // What a delayed addition was to notice is in the cache already, and this reconcile decides anew when
        // the next one is due.
        shared.queue.cancel_delayed(item.key());
        let attempt = shared.queue.retries(item.key());
        shared.book.lock().started(item.key(), attempt);
        let writes = Writes::new(shared.options.write_deadline);
        let request = Request::new(
            item.key().clone(),
            attempt,
            shared.primary.indexer(),
            writes.clone(),
        );
        let span = tracing::info_span!(
            "reconcile",
            controller = &*shared.name,
            resource = shared.primary.resource(),
            key = %item.key(),
            rv = version_of(&shared, item.key()).map(tracing::field::display),
            attempt,
            outcome = tracing::field::Empty,
        );
        let outcome = call(&*reconcile, request, &shared, &permit)
            .instrument(span.clone())
            .await;
        span.record("outcome", outcome.name());
        span.in_scope(|| settle(&shared, item.key(), attempt, outcome, &permit.stop));
        release(&shared, item, writes, &permit).await;
    }
}

/// The version of the object that the reconcile finds in the cache.
fn version_of<K: Object>(shared: &ControllerShared<K>, key: &ObjectKey) -> Option<ResourceVersion> {
    shared.primary.indexer().peek().stored(key)?.version()
}

async fn call<K, R, F, E>(
    reconcile: &R,
    request: Request<K>,
    shared: &ControllerShared<K>,
    permit: &Permit,
) -> Outcome
where
    K: Object,
    R: Fn(Request<K>) -> F,
    F: Future<Output = Result<Action, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let limit = shared.options.time_limit;
    // The call itself is inside, because it is user code too.
    let reconcile = AssertUnwindSafe(async { reconcile(request).await.map_err(Into::into) }).catch_unwind();
    let reconcile = async {
        match tokio::time::timeout(limit, reconcile).await {
            Ok(Ok(Ok(action))) => Outcome::Done(action),
            Ok(Ok(Err(error))) => Outcome::Failed(ReconcileError::Failed(error)),
            Ok(Err(payload)) => Outcome::Failed(ReconcileError::Panicked(panic_text(payload.as_ref()))),
            Err(_) => Outcome::Failed(ReconcileError::TimedOut(limit)),
        }
    };
    let reconcile = async {
        match &permit.leadership {
            Some(leadership) => leadership.guard(reconcile).await.unwrap_or(Outcome::Cancelled),
            None => reconcile.await,
        }
    };
    tokio::select! {
        biased;
        () = permit.abort.cancelled() => Outcome::Cancelled,
        outcome = reconcile => outcome,
    }
}

/// Decides when the key is due again, and records the outcome.
fn settle<K: Object>(
    shared: &ControllerShared<K>,
    key: &ObjectKey,
    attempt: u32,
    outcome: Outcome,
    stop: &CancellationToken,
) {
    let is_due_again = match &outcome {
        Outcome::Done(action) => action.after().is_some(),
        Outcome::Failed(_) => true,
        Outcome::Cancelled => false,
    };
    match outcome {
        Outcome::Done(action) => {
            shared.queue.forget(key);
            shared.book.lock().succeeded(key);
            if let Some(after) = action.after() {
                shared.queue.add_after(key.clone(), after);
            }
        }
        Outcome::Failed(error) => {
            let retry_in = shared.queue.add_rate_limited(key.clone());
            let failures = attempt.saturating_add(1);
            let logged = shared.book.lock().failed(key, failures, retry_in, &error);
            if let Some(suppressed) = logged {
                let error = text_of(&error);
                let controller = &*shared.name;
                tracing::warn!(controller, %key, failures, ?retry_in, suppressed, error, "reconcile failed");
            }
            report(shared, key, failures, retry_in, &error);
        }
        Outcome::Cancelled => shared.book.lock().cancelled(key),
    }
    // After the stop the queue refuses keys. Checked after the addition, so that one of the two has the key.
    if is_due_again && stop.is_cancelled() {
        shared.book.lock().not_started(key.clone());
    }
}

fn report<K: Object>(
    shared: &ControllerShared<K>,
    key: &ObjectKey,
    attempt: u32,
    retry_in: Duration,
    error: &ReconcileError,
) {
    let Some(hook) = &shared.options.on_error else {
        return;
    };
    let failed = FailedReconcile {
        controller: &shared.name,
        key,
        attempt,
        error,
        retry_in,
    };
    if let Err(payload) = std::panic::catch_unwind(AssertUnwindSafe(|| hook(&failed))) {
        let panic = panic_text(payload.as_ref());
        tracing::error!(controller = &*shared.name, %key, panic, "the error hook panicked");
    }
}

/// Gives the key back to the queue when the caches show its writes.
///
/// The item itself waits: as long as it exists the queue keeps the key from all workers, and remembers
/// that it was added meanwhile.
async fn release<K: Object>(
    shared: &Arc<ControllerShared<K>>,
    item: Item<ObjectKey>,
    writes: Writes,
    permit: &Permit,
) {
    let pending = writes.take();
    if pending.is_empty() {
        return;
    }
    let count = pending.len();
    let mut wait = Box::pin(writes::shown(pending));
    // Often the cache is faster than the reconciler.
    if let std::task::Poll::Ready(confirmation) = futures::poll!(&mut wait) {
        confirmed(shared, item.key(), &confirmation);
        return;
    }
    shared.book.lock().wait_begins(item.key(), count);
    let (shared, stop) = (shared.clone(), permit.stop.clone());
    permit.waits.spawn(async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            confirmation = wait => confirmed(&shared, item.key(), &confirmation),
        }
        shared.book.lock().wait_ends(item.key());
        drop(item);
    });
}

/// Reports writes that the caches do not show, and reconciles the key again if the caches differ from what it
/// wrote and no event may say so.
fn confirmed<K: Object>(shared: &ControllerShared<K>, key: &ObjectKey, confirmation: &Confirmation) {
    if confirmation.is_incomplete() {
        shared.queue.add_after(key.clone(), RECHECK);
    }
    let Some(Unconfirmed { resource, reason }) = confirmation.unconfirmed.first() else {
        return;
    };
    let writes = confirmation.unconfirmed.len();
    if let Some(suppressed) = shared.book.lock().unconfirmed(writes) {
        tracing::warn!(
            controller = &*shared.name, %key, resource, writes, suppressed, error = %reason,
            "a write was not confirmed by the cache; the key is reconciled again without it"
        );
    }
}

impl Outcome {
    fn name(&self) -> &'static str {
        match self {
            Self::Done(action) if action.after().is_some() => "requeue",
            Self::Done(_) => "done",
            Self::Failed(ReconcileError::Failed(_)) => "failed",
            Self::Failed(ReconcileError::Panicked(_)) => "panicked",
            Self::Failed(ReconcileError::TimedOut(_)) => "timed out",
            Self::Cancelled => "cancelled",
        }
    }
}
