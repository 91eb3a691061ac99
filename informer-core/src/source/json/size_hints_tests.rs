//! Tests of the numbers of elements that types receive, and of the lists they make of them.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, Visitor};
use serde_json::value::RawValue;

use super::*;
use crate::source::json::managed_fields::Policy;
use crate::source::{Decode as _, DecodeError, JsonDecoder, ManagedFields};

fn decode<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    let policy = Policy {
        managed_fields: ManagedFields::Keep,
        expected: None,
        fallback: None,
        mismatch: Cell::new(false),
    };
    let hints = SizeHints::of(json);
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = T::deserialize(policy.filter(hints.add(&mut deserializer)))?;
    deserializer.end()?;
    Ok(value)
}

fn decode_pod(json: &str, managed_fields: ManagedFields) -> Result<Pod, DecodeError> {
    JsonDecoder::of::<Pod>(&(), managed_fields).decode(json.as_bytes())
}

#[track_caller]
fn check_list<T>(list: &Option<Vec<T>>, length: usize) {
    let list = list.as_ref().expect("it is in the object");
    assert_eq!((list.len(), list.capacity()), (length, length));
}

/// With arrays that the type does not know, before those that it knows.
const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","unknown":[[1,2],{"list":[1,2,3],"containers":[1,2,3]}],
    "metadata":{
        "managedFields":[{"manager":"x","fieldsV1":{"a":[1,2,3]}},{"manager":"]\",["},{"manager":"y"}],
        "name":"a","finalizers":["one","t\u0077o, and ]","three"],"ownerReferences":[]},
    "spec":{"unknown":[1,2,3,4,5,6,7],"containers":[
            {"name":"c","args":["1","2","3","4","5"],"unknown":{"env":[1]},"env":[{"name":"a","value":"b"}],
                "ports":[{"containerPort":1},{"containerPort":2}]},
            {"name":"d","command":["\\"],"args":[]},
            {"name":"e"}],
        "volumes" : [ {"name":"v","projected":{"sources":[{},{},
            {"configMap":{"items":[{"key":"k","path":"p"}]}}]}} ]},
    "status":{"conditions":[{"type":"a","status":"b"},{"type":"c","status":"d"}]}}"#;

#[test]
fn lists_of_a_pod_have_no_unused_capacity() {
    for managed_fields in [ManagedFields::Drop, ManagedFields::Keep] {
        let pod = decode_pod(POD, managed_fields).expect("it is a Pod");
        assert_eq!(
            pod.metadata.managed_fields.is_some(),
            managed_fields == ManagedFields::Keep
        );
        if managed_fields == ManagedFields::Keep {
            check_list(&pod.metadata.managed_fields, 3);
        }
        check_list(&pod.metadata.finalizers, 3);
        check_list(&pod.metadata.owner_references, 0);
        let spec = pod.spec.expect("it has a spec");
        assert_eq!((spec.containers.len(), spec.containers.capacity()), (3, 3));
        check_list(&spec.containers[0].args, 5);
        check_list(&spec.containers[0].env, 1);
        check_list(&spec.containers[0].ports, 2);
        check_list(&spec.containers[1].command, 1);
        check_list(&spec.containers[1].args, 0);
        check_list(&spec.volumes, 1);
        let projected = spec.volumes.expect("they are checked")[0].projected.clone();
        check_list(&projected.expect("it is projected").sources, 3);
        check_list(&pod.status.expect("it has a status").conditions, 2);
    }
}

/// The number of elements that the type receives before it reads an array.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hint(Option<usize>);

impl<'de> Deserialize<'de> for Hint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(HintVisitor)
    }
}

struct HintVisitor;

impl<'de> Visitor<'de> for HintVisitor {
    type Value = Hint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Hint, A::Error> {
        let hint = seq.size_hint();
        let mut remaining = hint;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            remaining = remaining.map(|elements| elements - 1);
            assert_eq!(seq.size_hint(), remaining);
        }
        Ok(Hint(hint))
    }
}

#[derive(Deserialize)]
struct Nothing {}

#[test]
fn values_of_keys_have_a_hint_and_elements_have_none() {
    #[derive(Deserialize)]
    struct Custom {
        plain: Hint,
        newtype: Newtype,
        option: Option<Hint>,
        texts: BTreeMap<String, Hint>,
        numbers: BTreeMap<u8, Hint>,
        elements: Vec<Hint>,
        after_ignored: Vec<(Nothing, Hint)>,
    }
    #[derive(Deserialize)]
    struct Newtype(Option<Hint>);
    let custom: Custom = decode(
        r#"{"ignored":[[1],{"plain":[]}],"plain":[1,[2],3],"newtype":[1,2],"option":[1],
            "texts":{"a":[1],"\u0062":[1,2,3],"c":[1,2]},"numbers":{"1":[1,2]},
            "elements":[[1],[1,2]],"after_ignored":[[{"k":[1,2,3]},[4]]]}"#,
    )
    .expect("it is valid");
    assert_eq!(custom.plain, Hint(Some(3)));
    assert_eq!(custom.newtype.0, Some(Hint(Some(2))));
    assert_eq!(custom.option, Some(Hint(Some(1))));
    let texts = [("a", Some(1)), ("b", None), ("c", Some(2))].map(|(key, hint)| (key.to_owned(), Hint(hint)));
    assert_eq!(custom.texts, texts.into());
    assert_eq!(custom.numbers, [(1, Hint(None))].into());
    assert_eq!((custom.elements.len(), custom.elements.capacity()), (2, 2));
    assert_eq!(custom.elements, [Hint(None), Hint(None)]);
    assert_eq!(custom.after_ignored[0].1, Hint(None));
}

#[test]
fn values_that_are_buffered_or_read_in_an_unusual_way_do_not_affect_others() {
    #[derive(Deserialize)]
    struct Custom {
        raw: Box<RawValue>,
        value: serde_json::Value,
        untagged: Untagged,
        mode: Mode,
        inner: Outer,
        last: Hint,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        #[expect(dead_code, reason = "only decoded")]
        Numbers(Vec<u64>),
        Texts(Vec<String>),
    }
    #[derive(Deserialize)]
    enum Mode {
        List(Hint),
    }
    #[derive(Deserialize)]
    struct Outer {
        first: Hint,
        #[serde(flatten)]
        flat: Flat,
    }
    #[derive(Deserialize)]
    struct Flat {
        list: Vec<String>,
        hint: Hint,
    }
    let custom: Custom = decode(
        r#"{"raw":{"a":[1,2,3]},"value":{"a":[1,[2]]},"untagged":["a","b","c"],"mode":{"List":[1,2]},
            "inner":{"list":["a","b","c"],"first":[1,2],"hint":[1]},"last":[{"last":[]},2]}"#,
    )
    .expect("it is valid");
    assert_eq!(custom.raw.get(), r#"{"a":[1,2,3]}"#);
    assert_eq!(custom.value, serde_json::json!({"a": [1, [2]]}));
    assert!(matches!(custom.untagged, Untagged::Texts(texts) if texts.capacity() == 3));
    assert!(matches!(custom.mode, Mode::List(Hint(None))));
    assert_eq!(custom.inner.first, Hint(Some(2)));
    assert_eq!(custom.inner.flat.list.capacity(), 3);
    // A buffered value knows its own size.
    assert_eq!(custom.inner.flat.hint, Hint(Some(1)));
    assert_eq!(custom.last, Hint(Some(2)));
}

#[test]
fn broken_objects_give_the_same_errors_as_without_hints() {
    let plain = |json: &str| serde_json::from_str::<Pod>(json).map_err(|error| error.to_string());
    let hinted = |json: &str| decode::<Pod>(json).map_err(|error| error.to_string());
    for end in (0..POD.len()).filter(|end| POD.is_char_boundary(*end)) {
        assert_eq!(hinted(&POD[..end]), plain(&POD[..end]), "cut at {end}");
        for byte in ["[", "]", "{", "}", "\"", ",", "\\", ":"] {
            let changed = format!("{}{byte}{}", &POD[..end], &POD[end + 1..]);
            assert_eq!(hinted(&changed).is_ok(), plain(&changed).is_ok(), "{changed}");
        }
    }
    for finalizers in [
        ",".repeat(1_000_000),
        "[".repeat(1_000_000),
        "{\"a\":[".repeat(100_000),
    ] {
        for end in ["", "]}}"] {
            let json = format!(r#"{{"metadata":{{"finalizers":[{finalizers}{end}"#);
            assert!(decode_pod(&json, ManagedFields::Drop).is_err());
        }
    }
}

#[test]
fn arrays_in_an_ignored_value_of_any_depth_are_ignored() {
    let deep = format!("{}1{}", r#"{"a":["#.repeat(10_000), "]}".repeat(10_000));
    let json = format!(r#"{{"unknown":{deep},"metadata":{{"name":"a","finalizers":["one"]}}}}"#);
    let pod = decode_pod(&json, ManagedFields::Drop).expect("unknown fields are ignored");
    check_list(&pod.metadata.finalizers, 1);
}
