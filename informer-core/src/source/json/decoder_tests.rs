//! Tests of the decoder and of its errors.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};

use std::sync::Arc;

use super::*;
use crate::key::ObjectKey;
use crate::source::decode::decode_object;
use crate::source::{SourceObject, Undecodable};

fn decode<K: Object<DynamicType = ()> + DeserializeOwned>(json: &[u8]) -> Result<Arc<K>, Undecodable> {
    let decoder = JsonDecoder::of::<K>(&(), ManagedFields::Drop);
    decode_object::<K>(&decoder, json, None).map(SourceObject::into_object)
}

fn check<K: Object<DynamicType = ()> + DeserializeOwned>(json: &str, expected: &str) {
    let reason = decode::<K>(json.as_bytes())
        .map(|_| "decoded")
        .expect_err("this object is broken")
        .reason;
    assert_eq!(reason, expected, "{json}");
}

#[test]
fn errors_name_the_field_and_the_position() {
    check::<Deployment>(
        r#"{"metadata":{"name":"a"},"spec":{"replicas":"three"}}"#,
        "invalid type at spec.replicas (line 1, column 51)",
    );
    check::<Pod>(
        "{\"metadata\":{\"name\":\"a\"},\n\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":[]}]}}",
        "invalid type at spec.containers[1].name (line 2, column 43)",
    );
    check::<Pod>(
        r#"{"metadata":{"name":"a"}"#,
        "it ends too early (line 1, column 24)",
    );
    check::<Pod>(
        r#"{"metadata":{"name":"a"},}"#,
        "it is not valid JSON (line 1, column 26)",
    );
    check::<Pod>(
        r#"{"metadata":{"name":"a"}} x"#,
        "it is not valid JSON (line 1, column 27)",
    );
    check::<Pod>(r#"{"metadata":{}}"#, "it has no name");
    check::<Pod>(r#"{"metadata":{"name":""}}"#, "it has no name");
    check::<Pod>(
        r#"{"kind":"Node","metadata":{"name":"a"}}"#,
        "its kind or apiVersion is not the expected one",
    );
}

#[test]
fn no_error_quotes_a_value() {
    for json in [
        r#"{"metadata":{"name":"a"},"data":"hunter2"}"#,
        r#"{"metadata":{"name":"a"},"data":{"password":"hunter2"}}"#,
        r#"{"metadata":{"name":"a"},"immutable":"hunter2"}"#,
        r#"{"metadata":{"name":"a","creationTimestamp":"hunter2"}}"#,
        r#"{"metadata":{"name":"a","generation":"hunter2"}}"#,
        r#"{"kind":"hunter2","metadata":{"name":"a"}}"#,
        r#"{"metadata":{"name":"a"},"data":{"password":"hunter2"#,
        r#"{"metadata":{"name":"a"},"data":{"hunter2":5}}"#,
        r#"{"metadata":{"name":"a"},"data":{"hunter2":"%"}}"#,
        r#"{"metadata":{"name":"a"},"stringData":{"hunter2":{}}}"#,
        r#"{"metadata":{"name":"a","annotations":{"hunter2":[]}}}"#,
        r#"{"metadata":{"name":"a"},"data":{"hunter2":"#,
        r#"{"metadata":{"name":"a"},"hunter2":{"#,
        r#""hunter2""#,
    ] {
        let undecodable = decode::<Secret>(json.as_bytes()).expect_err("this Secret is broken");
        let text = format!("{undecodable} {undecodable:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn texts_of_custom_deserialize_impls_are_not_printed() {
    use serde::de::Error as _;
    for (text, expected) in [
        ("missing field `spec`", "missing field `spec`"),
        ("missing field `hunter2 and more`", "invalid value"),
        ("unknown variant `hunter2`, expected `a`", "invalid value"),
        (
            "invalid value: string \"hunter2\", expected a date",
            "invalid value",
        ),
        ("invalid type: string \"hunter2\", expected u8", "invalid type"),
        ("hunter2", "invalid value"),
    ] {
        assert_eq!(describe(&serde_json::Error::custom(text)), expected, "{text}");
    }
}

#[test]
fn a_decoder_that_panics_affects_only_its_object() {
    struct Panics;
    impl Decode<Pod> for Panics {
        fn decode(&self, _: &[u8]) -> Result<Pod, DecodeError> {
            panic!("on purpose")
        }
    }
    let undecodable = decode_object(&Panics, br#"{"metadata":{"name":"a"}}"#, None).expect_err("it panics");
    assert_eq!(
        undecodable.to_string(),
        "object a could not be decoded: its decoder panicked"
    );
}

#[test]
fn nesting_too_deep_for_the_decoder_is_an_error_not_a_crash() {
    let json = format!(
        r#"{{"metadata":{{"name":"a"}},"spec":{}1{}}}"#,
        "[".repeat(900),
        "]".repeat(900)
    );
    let decoder = JsonDecoder {
        managed_fields: ManagedFields::Drop,
        expected: None,
    };
    let outcome = decode_object::<kube::core::DynamicObject>(&decoder, json.as_bytes(), None);
    assert_eq!(
        outcome.expect_err("it is too deep").key,
        Some(ObjectKey::cluster("a"))
    );
}
