//! Objects decoded from protobuf equal those decoded from the server's JSON, for every built-in kind.
//!
//! The corpus of a release has a few random objects of each kind, written by `informer-gen/protobuf-dump`
//! (`cargo xtask codegen --protobuf`). `PROTOBUF_CORPUS` names a larger one: `cd informer-gen/protobuf-dump
//! && go run . corpus 150 > corpus.txt`.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informer_core::source::ManagedFields;
use k8s_openapi::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[rustfmt::skip]
mod kinds;

/// Receives every kind.
trait Visitor {
    fn visit<K: Resource + Debug + DeserializeOwned + PartialEq + Serialize + 'static>(&mut self);
}

/// One object in both formats.
struct Sample {
    /// Without its envelope.
    protobuf: Vec<u8>,
    json: String,
}

/// The random objects of the release whose types are compiled.
const CHECKED_IN: &str = {
    const NEWEST: &str = include_str!("corpus-1.37.txt");
    const BEFORE_1_37: &str = include_str!("corpus-1.36.txt");
    const BEFORE_1_36: &str = include_str!("corpus-1.35.txt");
    const BEFORE_1_35: &str = include_str!("corpus-1.34.txt");
    const BEFORE_1_34: &str = include_str!("corpus-1.33.txt");
    if cfg!(k8s_at_least_1_37) {
        NEWEST
    } else if cfg!(k8s_at_least_1_36) {
        BEFORE_1_37
    } else if cfg!(k8s_at_least_1_35) {
        BEFORE_1_36
    } else if cfg!(k8s_at_least_1_34) {
        BEFORE_1_35
    } else {
        BEFORE_1_34
    }
};

type Corpus = BTreeMap<(String, String), Vec<Sample>>;

fn corpus() -> Corpus {
    let text = match std::env::var_os("PROTOBUF_CORPUS") {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => CHECKED_IN.to_owned(),
    };
    let mut corpus = Corpus::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.splitn(4, ' ').collect();
        let [api_version, kind, protobuf, json] = cells[..] else {
            panic!("a line of the corpus has {} columns", cells.len());
        };
        let key = (api_version.to_owned(), kind.to_owned());
        corpus.entry(key).or_default().push(Sample {
            protobuf: open(&STANDARD.decode(protobuf).unwrap()),
            json: json.to_owned(),
        });
    }
    corpus
}

/// Takes an object out of its envelope: field 2 of the message after four magic bytes.
fn open(envelope: &[u8]) -> Vec<u8> {
    let mut rest = envelope.strip_prefix(b"k8s\0").unwrap();
    let varint = |rest: &mut &[u8]| {
        let length = rest.iter().position(|byte| *byte < 0x80).unwrap() + 1;
        let (bytes, after) = rest.split_at(length);
        *rest = after;
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f))
    };
    loop {
        let tag = varint(&mut rest);
        let length = varint(&mut rest);
        let (value, after) = rest.split_at(length);
        rest = after;
        if tag == 0x12 {
            return value.to_vec();
        }
    }
}

#[derive(Default)]
struct Comparison {
    corpus: Corpus,
    kinds: usize,
    equal: usize,
    /// Objects whose JSON the type rejects, such as a condition without a time.
    rejected: usize,
    different: Vec<String>,
}

impl Visitor for Comparison {
    fn visit<K: Resource + Debug + DeserializeOwned + PartialEq + Serialize + 'static>(&mut self) {
        let decode = informer_protobuf::decoder::<K>().expect("every kind has a decoder");
        let key = (K::API_VERSION.to_owned(), K::KIND.to_owned());
        self.kinds += 1;
        for (number, sample) in self.corpus.remove(&key).unwrap_or_default().iter().enumerate() {
            let name = format!("{} {} {number}", K::API_VERSION, K::KIND);
            let Ok(expected) = serde_json::from_str::<K>(&sample.json) else {
                self.rejected += 1;
                continue;
            };
            match decode(&sample.protobuf, ManagedFields::Keep) {
                Ok(found) if found == expected => self.equal += 1,
                Ok(found) => {
                    let (found, expected) = (value(&found), value(&expected));
                    let place = difference("", &found, &expected).unwrap_or_default();
                    self.different.push(format!("{name}: {place}"));
                }
                Err(error) => self.different.push(format!("{name}: {error}")),
            }
        }
    }
}

fn value(object: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(object).unwrap()
}

/// The path of the first difference, and both values there.
fn difference(path: &str, found: &serde_json::Value, expected: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Null, Object};
    match (found, expected) {
        (Object(found), Object(expected)) => found.keys().chain(expected.keys()).find_map(|key| {
            let value = |map: &serde_json::Map<_, _>| map.get(key).cloned().unwrap_or(Null);
            difference(&format!("{path}.{key}"), &value(found), &value(expected))
        }),
        (Array(found), Array(expected)) if found.len() == expected.len() => {
            let mut pairs = found.iter().zip(expected).enumerate();
            pairs.find_map(|(index, (found, expected))| {
                difference(&format!("{path}[{index}]"), found, expected)
            })
        }
        _ if found == expected => None,
        _ => Some(format!("{path}: {found} instead of {expected}")),
    }
}

#[test]
fn protobuf_and_json_give_equal_objects_of_every_kind() {
    let mut comparison = Comparison {
        corpus: corpus(),
        ..Comparison::default()
    };
    kinds::every_kind(&mut comparison);
    let Comparison {
        kinds,
        equal,
        rejected,
        different,
        ..
    } = comparison;
    assert!(
        different.is_empty(),
        "{} of {} objects differ:\n{}",
        different.len(),
        equal + different.len(),
        different.join("\n")
    );
    // A kind without objects, or objects that are all rejected, would prove nothing.
    assert!(
        equal >= 2 * kinds,
        "only {equal} objects of {kinds} kinds were compared"
    );
    assert!(
        rejected * 10 <= equal,
        "{rejected} objects were rejected by JSON, {equal} compared"
    );
    println!("{kinds} kinds: {equal} objects equal, {rejected} rejected by JSON");
}
