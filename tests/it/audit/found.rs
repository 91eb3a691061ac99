//! A cache that lost events is detected, reported everywhere, and repaired.

use informer_core::{AuditOptions, InitialState, ScopeStatus};
use informer_testing::{ApiServer, Fault, Rule, Verb};
use k8s_openapi::api::core::v1::ConfigMap;

use super::rig::{Audited, Errors, PERIOD, describe, maps};
use crate::scripted::{self, Rig};
use crate::support::{Recorder, final_items, item, item_in, items, label, quiet, server_with, settled};

/// Drops the events caused by `happening`, and checks the next audit and the repair.
async fn check_found_and_healed(
    happening: impl FnOnce(&ApiServer),
    lost: usize,
    expected: &str,
    story: &[&str],
) {
    let errors = Errors::listen();
    let server = server_with(&["a", "b", "c"]);
    let fault = Fault::DropEvents {
        after: 3,
        count: lost,
    };
    server.faults().add(Rule::new(fault).on(Verb::Watch).once());
    let received = Recorder::new();
    let builder = maps(&server);
    let audited = Audited::start(builder).await;
    received.add_to(&audited.informer);
    quiet(&audited.informer).await;

    happening(&server);
    let report = audited.next_mismatch().await;
    assert_eq!(describe(&report), expected);
    let logged = errors.take();
    assert_eq!(logged.len(), 1, "{logged:?}");
    let (_, differences) = expected.split_once(": ").unwrap();
    assert!(logged[0].contains(differences), "{logged:?}");

    settled(&audited.informer, &server).await;
    let held: Vec<String> = server.objects::<ConfigMap>().iter().map(label).collect();
    assert_eq!(items(&audited.informer), held);
    assert_eq!(final_items(&received.events()), held);
    let delivered = received.take();
    assert_eq!(
        delivered[3..],
        *story,
        "what was received after the initial additions"
    );

    let healed = audited.next().await;
    assert_eq!(describe(&healed), format!("sound {}", held.len()));
    let status = audited.status();
    assert_eq!(status.mismatches, 1);
    assert_eq!(describe(&status.last_mismatch.unwrap()), expected);
    assert_eq!(describe(&status.last.unwrap()), describe(&healed));
    let counts = audited.informer.status().scopes[0].counts;
    assert_eq!(
        (counts.lists, counts.errors),
        (2, 0),
        "read again once, and no failure"
    );
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_addition_is_found_and_healed() {
    check_found_and_healed(
        |server| drop(server.create(&item("new", "1")).unwrap()),
        1,
        "mismatch of 4: 1 (default/new) missing",
        &["add new"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_update_is_found_and_healed() {
    check_found_and_healed(
        |server| drop(server.update(&item("b", "2")).unwrap()),
        1,
        "mismatch of 3: 1 (default/b) at another version",
        &["update b"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_deletion_is_found_and_healed() {
    check_found_and_healed(
        |server| server.delete(&item("b", "")).unwrap(),
        1,
        "mismatch of 3: 1 (default/b) extra",
        &["missed b"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_replaced_unseen_is_delivered_as_deletion_and_addition() {
    check_found_and_healed(
        |server| {
            server.delete(&item("b", "")).unwrap();
            server.create(&item("b", "2")).unwrap();
        },
        2,
        "mismatch of 3: 1 (default/b) at another version",
        &["missed b", "add b"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_the_scope_that_is_wrong_is_read_again() {
    let server = ApiServer::start();
    for namespace in ["db", "web"] {
        server.create(&item_in(namespace, "a", "1")).unwrap();
    }
    let fault = Rule::new(Fault::DropEvents { after: 1, count: 1 }).on(Verb::Watch);
    server.faults().add(fault.namespace("web").once());
    let audited = Audited::start(maps(&server).namespaces(["db", "web"])).await;
    server.create(&item_in("web", "lost", "1")).unwrap();
    let report = audited.next_mismatch().await;
    assert_eq!(report.scope.to_string(), "namespace web");
    assert_eq!(describe(&report), "mismatch of 2: 1 (web/lost) missing");
    settled(&audited.informer, &server).await;
    let lists: Vec<u64> = audited
        .informer
        .status()
        .scopes
        .iter()
        .map(|scope| scope.counts.lists)
        .collect();
    assert_eq!(lists, [1, 2]);
    audited.informer.shutdown().await;
}

/// A custom source lists whole objects, and may panic.
#[tokio::test(start_paused = true)]
async fn a_source_that_knows_no_identities_is_audited_by_its_lists() {
    let options = AuditOptions::every(PERIOD);
    let mut rig = Rig::with(scripted::config(InitialState::List), |builder| {
        builder.audit(options)
    });
    rig.server.list().await.page("5", &["a@3", "b@5"]);
    let watch = rig.server.watch().await.open();
    let outcome = |scope: ScopeStatus| describe(&scope.audit.unwrap().last.unwrap());

    let audit = rig.server.list().await;
    assert_eq!(audit.to_string(), "list =5 limit 500");
    audit.page("5", &["b@5", "a@3"]);
    assert_eq!(outcome(rig.scope().await), "sound 2");

    rig.server.list().await.panic();
    assert!(outcome(rig.scope().await).contains("the source panicked"));

    // It answers at another version, so the audit is skipped.
    rig.server.list().await.page("7", &["a@7"]);
    assert_eq!(
        outcome(rig.scope().await),
        "skipped: version 5 was requested and 7 returned"
    );
    assert!(watch.is_read(), "nothing of this is a reason to read again");

    rig.server.list().await.page("5", &["a@3"]);
    assert_eq!(outcome(rig.scope().await), "mismatch of 2: 1 (default/b) extra");
    let again = rig.server.list().await;
    assert_eq!(again.to_string(), "list newest limit 500");
    assert!(!watch.is_read());
    again.page("8", &["a@3"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(rig.store().await, ["a@3"]);
    rig.informer.shutdown().await;
}

/// The relist after a mismatch is not repeated: a list that begins for another reason replaces it.
#[tokio::test(start_paused = true)]
async fn a_list_that_begins_anyway_is_all_the_healing_there_is() {
    let options = AuditOptions::every(PERIOD);
    let mut rig = Rig::with(scripted::config(InitialState::List), |builder| {
        builder.audit(options)
    });
    rig.server.list().await.page("5", &["a@3", "b@5"]);
    let watch = rig.server.watch().await.open();
    let audit = rig.server.list().await;
    drop(watch);
    let resumed = rig.server.watch().await;
    audit.page("5", &["a@3"]);
    assert_eq!(rig.scope().await.audit.unwrap().mismatches, 1);

    // No watch is open, so the request waits; then the server itself makes a list necessary.
    resumed.fail(scripted::expired());
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list >=5");
    list.page("9", &["a@3"]);
    let watch = rig.server.watch().await.open();
    assert_eq!(rig.store().await, ["a@3"]);
    rig.server.is_left_alone_for(PERIOD / 2).await;
    assert!(watch.is_read());
    rig.informer.shutdown().await;
}

/// A request that finds no watch to end is kept for the next one.
#[tokio::test(start_paused = true)]
async fn a_mismatch_found_while_a_watch_is_opened_is_healed_when_it_is() {
    let options = AuditOptions::every(PERIOD);
    let mut rig = Rig::with(scripted::config(InitialState::List), |builder| {
        builder.audit(options)
    });
    rig.server.list().await.page("5", &["a@3", "b@5"]);
    let watch = rig.server.watch().await.open();
    let audit = rig.server.list().await;
    drop(watch);
    let resumed = rig.server.watch().await;
    audit.page("5", &["a@3"]);
    assert_eq!(rig.scope().await.audit.unwrap().mismatches, 1);

    let _watch = resumed.open();
    let list = rig.server.list().await;
    assert_eq!(list.to_string(), "list newest limit 500");
    list.page("9", &["a@3"]);
    let _watch = rig.server.watch().await.open();
    assert_eq!(rig.store().await, ["a@3"]);
    rig.informer.shutdown().await;
}
