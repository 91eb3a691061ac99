//! Resigning: the lease is released, unless it is kept.

use informer_core::leader::LostReason;
use informer_testing::{ApiServer, Fault, Rule, Verb};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

/// Upstream: TestReleaseLeaseLeases, TestReleaseOnCancellation_Leases.
#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_the_retry_period() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let other = candidate(&server, "b");
    let campaign = tokio::spawn(other.campaign(CancellationToken::new()));
    sleep(30.0).await;
    assert!(!campaign.is_finished());
    leadership.resign().await;
    assert!(!leadership.is_valid());
    assert!(matches!(leadership.lost().await.reason, LostReason::Resigned));
    let released = spec(&server);
    assert_eq!(released["holderIdentity"], "");
    assert_eq!(released["leaseDurationSeconds"], 1);
    assert_eq!(released["leaseTransitions"], 0);
    assert_eq!(released["acquireTime"], released["renewTime"]);
    let start = Instant::now();
    assert!(campaign.await.unwrap().unwrap().is_valid());
    assert!(start.elapsed() <= Duration::from_secs_f64(4.4));
    assert_eq!(spec(&server)["leaseTransitions"], 1);
}

/// Upstream: TestReleaseRetriesOnConflict.
#[tokio::test(start_paused = true)]
async fn a_release_retries_conflicts() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let conflict = informer_testing::ApiError::new(409, "Conflict", "once more");
    server
        .faults()
        .add(Rule::new(Fault::Status(conflict)).on(Verb::Update).times(3));
    leadership.resign().await;
    assert_eq!(holder(&server), "");
    assert_eq!(server.requests().with_verb(Verb::Update).len(), 4);
}

/// A renewal that is dropped on the way may be stored: the release reads the lease first.
/// Upstream: TestReleaseMethodCallsGet, TestReleaseOnCancellation_Leases.
#[tokio::test(start_paused = true)]
async fn a_release_during_a_renewal_succeeds() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let slow = server
        .faults()
        .add(Rule::new(Fault::Delay(seconds(1))).on(Verb::Update));
    sleep(2.5).await;
    server.faults().remove(slow);
    leadership.resign().await;
    assert_eq!(holder(&server), "");
}

#[tokio::test(start_paused = true)]
async fn a_release_leaves_the_lease_of_another_alone() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.update(&foreign("2020-01-01T00:00:00.000000Z")).unwrap();
    leadership.resign().await;
    assert_eq!(holder(&server), "foreign");
    server.delete(&lease(&json!({}))).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_of_a_deleted_lease_creates_none() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.delete(&lease(&json!({}))).unwrap();
    leadership.resign().await;
    assert_eq!(spec(&server), serde_json::Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_ends_in_time() {
    for (fault, limit) in [(Fault::Refuse, 0.1), (Fault::Hang, 2.1)] {
        let server = ApiServer::start();
        let leadership = lead(&candidate(&server, "a")).await;
        server.faults().add(Rule::new(fault));
        let start = Instant::now();
        leadership.resign().await;
        assert!(start.elapsed().as_secs_f64() < limit);
        assert!(!leadership.is_valid());
        assert_eq!(holder(&server), "a", "it expires by itself");
    }
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let conflict = informer_testing::ApiError::new(409, "Conflict", "for ever");
    server
        .faults()
        .add(Rule::new(Fault::Status(conflict)).on(Verb::Update));
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_millis(10))));
    let start = Instant::now();
    leadership.resign().await;
    assert!(start.elapsed() <= seconds(10) + Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_lost_releases_nothing() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let rule = server.faults().add(Rule::new(Fault::Refuse));
    leadership.lost().await;
    server.faults().remove(rule);
    leadership.resign().await;
    assert_eq!(holder(&server), "a");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_leadership_releases_the_lease() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let clone = leadership.clone();
    drop(leadership);
    sleep(30.0).await;
    assert!(clone.is_valid());
    drop(clone);
    sleep(0.1).await;
    assert_eq!(holder(&server), "");
}

#[tokio::test(start_paused = true)]
async fn no_task_remains_after_the_end() {
    let server = ApiServer::start();
    let client = server.client();
    let tasks = crate::support::tasks();
    let election = informer_core::leader::LeaderElection::new(client, "default", "lock");
    let leadership = lead(&election).await;
    assert!(crate::support::tasks() > tasks);
    leadership.resign().await;
    sleep(0.1).await;
    assert_eq!(crate::support::tasks(), tasks);
}
