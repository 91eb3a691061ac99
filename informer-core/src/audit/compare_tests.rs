//! Comparisons of small lists with small stores, through one `check`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::store;

/// Parses `web/a@7`; `web/a@` has no version.
fn read(text: &str) -> (ObjectKey, Option<&str>) {
    let (key, version) = text.split_once('@').unwrap();
    (
        key.parse().unwrap(),
        Some(version).filter(|version| !version.is_empty()),
    )
}

fn object(key: &ObjectKey, version: Option<&str>) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(key.name().to_owned()),
            namespace: key.namespace().map(str::to_owned),
            resource_version: version.map(str::to_owned),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn compare(
    scope: Scope,
    cached: &[&str],
    stale: &[&str],
    listed: &[&str],
) -> Result<ComparisonResult, AuditSkipped> {
    let (mut writer, indexer) = store::new::<ConfigMap>();
    let mut commit = writer.begin();
    for (key, version) in cached.iter().map(|text| read(text)) {
        commit.upsert(key.clone(), Arc::new(object(&key, version)));
    }
    for key in stale {
        commit.mark_stale(&key.parse().unwrap(), "garbled");
    }
    commit.publish();
    let mut comparison = Comparison::new(TypedScopeStore { indexer, scope }.snapshot());
    for (key, version) in listed.iter().map(|text| read(text)) {
        comparison.listed(Identity {
            key: Some(key),
            version: version.map(ResourceVersion::new),
            uid: None,
        })?;
    }
    Ok(comparison.finish())
}

/// `expected` is the number of compared objects, the number left out, and the mismatch as text.
fn check(scope: Scope, cached: &[&str], stale: &[&str], listed: &[&str], expected: (u64, u64, &str)) {
    let found = compare(scope, cached, stale, listed).unwrap();
    assert_eq!(
        (
            found.compared,
            found.left_out,
            found.mismatch.to_string().as_str()
        ),
        expected,
        "{cached:?}, stale {stale:?}, against {listed:?}"
    );
}

#[test]
fn equal_sets_are_sound_in_any_order() {
    let cached = ["a/x@1", "a/z@2", "a-b/x@3", "n@4"];
    check(
        Scope::All,
        &cached,
        &[],
        &["a-b/x@3", "a/x@1", "a/z@2", "n@4"],
        (4, 0, ""),
    );
    check(
        Scope::All,
        &cached,
        &[],
        &["n@4", "a/z@2", "a-b/x@3", "a/x@1"],
        (4, 0, ""),
    );
    check(Scope::All, &[], &[], &[], (0, 0, ""));
}

#[test]
fn each_kind_of_difference_is_reported() {
    check(
        Scope::All,
        &["a/x@1"],
        &[],
        &["a/x@1", "a/y@2"],
        (2, 0, "1 (a/y) missing"),
    );
    check(
        Scope::All,
        &["a/x@1", "a/y@2"],
        &[],
        &["a/x@1"],
        (2, 0, "1 (a/y) extra"),
    );
    check(
        Scope::All,
        &["a/x@1"],
        &[],
        &["a/x@2"],
        (1, 0, "1 (a/x) at another version"),
    );
    // An extra object does not cancel a missing one.
    check(
        Scope::All,
        &["a/x@1", "a/y@2"],
        &[],
        &["a/x@1", "a/z@2"],
        (3, 0, "1 (a/z) missing, 1 (a/y) extra"),
    );
}

#[test]
fn only_the_audited_scope_is_compared() {
    let cached = ["a/x@1", "b/x@2", "b/y@3"];
    check(Scope::of(Some("a")), &cached, &[], &["a/x@1"], (1, 0, ""));
    check(
        Scope::of(Some("b")),
        &cached,
        &[],
        &["b/x@2"],
        (2, 0, "1 (b/y) extra"),
    );
    check(Scope::of(Some("c")), &cached, &[], &[], (0, 0, ""));
}

#[test]
fn stale_objects_and_objects_without_version_are_left_out() {
    check(
        Scope::All,
        &["a/x@1", "a/y@2"],
        &["a/x"],
        &["a/x@9", "a/y@2"],
        (1, 1, ""),
    );
    check(Scope::All, &["a/y@2"], &["a/x"], &["a/x@9", "a/y@2"], (1, 1, ""));
    check(Scope::All, &["a/x@1", "a/y@2"], &["a/x"], &["a/y@2"], (1, 0, ""));
    // A transform removed the version, or the source has none.
    check(Scope::All, &["a/x@"], &[], &["a/x@9"], (0, 1, ""));
    check(Scope::All, &["a/x@1"], &[], &["a/x@"], (0, 1, ""));
}

#[test]
fn an_invalid_list_is_no_mismatch() {
    let twice = compare(Scope::All, &["a/x@1"], &[], &["a/x@1", "a/x@1"]);
    assert!(matches!(twice, Err(AuditSkipped::Failed(_))), "{twice:?}");

    let (_writer, indexer) = store::new::<ConfigMap>();
    let scope = Scope::All;
    let mut comparison = Comparison::new(TypedScopeStore { indexer, scope }.snapshot());
    let nameless = comparison.listed(Identity::default());
    assert!(matches!(nameless, Err(AuditSkipped::Unreadable)), "{nameless:?}");
}
