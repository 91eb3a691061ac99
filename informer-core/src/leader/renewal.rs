//! The task of a leader: renews the lease until it is lost or given up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tracing::{info, warn};

use super::clock::LeaderClock;
use super::elector::{Elector, Renewal};
use super::leadership::{LostReason, Term};
use super::options::OnExit;

/// The longest sleep of the expiry check. After a suspension timers fire late, and this bounds the delay.
const CHECK: Duration = Duration::from_secs(1);

/// Keeps the lease of a term. `turn` lets the next campaign of the same election begin when this ends.
pub(super) async fn run(mut elector: Elector, term: Arc<Term>, turn: OwnedMutexGuard<()>) {
    let clock = elector.leader_clock.clone();
    let reason = tokio::select! {
        biased;
        () = term.resigning.cancelled() => Some(LostReason::Resigned),
        () = expired(&clock, &term) => None,
        by = keep(&mut elector, &term) => Some(LostReason::TakenOver { by }),
    };
    if let Some(reason) = reason {
        term.end(reason);
    }
    match (term.reason().reason, elector.options.on_exit) {
        (LostReason::Resigned, OnExit::Release) => release(&mut elector, &term.lease).await,
        (LostReason::Resigned, OnExit::Keep) => info!(lease = term.lease, "resigned and kept the lease"),
        (reason, _) => warn!(lease = term.lease, %reason, "lost leadership"),
    }
    drop(turn);
    term.done.set();
}

/// Returns when the term has expired.
async fn expired(clock: &LeaderClock, term: &Term) {
    loop {
        let left = term.left();
        if left.is_zero() {
            return;
        }
        clock.sleep(left.min(CHECK)).await;
    }
}

/// Renews every `retry_period`, counted from the start of the last attempt. Returns who took the lease.
async fn keep(elector: &mut Elector, term: &Term) -> String {
    let clock = elector.leader_clock.clone();
    let period = elector.options.retry_period;
    let mut pause = period;
    loop {
        clock.sleep(pause).await;
        let start = clock.now();
        match elector.renew(term.left()).await {
            Ok(Renewal::Renewed { began }) => term.renewed(began),
            Ok(Renewal::TakenOver { by }) => return by,
            Err(error) => term.failed(error),
        }
        pause = period.saturating_sub(clock.now().saturating_sub(start));
    }
}

/// Releases the lease within `renew_deadline`. A failure is logged.
pub(super) async fn release(elector: &mut Elector, lease: &str) {
    let limit = elector.clock.timer(elector.options.renew_deadline);
    match tokio::time::timeout(limit, elector.release()).await {
        Ok(Ok(())) => info!(lease, "released the lease"),
        Ok(Err(error)) => warn!(lease, %error, "cannot release the lease; it will expire"),
        Err(_) => warn!(lease, "cannot release the lease in time; it will expire"),
    }
}
