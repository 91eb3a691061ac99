//! Renewing, and losing the leadership: unreachable servers, conflicts, other holders, deleted leases.

use informer_core::leader::LostReason;
use informer_testing::{ApiServer, Fault, Rule, Verb};
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_leader_renews_without_reading_and_stays_the_leader() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.clear_requests();
    sleep(601.0).await;
    assert!(leadership.is_valid());
    let requests = server.requests();
    assert_eq!(requests.with_verb(Verb::Update).len(), 300);
    assert_eq!(requests.len(), 300, "nothing but updates");
    let spec = spec(&server);
    assert_eq!(spec["acquireTime"], "2001-09-09T01:46:40.000000Z");
    assert_eq!(spec["renewTime"], "2001-09-09T01:56:40.000000Z");
    assert_eq!(spec["leaseTransitions"], 0);
}

/// Upstream: TestLeaderElectionHealthChecker.
#[tokio::test(start_paused = true)]
async fn an_unreachable_server_ends_the_leadership_at_the_deadline() {
    for fault in [Fault::Refuse, Fault::Hang, Fault::unavailable()] {
        let server = ApiServer::start();
        let leadership = lead(&candidate(&server, "a")).await;
        let start = Instant::now();
        let name = fault.name();
        server.faults().add(Rule::new(fault));
        let lost = leadership.lost().await;
        let after = start.elapsed().as_secs_f64();
        assert!((9.9..=10.01).contains(&after), "{name}: {after}");
        let LostReason::Expired { last_error, .. } = &lost.reason else {
            panic!("{name}: {lost}");
        };
        assert!(last_error.is_some(), "{name}");
        assert!(!leadership.is_valid() && leadership.token().is_cancelled());
        let text = lost.to_string();
        let expected =
            "lost leadership of lease \"default/lock\": not renewed within 10s: cannot update lease";
        assert!(text.starts_with(expected), "{text}");
    }
}

/// A leader that is lost stays lost, even if the server answers again.
#[tokio::test(start_paused = true)]
async fn a_lost_leadership_is_never_valid_again() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let rule = server.faults().add(Rule::new(Fault::Refuse));
    leadership.lost().await;
    server.faults().remove(rule);
    server.clear_requests();
    sleep(60.0).await;
    assert!(!leadership.is_valid());
    assert!(server.requests().is_empty(), "it does not renew");
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_is_survived() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    for _ in 0..5 {
        let rule = server.faults().add(Rule::new(Fault::Hang));
        sleep(5.5).await;
        server.faults().remove(rule);
        sleep(4.0).await;
        assert!(leadership.is_valid());
    }
}

/// Upstream: TestFastPathLeaderElection, "fast path and conflict".
#[tokio::test(start_paused = true)]
async fn a_conflict_is_resolved_by_reading_once() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let mut lease = server.objects::<Lease>().remove(0);
    lease.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let lease = serde_json::to_value(&lease).unwrap();
    let mut typed = super::lease(&lease["spec"]);
    typed["metadata"] = lease["metadata"].clone();
    server.update(&typed).unwrap();
    server.clear_requests();
    sleep(5.0).await;
    assert!(leadership.is_valid());
    let requests = server.requests();
    let verbs: Vec<_> = requests.iter().map(|request| request.verb).collect();
    assert_eq!(verbs, [Verb::Update, Verb::Get, Verb::Update, Verb::Update]);
    let labels = server.objects::<Lease>()[0].metadata.labels.clone().unwrap();
    assert_eq!(labels["a"], "b", "the other program's change survives");
}

/// The reason names the lease. Upstream: TestDescribe.
#[tokio::test(start_paused = true)]
async fn another_holder_ends_the_leadership_at_the_next_renewal() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.update(&foreign("2020-01-01T00:00:00.000000Z")).unwrap();
    let start = Instant::now();
    let lost = leadership.lost().await;
    assert!(start.elapsed() <= seconds(2) + Duration::from_millis(10));
    assert_eq!(
        lost.to_string(),
        "lost leadership of lease \"default/lock\": taken over by \"foreign\""
    );
    assert_eq!(holder(&server), "foreign", "it is not overwritten");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.delete(&lease(&json!({}))).unwrap();
    sleep(2.5).await;
    assert!(leadership.is_valid());
    assert_eq!(holder(&server), "a");
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_and_taken_by_another_is_lost() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.delete(&lease(&json!({}))).unwrap();
    let other = lead(&candidate(&server, "b")).await;
    let lost = leadership.lost().await;
    assert!(
        matches!(&lost.reason, LostReason::TakenOver { by } if by == "b"),
        "{lost}"
    );
    assert!(other.is_valid());
}

/// A cleared holder is taken back, as in client-go.
#[tokio::test(start_paused = true)]
async fn a_cleared_holder_is_taken_back() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.update(&lease(&json!({ "holderIdentity": "" }))).unwrap();
    sleep(2.5).await;
    assert!(leadership.is_valid());
    assert_eq!(holder(&server), "a");
    assert_eq!(spec(&server)["leaseTransitions"], 1);
}

/// A program that changes the lease during every attempt cannot keep a leader busy for ever.
#[tokio::test(start_paused = true)]
async fn endless_conflicts_are_bounded_and_end_the_leadership() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    let conflict = informer_testing::ApiError::new(409, "Conflict", "always");
    server
        .faults()
        .add(Rule::new(Fault::Status(conflict)).on(Verb::Update));
    server.clear_requests();
    let lost = leadership.lost().await;
    assert!(matches!(lost.reason, LostReason::Expired { .. }), "{lost}");
    assert!(server.requests().len() <= 7 * 5, "{}", server.requests().len());
}

#[tokio::test(start_paused = true)]
async fn guarded_work_is_dropped_when_the_leadership_is_lost() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    assert_eq!(leadership.guard(async { 7 }).await.unwrap(), 7);
    let (dropped, was_dropped) = tokio::sync::oneshot::channel::<()>();
    let work = leadership.guard(async move {
        let _dropped = dropped;
        std::future::pending::<()>().await;
    });
    let work = tokio::spawn(work);
    server.faults().add(Rule::new(Fault::Refuse));
    assert!(was_dropped.await.is_err());
    assert!(!leadership.is_valid());
    let lost = work.await.unwrap().unwrap_err();
    assert!(matches!(lost.reason, LostReason::Expired { .. }), "{lost}");
    assert!(leadership.guard(async {}).await.is_err(), "nothing new starts");
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_token_does_not_end_the_leadership() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    leadership.token().cancel();
    sleep(30.0).await;
    assert!(leadership.is_valid() && !leadership.token().is_cancelled());
}
