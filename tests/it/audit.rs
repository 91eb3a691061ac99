//! Self-audit: a sound cache passes, a wrong one is found, told and healed, and what says nothing is no verdict.

mod rig;

use std::time::Duration;

use informer_core::{
    AuditOptions, AuditOutcome, AuditSkipped, InitialState, SharedInformer, SharedInformerBuilder,
};
use informer_testing::{ApiServer, Fault, Garble, Rule, Verb, VersionFormat};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};

use crate::scripted::{self, Rig};
use crate::support::{
    Door, Heard, believed, item, item_in, items, quiet, server_with, settled, start, tasks,
};
use rig::{Audited, Errors, HOUR, PERIOD, churn, exact_lists, is_exact, tell};

fn maps(server: &ApiServer) -> SharedInformerBuilder<ConfigMap> {
    SharedInformer::builder(server.client())
}

#[tokio::test(start_paused = true)]
async fn a_sound_cache_passes_and_status_tells_of_it() {
    let server = server_with(&["a", "b", "c"]);
    let audited = Audited::start(maps(&server)).await;
    tokio::time::sleep(HOUR).await;
    let reports = audited.reports.take();
    assert!(
        (40..=60).contains(&reports.len()),
        "{} audits in an hour",
        reports.len()
    );
    for report in &reports {
        assert_eq!(tell(report), "sound 3");
        assert_eq!(report.resource, "configmaps");
    }
    let status = audited.status();
    assert_eq!(
        (status.audits as usize, status.mismatches, status.skipped),
        (reports.len(), 0, 0)
    );
    assert_eq!(
        status.last.unwrap().version,
        audited.informer.last_sync_resource_version()
    );
    assert_eq!(
        audited.informer.status().scopes[0].counts.lists,
        1,
        "nothing was read again"
    );
    assert_eq!(exact_lists(&server), reports.len());
    audited.informer.shutdown().await;
}

/// Whatever an informer covers, and however it reads it, while objects come, change, go, and change their labels.
async fn check_sound_under_writes<K>(
    change: impl FnOnce(SharedInformerBuilder<K>) -> SharedInformerBuilder<K>,
    dynamic: K::DynamicType,
) where
    K: informer_core::Object + serde::de::DeserializeOwned,
    K::DynamicType: Clone,
{
    let server = ApiServer::start();
    let builder = SharedInformer::<K>::builder_with(server.client(), dynamic);
    let audited = Audited::start(change(builder)).await;
    churn(&server, HOUR / 3).await;
    let reports = audited.reports.take();
    assert!(reports.len() >= 13, "{} audits in twenty minutes", reports.len());
    for report in &reports {
        assert!(matches!(report.outcome, AuditOutcome::Sound), "{report:?}");
    }
    assert!(
        reports.iter().any(|report| report.compared > 3),
        "there was something to compare"
    );
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_sound_cache_passes_under_constant_writes() {
    check_sound_under_writes::<ConfigMap>(|builder| builder, ()).await;
    check_sound_under_writes::<ConfigMap>(|builder| builder.initial_state(InitialState::List), ()).await;
}

#[tokio::test(start_paused = true)]
async fn versions_that_are_not_numbers_are_audited_too() {
    let server = ApiServer::builder().versions(VersionFormat::Opaque).start();
    let audited = Audited::start(maps(&server)).await;
    churn(&server, HOUR / 3).await;
    for report in &audited.reports.take() {
        assert!(matches!(report.outcome, AuditOutcome::Sound), "{report:?}");
    }
    assert!(audited.status().audits >= 13);
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn each_of_several_namespaces_is_audited_at_its_own_version() {
    check_sound_under_writes::<ConfigMap>(|builder| builder.namespaces(["a", "a-b"]), ()).await;
}

#[tokio::test(start_paused = true)]
async fn an_audit_asks_with_the_selectors_of_the_informer() {
    check_sound_under_writes::<ConfigMap>(|builder| builder.labels("tier=front"), ()).await;
    check_sound_under_writes::<ConfigMap>(|builder| builder.fields("metadata.namespace!=b"), ()).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_only_and_dynamic_informers_are_audited_too() {
    check_sound_under_writes::<PartialObjectMeta<ConfigMap>>(|builder| builder, ()).await;
    check_sound_under_writes::<DynamicObject>(|builder| builder, ApiResource::erase::<ConfigMap>(&())).await;
}

#[tokio::test(start_paused = true)]
async fn an_audit_reads_pages_of_one_version() {
    let server = server_with(&["a", "b", "c", "d", "e"]);
    let options = AuditOptions::every(PERIOD).page_size(2);
    let audited = Audited::start_with(maps(&server), options).await;
    let report = audited.next().await;
    assert_eq!(tell(&report), "sound 5");
    let requests = server
        .requests()
        .filtered(|request| is_exact(request) || request.parameter("continue").is_some());
    let limits: Vec<_> = requests
        .iter()
        .map(|request| request.parameter("limit"))
        .collect();
    assert_eq!(limits, [Some("2"); 3]);
    audited.informer.shutdown().await;
}

/// Loses the events that `happening` causes, and checks what the next audit says and what follows from it.
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
    let heard = Heard::new();
    let builder = maps(&server);
    let audited = Audited::start(builder).await;
    heard.add_to(&audited.informer);
    quiet(&audited.informer).await;

    happening(&server);
    let report = audited.next_mismatch().await;
    assert_eq!(tell(&report), expected);
    let logged = errors.take();
    assert_eq!(logged.len(), 1, "{logged:?}");
    let (_, differences) = expected.split_once(": ").unwrap();
    assert!(logged[0].contains(differences), "{logged:?}");

    settled(&audited.informer, &server).await;
    let held: Vec<String> = server
        .objects::<ConfigMap>()
        .iter()
        .map(crate::support::label)
        .collect();
    assert_eq!(items(&audited.informer), held);
    assert_eq!(believed(&heard.events()), held);
    let told = heard.take();
    assert_eq!(told[3..], *story, "what was heard after the initial additions");

    let healed = audited.next().await;
    assert_eq!(tell(&healed), format!("sound {}", held.len()));
    let status = audited.status();
    assert_eq!(status.mismatches, 1);
    assert_eq!(tell(&status.last_mismatch.unwrap()), expected);
    assert_eq!(tell(&status.last.unwrap()), tell(&healed));
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
async fn an_object_replaced_unseen_is_told_as_a_deletion_and_an_addition() {
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
    assert_eq!(tell(&report), "mismatch of 2: 1 (web/lost) missing");
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

/// Answers every audit with this fault, and checks that it is skipped for the right reason and changes nothing.
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
    assert_eq!(tell(&after), "sound 1", "after {fault:?}");
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
        |reason| matches!(reason, AuditSkipped::Timeout { after } if *after == rig::TIMEOUT),
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
    // The watch looks at it, finds nothing to tell, and goes on; the cache stays where it was.
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
async fn an_informer_that_is_not_live_asks_nothing() {
    let server = server_with(&["a"]);
    let door = Door::default();
    let audited = Audited::start(SharedInformer::<ConfigMap>::builder(door.client(&server))).await;
    door.shut(503, "ServiceUnavailable");
    server.close_watches();
    server.clear_requests();
    let report = audited.next().await;
    assert!(
        matches!(&report.outcome, AuditOutcome::Skipped(AuditSkipped::NotLive)),
        "{report:?}"
    );
    door.open();
    assert_eq!(tell(&audited.next().await), "sound 1");
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_known_to_be_old_is_left_out() {
    let server = server_with(&["a", "b"]);
    let fault = Fault::GarbleEvent {
        kind: informer_testing::EventType::Modified,
        index: 0,
        garble: Garble::Content,
    };
    server.faults().add(Rule::new(fault).on(Verb::Watch).once());
    let audited = Audited::start(maps(&server)).await;
    server.update(&item("a", "2")).unwrap();
    let report = audited.next().await;
    assert_eq!((tell(&report).as_str(), report.left_out), ("sound 1", 1));
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
    crate::support::unseen(&server, || drop(server.create(&item("c", "1")).unwrap()));
    settled(&audited.informer, &server).await;
    assert_eq!(tell(&audited.next().await), "sound 3");
    audited.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_option_nothing_is_asked() {
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
async fn a_busy_server_is_left_alone_for_as_long_as_it_asks_and_ever_longer() {
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
    // Sixteen minutes at least, once it has come back four times.
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

/// A source of the user's own is asked for whole objects, and may panic.
#[tokio::test(start_paused = true)]
async fn a_source_that_knows_no_identities_is_audited_by_its_lists() {
    let options = AuditOptions::every(PERIOD);
    let mut rig = Rig::with(scripted::config(InitialState::List), |builder| {
        builder.audit(options)
    });
    rig.server.list().await.page("5", &["a@3", "b@5"]);
    let watch = rig.server.watch().await.open();
    let outcome = |scope: informer_core::ScopeStatus| tell(&scope.audit.unwrap().last.unwrap());

    let audit = rig.server.list().await;
    assert_eq!(audit.to_string(), "list =5 limit 500");
    audit.page("5", &["b@5", "a@3"]);
    assert_eq!(outcome(rig.scope().await), "sound 2");

    rig.server.list().await.panic();
    assert!(outcome(rig.scope().await).contains("the source panicked"));

    // It answers with whatever it has: that is no verdict.
    rig.server.list().await.page("7", &["a@7"]);
    assert_eq!(
        outcome(rig.scope().await),
        "skipped: version 5 was asked for and 7 answered"
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
