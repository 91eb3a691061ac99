//! Clocks that differ: rates, jumps of the wall clock, suspended machines.

use informer_core::leader::LostReason;
use informer_testing::{ApiServer, Fault, Rule};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::support::Door;

/// A leader with a slow clock and a candidate with a fast one: the leader stops first.
#[tokio::test(start_paused = true)]
async fn a_leader_with_a_slow_clock_stops_before_a_fast_candidate_takes_over() {
    for (slow, fast) in [(1.0, 1.1), (0.95, 1.04), (1.0 / 1.1, 1.0)] {
        let server = ApiServer::start();
        let door = Door::default();
        let leader = LeaderElection::new(door.client(&server), "default", "lock")
            .identity("a")
            .clock(TestClock::with_rate(slow))
            .lease_duration(seconds(12));
        let other = candidate(&server, "b").clock(TestClock::with_rate(fast));
        let leadership = lead(&leader).await;
        let campaign = tokio::spawn(other.campaign(CancellationToken::new()));
        sleep(20.0).await;
        door.shut(503, "ServiceUnavailable");
        leadership.lost().await;
        assert!(!campaign.is_finished(), "rates {slow} and {fast}");
        assert!(campaign.await.unwrap().unwrap().is_valid());
    }
}

/// If the wall clock of a candidate jumps ahead, the clock of the leader does not.
#[tokio::test(start_paused = true)]
async fn a_candidate_ignores_its_wall_clock() {
    for jump in [86_400, -86_400] {
        let server = ApiServer::start();
        let leadership = lead(&candidate(&server, "a")).await;
        let clock = TestClock::default();
        let campaign = tokio::spawn(
            candidate(&server, "b")
                .clock(clock.clone())
                .campaign(CancellationToken::new()),
        );
        sleep(5.0).await;
        clock.set_wall(f64::from(jump));
        sleep(60.0).await;
        assert!(!campaign.is_finished());
        assert!(leadership.is_valid());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_wall_clock_jumps_ahead_stops() {
    let server = ApiServer::start();
    let clock = TestClock::default();
    let leadership = lead(&candidate(&server, "a").clock(clock.clone())).await;
    sleep(30.5).await;
    clock.set_wall(7.0);
    assert!(leadership.is_valid(), "7.5 s since the last renewal");
    sleep(30.0).await;
    assert!(leadership.is_valid(), "renewed meanwhile");
    clock.set_wall(10.0);
    assert!(!leadership.is_valid());
    assert!(matches!(
        leadership.lost().await.reason,
        LostReason::Expired { last_error: None, .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_suspended_does_not_lead_when_it_resumes() {
    let server = ApiServer::start();
    let clock = TestClock::default();
    let leadership = lead(&candidate(&server, "a").clock(clock.clone())).await;
    let polls = std::cell::Cell::new(0);
    let work = std::future::poll_fn(|_| {
        polls.set(polls.get() + 1);
        std::task::Poll::<()>::Pending
    });
    let mut work = std::pin::pin!(leadership.guard(work));
    assert!(futures::poll!(&mut work).is_pending());
    server.faults().add(Rule::new(Fault::Hang));
    clock.suspend();
    sleep(0.9).await;
    // No timer of this process has fired since: only the wall clock shows the time.
    clock.set_wall(60.0);
    clock.resume();
    assert!(futures::poll!(&mut work).is_ready());
    assert!(!leadership.is_valid());
    assert_eq!(polls.get(), 1, "the work was not polled again");
}

/// Neither the monotonic nor the wall clock shows the suspension; seed 1612 of the simulation.
#[tokio::test(start_paused = true)]
async fn a_suspension_is_noticed_although_the_wall_clock_was_set_back() {
    let server = ApiServer::start();
    let clock = TestClock::default();
    let leadership = lead(&candidate(&server, "a").clock(clock.clone())).await;
    clock.suspend_for(60.0);
    clock.set_wall(-60.0);
    assert!(!leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_set_back_does_not_extend_a_lease() {
    let server = ApiServer::start();
    let clock = TestClock::default();
    let leadership = lead(&candidate(&server, "a").clock(clock.clone())).await;
    server.faults().add(Rule::new(Fault::Refuse));
    let start = Instant::now();
    sleep(5.0).await;
    clock.set_wall(-3600.0);
    assert!(leadership.is_valid());
    leadership.lost().await;
    let after = start.elapsed().as_secs_f64();
    assert!((9.9..=10.01).contains(&after), "{after}");
}
