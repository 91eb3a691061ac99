//! Taking the lease: a new one, a free one, an expired one.

use informer_testing::{ApiServer, Fault, Rule, Verb};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

/// Upstream: TestTryAcquireOrRenewLeases, "acquire from no object".
#[tokio::test(start_paused = true)]
async fn a_lease_that_does_not_exist_is_created() {
    let server = ApiServer::start();
    let election = candidate(&server, "a");
    let (leadership, after) = lead_after(&election).await;
    assert!(leadership.is_valid());
    assert_eq!(leadership.identity(), "a");
    assert!(after < 0.1, "{after}");
    let spec = spec(&server);
    assert_eq!(spec["holderIdentity"], "a");
    assert_eq!(spec["leaseDurationSeconds"], 15);
    assert_eq!(spec["leaseTransitions"], 0);
    assert_eq!(spec["acquireTime"], spec["renewTime"]);
    assert_eq!(spec["acquireTime"], "2001-09-09T01:46:40.000000Z");
}

/// Upstream: TestTryAcquireOrRenewLeases, "acquire from object without annotations", "acquire from unled
/// object", "acquire from cleared object".
#[tokio::test(start_paused = true)]
async fn a_lease_without_a_holder_is_taken_at_once() {
    for spec in [
        json!(null),
        json!({}),
        json!({ "holderIdentity": "" }),
        json!({ "leaseDurationSeconds": -5, "leaseTransitions": -1, "renewTime": "never" }),
    ] {
        let server = ApiServer::start();
        server.create(&lease(&spec)).unwrap();
        let (_leadership, after) = lead_after(&candidate(&server, "a")).await;
        assert!(after < 0.1, "{spec}: {after}");
        assert_eq!(super::spec(&server)["leaseTransitions"], 1, "{spec}");
    }
}

/// Upstream: TestTryAcquireOrRenewLeases, "don't acquire from led, acked object", "acquire from led, unacked
/// object".
#[tokio::test(start_paused = true)]
async fn an_expired_lease_is_taken_by_the_time_of_local_observation() {
    // By the times in the lease, it expired long ago, or will not expire for years.
    for renewed in ["1970-01-01T00:00:00.000000Z", "2100-01-01T00:00:00.000000Z"] {
        let server = ApiServer::start();
        server.create(&foreign(renewed)).unwrap();
        let (leadership, after) = lead_after(&candidate(&server, "a")).await;
        // The whole duration since the first observation, and at most one jittered retry period.
        assert!((15.0..15.0 + 4.4).contains(&after), "{renewed}: {after}");
        assert!(leadership.is_valid());
        assert_eq!(spec(&server)["leaseTransitions"], 5);
    }
}

#[tokio::test(start_paused = true)]
async fn each_renewal_of_another_process_starts_the_wait_again() {
    let server = ApiServer::start();
    server.create(&foreign("2020-01-01T00:00:00.000000Z")).unwrap();
    let election = candidate(&server, "a");
    let campaign = tokio::spawn(election.campaign(CancellationToken::new()));
    for minute in 10..40 {
        sleep(10.0).await;
        assert!(!campaign.is_finished(), "after {minute} renewals");
        let renewed = format!("2020-01-01T00:{minute}:00.000000Z");
        server.update(&foreign(&renewed)).unwrap();
    }
    sleep(14.9).await;
    assert!(!campaign.is_finished());
    assert!(campaign.await.unwrap().unwrap().is_valid());
}

/// A controller that only labels the Lease does not keep its holder alive.
#[tokio::test(start_paused = true)]
async fn a_change_of_metadata_is_no_renewal() {
    let server = ApiServer::start();
    server.create(&foreign("2020-01-01T00:00:00.000000Z")).unwrap();
    let election = candidate(&server, "a");
    let campaign = tokio::spawn(election.campaign(CancellationToken::new()));
    for number in 0..4 {
        sleep(5.0).await;
        if campaign.is_finished() {
            break;
        }
        let mut labelled = foreign("2020-01-01T00:00:00.000000Z");
        labelled["metadata"]["labels"] = json!({ "n": number.to_string() });
        server.update(&labelled).unwrap();
    }
    assert!(campaign.is_finished());
    assert_eq!(holder(&server), "a");
}

/// A record with a holder, but without a usable duration, is trusted as long as one of our own.
#[tokio::test(start_paused = true)]
async fn a_holder_without_a_valid_duration_gets_the_candidates_own() {
    for duration in [json!(null), json!(-3), json!(0)] {
        let server = ApiServer::start();
        let spec = json!({ "holderIdentity": "foreign", "leaseDurationSeconds": duration });
        server.create(&lease(&spec)).unwrap();
        let (_leadership, after) = lead_after(&candidate(&server, "a")).await;
        assert!((15.0..15.0 + 4.4).contains(&after), "{duration}: {after}");
    }
}

/// Upstream: TestTryAcquireOrRenewLeases, "renew already acquired object".
#[tokio::test(start_paused = true)]
async fn the_same_identity_continues_its_lease() {
    let server = ApiServer::start();
    let election = candidate(&server, "a").keep_lease_on_exit();
    let leadership = lead(&election).await;
    leadership.resign().await;
    let acquired = spec(&server)["acquireTime"].clone();
    assert_eq!(holder(&server), "a");
    sleep(3.0).await;
    let (_leadership, after) = lead_after(&candidate(&server, "a")).await;
    assert!(after < 0.1, "{after}");
    assert_eq!(spec(&server)["acquireTime"], acquired);
    assert_eq!(spec(&server)["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn one_election_leads_once_at_a_time() {
    let server = ApiServer::start();
    let election = candidate(&server, "a");
    let first = lead(&election).await;
    let second = tokio::spawn(election.clone().campaign(CancellationToken::new()));
    sleep(60.0).await;
    assert!(first.is_valid() && !second.is_finished());
    first.resign().await;
    assert!(second.await.unwrap().unwrap().is_valid());
    assert!(!first.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_campaign_returns_nothing_and_holds_nothing() {
    let server = ApiServer::start();
    server.create(&foreign("2020-01-01T00:00:00.000000Z")).unwrap();
    let stop = CancellationToken::new();
    let campaign = tokio::spawn(candidate(&server, "a").campaign(stop.clone()));
    sleep(5.0).await;
    stop.cancel();
    assert!(campaign.await.unwrap().is_none());
    assert_eq!(holder(&server), "foreign");
}

/// A stop during the write that takes the lease releases it again.
/// Upstream: TestReleaseOnCancellation_Leases.
#[tokio::test(start_paused = true)]
async fn a_campaign_stopped_while_it_takes_the_lease_releases_it() {
    let server = ApiServer::start();
    let slow = Rule::new(Fault::Delay(seconds(1))).on(Verb::Create);
    server.faults().add(slow);
    let stop = CancellationToken::new();
    let campaign = tokio::spawn(candidate(&server, "a").campaign(stop.clone()));
    sleep(0.5).await;
    stop.cancel();
    assert!(campaign.await.unwrap().is_none());
    assert_eq!(spec(&server)["holderIdentity"], "");
}

#[tokio::test(start_paused = true)]
async fn invalid_options_end_a_campaign_at_once() {
    let server = ApiServer::start();
    let election = candidate(&server, "a").lease_duration(seconds(5));
    assert!(election.validate().is_err());
    assert!(election.campaign(CancellationToken::new()).await.is_none());
    assert!(server.requests().is_empty());
}
