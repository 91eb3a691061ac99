//! Self-audit: a correct cache passes, a wrong one is detected, reported and repaired, and inconclusive
//! audits are skipped.

mod found;
mod limits;
mod rig;
mod skipped;

use informer_core::{
    AuditOptions, AuditOutcome, InitialState, Object, SharedInformer, SharedInformerBuilder,
};
use informer_testing::{ApiServer, VersionFormat};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;

use crate::support::server_with;
pub(crate) use rig::Errors;
use rig::{Audited, HOUR, PERIOD, churn, describe, exact_lists, is_exact, maps};

#[tokio::test(start_paused = true)]
async fn a_correct_cache_passes_and_status_reports_it() {
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
        assert_eq!(describe(report), "sound 3");
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

/// For every scope and every way of reading, while objects are created, changed, relabelled and deleted.
async fn check_sound_under_writes<K>(
    change: impl FnOnce(SharedInformerBuilder<K>) -> SharedInformerBuilder<K>,
    dynamic: K::DynamicType,
) where
    K: Object + DeserializeOwned,
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
async fn an_audit_uses_the_selectors_of_the_informer() {
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
    assert_eq!(describe(&report), "sound 5");
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
