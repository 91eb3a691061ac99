//! The rate, cost and end of audits.

use std::time::Duration;

use informer_core::AuditOptions;
use informer_testing::{Fault, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;

use super::rig::{Audited, HOUR, PERIOD, exact_lists, is_exact, maps};
use crate::support::{server_with, start, tasks};

#[tokio::test(start_paused = true)]
async fn without_the_option_nothing_is_requested() {
    let server = server_with(&["a"]);
    let informer = maps(&server)
        .audit(AuditOptions::every(PERIOD))
        .no_audit()
        .build()
        .unwrap();
    start(&informer).await;
    tokio::time::sleep(24 * HOUR).await;
    assert_eq!(exact_lists(&server), 0);
    assert!(informer.status().scopes[0].audit.is_none());
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn shutting_down_while_an_audit_waits_for_its_answer_leaves_no_task() {
    let server = server_with(&["a"]);
    let id = server
        .faults()
        .add(Rule::new(Fault::Hang).on(Verb::List).when(is_exact));
    let before = tasks();
    let options = AuditOptions::every(PERIOD).timeout(24 * HOUR);
    let audited = Audited::start_with(maps(&server), options).await;
    while server.faults().hits(id) == 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    audited.informer.shutdown().await;
    assert_eq!(tasks(), before);
    assert!(audited.reports.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_period_makes_more_than_one_audit_a_minute() {
    let server = server_with(&["a"]);
    let options = AuditOptions::every(Duration::ZERO).page_size(0);
    let audited = Audited::start_with(maps(&server), options).await;
    tokio::time::sleep(HOUR).await;
    let count = exact_lists(&server);
    assert!((40..=60).contains(&count), "{count} audits in an hour");
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_as_long_as_requested_and_longer_each_time() {
    let server = server_with(&["a"]);
    let fault = Fault::too_many_requests(300);
    server
        .faults()
        .add(Rule::new(fault).on(Verb::List).when(is_exact));
    let audited = Audited::start(maps(&server)).await;
    let mut waits = Vec::new();
    for _ in 0..7 {
        let begun = tokio::time::Instant::now();
        audited.next().await;
        waits.push(begun.elapsed().as_secs());
    }
    // The first comes after a period, then Retry-After counts, then sixteen periods and no more.
    let bounds = [
        (60, 91),
        (300, 301),
        (300, 301),
        (300, 361),
        (480, 721),
        (960, 1441),
        (960, 1441),
    ];
    for (wait, (shortest, longest)) in waits.iter().zip(bounds) {
        assert!((shortest..=longest).contains(wait), "{waits:?}");
    }
    audited.informer.shutdown().await;
}

/// A transform that breaks its contract makes every audit fail, and no relist can help.
#[tokio::test(start_paused = true)]
async fn a_difference_that_comes_back_is_healed_ever_more_rarely() {
    let server = server_with(&["a"]);
    let spoil = |object: &mut ConfigMap| object.metadata.resource_version = Some("1".into());
    let audited = Audited::start(maps(&server).transform(spoil)).await;
    tokio::time::sleep(24 * HOUR).await;
    let status = audited.status();
    let lists = audited.informer.status().scopes[0].counts.lists;
    // At least sixteen minutes after four repetitions.
    assert!(
        (50..100).contains(&status.mismatches),
        "{} mismatches in a day",
        status.mismatches
    );
    assert_eq!(lists, status.mismatches + 1);
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_audit_handler_hurts_only_itself() {
    let server = server_with(&["a"]);
    let options = AuditOptions::every(PERIOD).on_audit(|_| panic!("deliberate"));
    let informer = maps(&server).audit(options).build().unwrap();
    start(&informer).await;
    tokio::time::sleep(HOUR).await;
    let audits = informer.status().scopes[0].audit.clone().unwrap().audits;
    assert!(audits >= 40, "{audits} audits in an hour");
    informer.shutdown().await;
}
