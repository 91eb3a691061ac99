//! Results that say nothing about the cache are skipped and change nothing.

use std::time::Duration;

use informer_core::{AuditOutcome, AuditSkipped, InitialState};
use informer_testing::{EventType, Fault, Garble, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;

use super::rig::{Audited, TIMEOUT, describe, is_exact, maps};
use crate::support::{Door, builder_of, item, server_with, settled, unseen};

/// Answers every audit with this fault, and checks that it is skipped with the right reason and changes
/// nothing.
async fn check_skipped(fault: Fault, expected: impl Fn(&AuditSkipped) -> bool) {
    let server = server_with(&["a"]);
    let id = server
        .faults()
        .add(Rule::new(fault.clone()).on(Verb::List).when(is_exact));
    let audited = Audited::start(maps(&server)).await;
    let report = audited.next().await;
    match &report.outcome {
        AuditOutcome::Skipped(reason) if expected(reason) => {}
        other => panic!("{fault:?} leads to {other:?}"),
    }
    server.faults().remove(id);
    let after = audited.next().await;
    assert_eq!(describe(&after), "sound 1", "after {fault:?}");
    let status = audited.status();
    assert_eq!(
        (status.audits, status.mismatches, status.skipped),
        (1, 0, 1),
        "{fault:?}"
    );
    assert_eq!(audited.informer.status().scopes[0].counts.lists, 1, "{fault:?}");
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_list_says_nothing_about_the_cache() {
    check_skipped(Fault::expired(), |reason| {
        matches!(reason, AuditSkipped::Expired(_))
    })
    .await;
    check_skipped(Fault::too_many_requests(1), |reason| {
        matches!(reason, AuditSkipped::Busy(_))
    })
    .await;
    check_skipped(Fault::Forbidden, |reason| {
        matches!(reason, AuditSkipped::Refused(_))
    })
    .await;
    check_skipped(Fault::unauthorized(), |reason| {
        matches!(reason, AuditSkipped::Refused(_))
    })
    .await;
    check_skipped(Fault::not_found(), |reason| {
        matches!(reason, AuditSkipped::Refused(_))
    })
    .await;
    check_skipped(Fault::internal_error(), |reason| {
        matches!(reason, AuditSkipped::Failed(_))
    })
    .await;
    check_skipped(Fault::timeout(), |reason| {
        matches!(reason, AuditSkipped::Failed(_))
    })
    .await;
    check_skipped(Fault::version_too_large(), |reason| {
        matches!(reason, AuditSkipped::Failed(_))
    })
    .await;
    check_skipped(Fault::Refuse, |reason| matches!(reason, AuditSkipped::Failed(_))).await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_list_says_nothing_about_the_cache() {
    check_skipped(Fault::TruncateList { bytes: 40 }, |reason| {
        matches!(reason, AuditSkipped::Failed(_))
    })
    .await;
    check_skipped(Fault::OmitListVersion, |reason| {
        matches!(reason, AuditSkipped::Failed(_))
    })
    .await;
    check_skipped(Fault::Table, |reason| matches!(reason, AuditSkipped::Failed(_))).await;
    let garble = Fault::GarbleItem {
        index: 0,
        garble: Garble::Key,
    };
    check_skipped(garble, |reason| matches!(reason, AuditSkipped::Unreadable)).await;
}

#[tokio::test(start_paused = true)]
async fn an_audit_that_takes_too_long_is_given_up() {
    check_skipped(
        Fault::Delay(Duration::from_secs(25)),
        |reason| matches!(reason, AuditSkipped::Timeout { after } if *after == TIMEOUT),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_was_compacted_is_no_mismatch() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::OmitProgressBookmarks));
    let audited = Audited::start(maps(&server)).await;
    let other = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}});
    server.create(&other).unwrap();
    // The watch receives it, delivers nothing and continues; the cache keeps its version.
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.compact(server.revision());
    let report = audited.next().await;
    assert!(
        matches!(&report.outcome, AuditOutcome::Skipped(AuditSkipped::Expired(_))),
        "{report:?}"
    );
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_not_live_is_not_audited() {
    let server = server_with(&["a"]);
    let door = Door::default();
    let audited = Audited::start(builder_of::<ConfigMap>(door.client(&server))).await;
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    server.clear_requests();
    let report = audited.next().await;
    assert!(
        matches!(&report.outcome, AuditOutcome::Skipped(AuditSkipped::NotLive)),
        "{report:?}"
    );
    door.open();
    assert_eq!(describe(&audited.next().await), "sound 1");
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_known_to_be_old_is_left_out() {
    let server = server_with(&["a", "b"]);
    let fault = Fault::GarbleEvent {
        kind: EventType::Modified,
        index: 0,
        garble: Garble::Content,
    };
    server.faults().add(Rule::new(fault).on(Verb::Watch).once());
    let audited = Audited::start(maps(&server)).await;
    server.update(&item("a", "2")).unwrap();
    let report = audited.next().await;
    assert_eq!((describe(&report).as_str(), report.left_out), ("sound 1", 1));
    assert_eq!(audited.informer.status().stale.len(), 1);
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_known_to_be_incomplete_is_not_judged() {
    let server = server_with(&["a", "b"]);
    let garble = Fault::GarbleItem {
        index: 0,
        garble: Garble::Key,
    };
    server.faults().add(Rule::new(garble).on(Verb::List).once());
    let audited = Audited::start(maps(&server).initial_state(InitialState::List)).await;
    let report = audited.next().await;
    assert!(
        matches!(&report.outcome, AuditOutcome::Skipped(AuditSkipped::Unreadable)),
        "{report:?}"
    );
    // The next list can be read.
    unseen(&server, || drop(server.create(&item("c", "1")).unwrap()));
    settled(&audited.informer, &server).await;
    assert_eq!(describe(&audited.next().await), "sound 3");
    audited.informer.shutdown().await;
}
