//! Errors for people, and the status of an election.

use informer_testing::{ApiServer, Fault, Rule, Verb};
use tokio_util::sync::CancellationToken;

use super::*;

/// Campaigns for a while and returns the last error.
async fn error_of(server: &ApiServer, election: LeaderElection) -> String {
    let stop = CancellationToken::new();
    let campaign = tokio::spawn(election.campaign(stop.clone()));
    sleep(30.0).await;
    assert!(!campaign.is_finished());
    stop.cancel();
    assert!(campaign.await.unwrap().is_none());
    assert!(server.requests().len() < 40, "{}", server.requests().len());
    election.status().last_error.unwrap().to_string()
}

/// Upstream: TestGetError, TestCreateError, TestUpdateError.
#[tokio::test(start_paused = true)]
async fn a_missing_permission_names_the_rule_to_add() {
    for (verb, name) in [(Verb::Get, "get"), (Verb::Create, "create")] {
        let server = ApiServer::start();
        server.faults().add(Rule::new(Fault::Forbidden).on(verb));
        let error = error_of(&server, candidate(&server, "a")).await;
        let expected = format!(
            "cannot {name} lease \"default/lock\": forbidden; grant \"get\", \"create\" and \"update\" on \
             \"leases\" in group \"coordination.k8s.io\" in namespace \"default\" ("
        );
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_named() {
    let server = ApiServer::start();
    let election = LeaderElection::new(server.client(), "nowhere", "lock").identity("a");
    assert_eq!(
        error_of(&server, election).await,
        "cannot create lease \"nowhere/lock\": namespace \"nowhere\" does not exist; create it, or choose \
         another one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_reported_with_the_limit() {
    let server = ApiServer::start();
    server.faults().add(Rule::new(Fault::Hang));
    let error = error_of(&server, candidate(&server, "a")).await;
    assert_eq!(error, "cannot get lease \"default/lock\": no answer within 2s");
}

#[tokio::test(start_paused = true)]
async fn an_error_ends_with_the_first_success() {
    let server = ApiServer::start();
    server.faults().add(Rule::new(Fault::unavailable()).times(3));
    let election = candidate(&server, "a");
    let _leadership = lead(&election).await;
    assert!(election.status().last_error.is_none());
}

/// Upstream: `OnNewLeader`, `GetLeader`, `IsLeader`.
#[tokio::test(start_paused = true)]
async fn the_status_shows_who_leads_and_reports_changes() {
    let server = ApiServer::start();
    let (a, b) = (candidate(&server, "a"), candidate(&server, "b"));
    assert!(a.status().leader.is_none());
    let leadership = lead(&a).await;
    assert!(a.status().is_self);
    let mut watch = b.observe();
    let campaign = tokio::spawn(b.campaign(CancellationToken::new()));
    let status = watch.changed().await.unwrap();
    assert_eq!(status.leader.as_deref(), Some("a"));
    assert!(!status.is_self);
    assert_eq!(
        status.since,
        Some(SystemTime::UNIX_EPOCH + seconds(1_000_000_000))
    );
    leadership.resign().await;
    loop {
        let status = watch.changed().await.unwrap();
        if status.is_self {
            assert_eq!(status.leader.as_deref(), Some("b"));
            assert_eq!(status.transitions, 1);
            break;
        }
        assert_eq!(status.leader, None);
    }
    assert!(a.status().leader.is_none(), "it observed its own release");
    let _other = campaign.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_default_identity_is_unique() {
    let server = ApiServer::start();
    let make = || LeaderElection::new(server.client(), "default", "lock");
    let leadership = lead(&make()).await;
    let first = leadership.identity().to_owned();
    leadership.resign().await;
    assert_ne!(lead(&make()).await.identity(), first);
}
