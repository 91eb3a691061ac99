//! The loop of a candidate: tries to take the lease until it leads or is stopped.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::LeaderElection;
use super::elector::{Attempt, Elector};
use super::leadership::{Leadership, Term};
use super::options::JITTER;
use super::renewal;

/// Waits until this process leads. `None` if it was stopped first, or if the options are invalid.
pub(super) async fn run(election: LeaderElection, stop: CancellationToken) -> Option<Leadership> {
    if let Err(error) = election.validate() {
        error!(%error, "cannot campaign with these options");
        return None;
    }
    // One identity leads at most once: a second campaign waits until the first leadership has ended.
    let turn = tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        turn = election.turn.clone().lock_owned() => turn,
    };
    let mut elector = election.elector();
    let mut random = match elector.options.seed {
        Some(seed) => SmallRng::seed_from_u64(seed),
        None => SmallRng::from_rng(&mut rand::rng()),
    };
    info!(
        lease = election.describe(),
        identity = elector.options.identity,
        "started to campaign"
    );
    loop {
        let read = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            read = elector.read() => read,
        };
        // A write is never dropped halfway: it is bounded by its time limit, and its result must be known.
        // Errors are logged and recorded by the elector.
        if read.is_ok()
            && let Ok(Attempt::Acquired { began }) = elector.take().await
        {
            return lead(&election, elector, began, turn, &stop).await;
        }
        let pause = jittered(elector.options.retry_period, &mut random);
        tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(elector.clock.timer(pause)) => {}
        }
    }
}

/// Starts to renew an acquired lease, or releases it if the campaign was stopped meanwhile.
async fn lead(
    election: &LeaderElection,
    mut elector: Elector,
    began: Duration,
    turn: OwnedMutexGuard<()>,
    stop: &CancellationToken,
) -> Option<Leadership> {
    if stop.is_cancelled() {
        renewal::release(&mut elector, &election.describe()).await;
        return None;
    }
    info!(
        lease = election.describe(),
        identity = elector.options.identity,
        "acquired leadership"
    );
    let term = Arc::new(Term::new(
        election.describe(),
        elector.options.identity.clone(),
        elector.options.renew_deadline,
        elector.leader_clock.clone(),
        began,
    ));
    tokio::spawn(renewal::run(elector, term.clone(), turn));
    Some(Leadership::new(term))
}

/// A period, and up to 1.2 times as much at random, as client-go: candidates do not act in step.
fn jittered(period: Duration, random: &mut SmallRng) -> Duration {
    period.mul_f64(1.0 + JITTER * random.random::<f64>())
}
