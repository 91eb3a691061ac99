//! Tests of the lenient reading of metadata.

use super::*;

fn check(json: &str, key: Option<&str>, version: Option<&str>, uid: Option<&str>) {
    let identity = Sketch::read(json.as_bytes()).identity();
    assert_eq!(identity.key.map(|key| key.to_string()).as_deref(), key, "{json}");
    assert_eq!(identity.version, version.map(ResourceVersion::new), "{json}");
    assert_eq!(identity.uid.as_deref(), uid, "{json}");
}

#[test]
fn readable_metadata_is_read() {
    check(
        r#"{"spec":[{}],
            "metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","labels":{"x":1}}}"#,
        Some("ns/a"),
        Some("7"),
        Some("u"),
    );
    check(r#"{"metadata":{"name":"a"}}"#, Some("a"), None, None);
    check(
        r#"{"metadata":{"name":"a","namespace":null,"uid":5,"resourceVersion":{}}}"#,
        Some("a"),
        None,
        None,
    );
    check(
        r#"{"metadata":{"name":["a"],"resourceVersion":"7"}}"#,
        None,
        Some("7"),
        None,
    );
}

#[test]
fn names_and_versions_are_read_of_any_kind() {
    check(
        r#"{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"web","resourceVersion":"7"}}"#,
        Some("web/a"),
        Some("7"),
        None,
    );
    check(
        r#"{"kind":"Node","metadata":{"name":"n","resourceVersion":"8"},"spec":{"podCIDR":1}}"#,
        Some("n"),
        Some("8"),
        None,
    );
    check(r#"{"metadata":{"namespace":"web"}}"#, None, None, None);
}

#[test]
fn an_oversized_uid_is_ignored() {
    let uid = "u".repeat(UID_LIMIT);
    let json = |uid: &str| format!(r#"{{"metadata":{{"name":"a","uid":"{uid}"}}}}"#);
    check(&json(&uid), Some("a"), None, Some(&uid));
    check(&json(&format!("{uid}u")), Some("a"), None, None);
}

#[test]
fn a_namespace_that_is_not_a_string_leaves_no_key() {
    for namespace in ["5", "-5", "1.5", "true", "{}", r#"{"a":"b"}"#, "[]", r#"["a"]"#] {
        let json = format!(r#"{{"metadata":{{"name":"a","namespace":{namespace}}}}}"#);
        check(&json, None, None, None);
    }
}

#[test]
fn values_that_are_not_objects_have_no_identity() {
    for json in [
        "5",
        "null",
        "[]",
        "\"a\"",
        "1.5",
        "true",
        "",
        "{",
        r#"{"metadata":"x"}"#,
        r#"{"metadata":[]}"#,
    ] {
        check(json, None, None, None);
    }
}

#[test]
fn errors_after_the_metadata_are_ignored_and_errors_within_are_not() {
    check(r#"{"metadata":{"name":"a"},"spec":{]"#, Some("a"), None, None);
    check(r#"{"metadata":{"name":"a","#, None, None, None);
}

#[test]
fn only_the_string_true_ends_the_initial_events() {
    for (value, expected) in [
        (r#""true""#, true),
        (r#""false""#, false),
        ("true", false),
        ("null", false),
    ] {
        let json = format!(r#"{{"metadata":{{"annotations":{{"k8s.io/initial-events-end":{value}}}}}}}"#);
        assert_eq!(
            Sketch::read(json.as_bytes()).ends_initial_events(),
            expected,
            "{json}"
        );
    }
}

/// Upstream: TestIsUnsupportedTableObject.
#[test]
fn tables_are_recognised() {
    assert!(Sketch::read(br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1"}"#).is_table());
    assert!(Sketch::read(br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1beta1"}"#).is_table());
    assert!(!Sketch::read(br#"{"kind":"Table","apiVersion":"furniture.example/v1"}"#).is_table());
    assert!(!Sketch::read(br#"{"kind":"Pod"}"#).is_table());
}
