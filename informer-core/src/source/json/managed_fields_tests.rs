//! Tests of the adaptor with every sort of type.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1",
    "metadata":{"name":"a \u00e9","managedFields":[{"manager":"x","fieldsV1":{"f:metadata":{}}}],
        "labels":{"managedFields":"stays"},
        "creationTimestamp":null,"finalizers":["one"]},
    "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"metadata","value":"managedFields"}]}]},
    "status":{"metadata":{"managedFields":["stays"]},"phase":"Running"}}"#;

fn decode<T: DeserializeOwned>(json: &str, managed_fields: ManagedFields) -> Result<T, serde_json::Error> {
    let policy = Policy {
        managed_fields,
        expected: None,
        fallback: None,
        mismatch: Cell::new(false),
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = T::deserialize(policy.filter(&mut deserializer))?;
    deserializer.end()?;
    Ok(value)
}

/// Checks that the adaptor changes nothing but the managed fields of the root.
fn check<T: DeserializeOwned + Serialize>(json: &str) {
    let mut plain = serde_json::to_value(serde_json::from_str::<T>(json).unwrap()).unwrap();
    let kept = serde_json::to_value(decode::<T>(json, ManagedFields::Keep).unwrap()).unwrap();
    assert_eq!(kept, plain, "kept");
    let dropped = serde_json::to_value(decode::<T>(json, ManagedFields::Drop).unwrap()).unwrap();
    let removed = plain["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert!(removed.is_some(), "the plain decoder keeps managed fields");
    assert_eq!(dropped, plain, "dropped");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Custom {
    kind: Option<String>,
    api_version: Version,
    metadata: Option<ObjectMeta>,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Version(String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    mode: Mode,
    untagged: Untagged,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Mode {
    Plain,
    WithData { value: u8 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
}

#[test]
fn only_the_managed_fields_of_the_root_are_dropped() {
    check::<Pod>(POD);
    check::<DynamicObject>(POD);
    check::<PartialObjectMeta<Pod>>(POD);
    check::<serde_json::Value>(POD);
}

#[test]
fn flattened_fields_enums_and_options_work() {
    for mode in [r#""Plain""#, r#"{"WithData":{"value":7}}"#] {
        for untagged in ["5", r#""text""#] {
            check::<Custom>(&format!(
                r#"{{"kind":"Custom","apiVersion":"x/v1","untagged":{untagged},"mode":{mode},
                    "metadata":{{"name":"a","managedFields":[]}}}}"#
            ));
        }
    }
}

#[test]
fn metadata_of_an_unusual_type_is_passed_on() {
    let json = r#"{"metadata":[{"managedFields":[]}]}"#;
    assert_eq!(
        decode::<serde_json::Value>(json, ManagedFields::Drop)
            .unwrap()
            .to_string(),
        json
    );
    assert!(decode::<Pod>(json, ManagedFields::Drop).is_err());
}

#[test]
fn strings_without_escapes_are_borrowed() {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        kind: &'a str,
        #[serde(borrow)]
        metadata: std::collections::BTreeMap<&'a str, &'a str>,
    }
    let json = r#"{"kind":"K","metadata":{"name":"a","managedFields":"b"}}"#;
    let expected = ExpectedType {
        kind: "K".to_owned(),
        api_version: "v1".to_owned(),
    };
    let policy = Policy {
        managed_fields: ManagedFields::Drop,
        expected: Some(&expected),
        fallback: None,
        mismatch: Cell::new(false),
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let object = Borrowed::deserialize(policy.filter(&mut deserializer)).unwrap();
    assert_eq!((object.kind, object.metadata), ("K", [("name", "a")].into()));
}

/// Whether a decoder that expects `x/v1` `Custom` accepts this.
fn check_type<T: DeserializeOwned>(types: &str, is_accepted: bool) {
    let json = format!(r#"{{{types}"metadata":{{"name":"a"}},"mode":"Plain","untagged":1}}"#);
    let expected = ExpectedType {
        kind: "Custom".to_owned(),
        api_version: "x/v1".to_owned(),
    };
    let policy = Policy {
        managed_fields: ManagedFields::Drop,
        expected: Some(&expected),
        fallback: None,
        mismatch: Cell::new(false),
    };
    let outcome = T::deserialize(policy.filter(&mut serde_json::Deserializer::from_str(&json)));
    assert_eq!(
        (outcome.is_ok(), policy.mismatch.get()),
        (is_accepted, !is_accepted),
        "{json}"
    );
}

#[test]
fn a_wrong_kind_or_version_is_an_error_and_a_missing_one_is_not() {
    #[derive(Deserialize)]
    struct Untyped {
        #[expect(dead_code, reason = "only decoded")]
        metadata: ObjectMeta,
    }
    check_type::<Untyped>("", true);
    check_type::<Untyped>(r#""kind":"Custom","apiVersion":"x/v1","#, true);
    check_type::<Untyped>(r#""kind":"","apiVersion":null,"#, true);
    check_type::<Untyped>(r#""kind":"Other","apiVersion":"x/v1","#, false);
    check_type::<Untyped>(r#""apiVersion":"x/v2","#, false);
    check_type::<Custom>(r#""apiVersion":"x/v1","#, true);
    check_type::<Custom>(r#""kind":null,"apiVersion":"x\/v1","#, true);
    check_type::<Custom>(r#""kind":"Custom","apiVersion":"y/v1","#, false);
    check_type::<DynamicObject>(r#""kind":"Custom","apiVersion":"x/v1","#, true);
    check_type::<DynamicObject>(r#""kind":"Other","apiVersion":"x/v1","#, false);
}

#[test]
fn absent_types_are_added() {
    let fallback = TypeMeta {
        api_version: "x/v1".to_owned(),
        kind: "Custom".to_owned(),
    };
    let policy = Policy {
        managed_fields: ManagedFields::Drop,
        expected: None,
        fallback: Some(TypeNames::from(&fallback)),
        mismatch: Cell::new(false),
    };
    for (types, expected) in [
        ("", ("Custom", "x/v1")),
        (r#""kind":"Own","#, ("Own", "x/v1")),
        (r#""kind":"Own","apiVersion":"y/v1","#, ("Own", "y/v1")),
    ] {
        let json = format!(r#"{{{types}"metadata":{{"name":"a","labels":{{"l":"v"}}}}}}"#);
        let object =
            DynamicObject::deserialize(policy.filter(&mut serde_json::Deserializer::from_str(&json)))
                .unwrap();
        let types = object.types.expect("they are added");
        assert_eq!(
            (types.kind.as_str(), types.api_version.as_str()),
            expected,
            "{json}"
        );
        assert_eq!(object.data, serde_json::json!({}), "{json}");
    }
}
