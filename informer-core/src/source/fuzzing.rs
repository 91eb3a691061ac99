//! What the fuzz targets call: the parsers of the wire on arbitrary bytes, cut arbitrarily, held against simple models.
//!
//! Not part of the API. The targets under `informer-core/fuzz` call one function each; [`run_seeded`] runs all of them on stable,
//! on mutations of the same corpus. Each function panics when an invariant does not hold.
//!
//! The first [`PLAN`] bytes of an input say how the rest is cut and how large a part may be.

use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use kube::core::DynamicObject;

use super::format::Splitter as _;
use super::gzip::{Ending, Gunzip, GzipError, OUTPUT_STEP};
use super::json::internals::{FrameSplitter, ListSplitter, ListValue, decode_event};
use super::{JsonDecoder, ManagedFields, SourceError, WatchEvent};
use crate::key::ObjectKey;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

mod seeded;

/// How many bytes of an input are its plan.
pub const PLAN: usize = 8;

/// One fuzz target: its name, which is also that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 4] = [
    ("frames", frames),
    ("gzip", gzip),
    ("list_splitter", list_splitter),
    ("key_parser", key_parser),
];

/// Runs every target on every file of its corpus and on `iterations` mutations of them. The same seed makes the same
/// mutations. `corpus` is the folder that holds one folder per target.
///
/// Answers how many inputs were run. Panics with the target's name, the seed and the iteration when an invariant does
/// not hold, and when a corpus is missing.
pub fn run_seeded(corpus: &Path, seed: u64, iterations: u32) -> usize {
    TARGETS
        .iter()
        .map(|target| seeded::run(target, corpus, seed, iterations))
        .sum()
}

/// Cuts `input` into plan and body.
fn plan(input: &[u8]) -> (&[u8], &[u8]) {
    input.split_at(input.len().min(PLAN))
}

/// The body cut as the plan says, into pieces of 1 to 32 bytes.
fn pieces<'i>(plan: &[u8], mut body: &'i [u8]) -> Vec<&'i [u8]> {
    let mut sizes = plan.iter().map(|byte| usize::from(byte % 32) + 1).cycle();
    let mut pieces = Vec::new();
    while !body.is_empty() {
        let (piece, rest) = body.split_at(sizes.next().unwrap_or(1).min(body.len()));
        pieces.push(piece);
        body = rest;
    }
    pieces
}

fn limit(plan: &[u8]) -> usize {
    16 + usize::from(plan.first().copied().unwrap_or_default()) * 16
}

/// Watch frames: the same lines however the body is cut, those a plain split finds, never more held than allowed; and
/// no line makes the decoder panic.
pub fn frames(input: &[u8]) {
    let (plan, body) = plan(input);
    let limit = limit(plan);
    let expected = frames_of_model(body, limit);
    assert_eq!(frames_of([body], limit), expected, "whole");
    assert_eq!(frames_of(pieces(plan, body), limit), expected, "in pieces");
    for frame in expected.lines {
        decode(&frame);
    }
}

#[derive(Debug, PartialEq)]
struct Frames {
    lines: Vec<Vec<u8>>,
    is_too_large: bool,
}

fn frames_of<'i>(pieces: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> Frames {
    let mut splitter = FrameSplitter::new(limit);
    let mut lines = Vec::new();
    for piece in pieces {
        splitter.feed(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next() {
                Ok(Some(line)) => lines.push(line.to_vec()),
                Ok(None) => break,
                Err(_) => {
                    return Frames {
                        lines,
                        is_too_large: true,
                    };
                }
            }
        }
        assert!(splitter.held() <= limit, "holds more than allowed");
    }
    Frames {
        lines,
        is_too_large: false,
    }
}

fn frames_of_model(body: &[u8], limit: usize) -> Frames {
    let mut parts: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    let tail = parts.pop().unwrap_or_default().trim_ascii_start();
    let mut lines = Vec::new();
    for part in parts {
        let part = part.trim_ascii_start();
        if part.len() > limit {
            return Frames {
                lines,
                is_too_large: true,
            };
        }
        if !part.is_empty() {
            lines.push(part.to_vec());
        }
    }
    Frames {
        lines,
        is_too_large: tail.len() > limit,
    }
}

fn decode(frame: &[u8]) {
    let resource = kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let decoder = JsonDecoder::of::<DynamicObject>(&resource, ManagedFields::Drop);
    match decode_event::<DynamicObject>(&decoder, frame) {
        Ok(WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) => {
            assert!(
                object
                    .metadata
                    .name
                    .as_deref()
                    .is_some_and(|name| !name.is_empty()),
                "cached without a name"
            );
            assert!(
                object.metadata.managed_fields.is_none(),
                "managed fields were kept"
            );
        }
        Ok(WatchEvent::Undecodable { object, .. }) => {
            assert!(!object.reason.contains("panicked"), "the decoder panicked");
        }
        Ok(WatchEvent::Bookmark { .. } | WatchEvent::Unknown) | Err(_) => {}
    }
}

/// gzip: the same text or the same error however the body is cut, what flate2 itself makes of it, in bounded steps; and
/// whatever is packed comes out again.
pub fn gzip(input: &[u8]) {
    let (plan, body) = plan(input);
    let whole = unpack([body]);
    let cut = unpack(pieces(plan, body));
    assert_eq!(whole.outcome, cut.outcome, "the outcome depends on the cuts");
    if whole.outcome.is_ok() {
        assert_eq!(whole.text, cut.text, "the text depends on the cuts");
    }
    let mut reference = Vec::new();
    let is_sound = flate2::read::MultiGzDecoder::new(body)
        .read_to_end(&mut reference)
        .is_ok();
    if is_sound && whole.outcome == Ok(Ending::Complete) {
        assert_eq!(whole.text, reference, "the text is not flate2's");
    }

    let packed: Vec<u8> = pieces(plan, body).into_iter().flat_map(pack).collect();
    let unpacked = unpack(pieces(plan, &packed));
    assert_eq!(
        (unpacked.outcome, unpacked.text.as_slice()),
        (Ok(Ending::Complete), body),
        "round trip"
    );
}

struct Unpacked {
    text: Vec<u8>,
    outcome: Result<Ending, GzipError>,
}

fn unpack<'i>(pieces: impl IntoIterator<Item = &'i [u8]>) -> Unpacked {
    let mut gunzip = Gunzip::new();
    let mut text = Vec::new();
    for piece in pieces {
        gunzip.feed(Bytes::copy_from_slice(piece));
        loop {
            match gunzip.next() {
                Ok(Some(bytes)) => {
                    assert!(
                        !bytes.is_empty() && bytes.len() <= OUTPUT_STEP,
                        "a step of {} bytes",
                        bytes.len()
                    );
                    text.extend_from_slice(&bytes);
                }
                Ok(None) => break,
                Err(error) => {
                    return Unpacked {
                        text,
                        outcome: Err(error),
                    };
                }
            }
        }
    }
    let outcome = Ok(gunzip.ending());
    Unpacked { text, outcome }
}

fn pack(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(text, flate2::Compression::fast())
        .read_to_end(&mut packed)
        .expect("reading from a slice cannot fail");
    packed
}

/// List bodies: the same parts however the body is cut, never more held than allowed; and where the body is sound
/// JSON, exactly the items serde_json finds.
pub fn list_splitter(input: &[u8]) {
    let (plan, body) = plan(input);
    let limit = limit(plan);
    let whole = split_list([body], limit);
    let cut = split_list(pieces(plan, body), limit);
    assert_eq!(whole.items, cut.items, "the items depend on the cuts");
    assert_eq!(
        whole.outcome.is_ok(),
        cut.outcome.is_ok(),
        "the outcome depends on the cuts"
    );

    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
        return;
    };
    let items = match value.get("items") {
        Some(serde_json::Value::Array(items)) => items.as_slice(),
        Some(serde_json::Value::Null) => &[],
        _ => return assert!(whole.outcome.is_err(), "a list without items was accepted"),
    };
    match whole.outcome {
        Ok(()) => {
            let found: Vec<serde_json::Value> = whole
                .items
                .iter()
                .map(|item| serde_json::from_slice(item).expect("an item of sound JSON is sound JSON"))
                .collect();
            assert_eq!(found, items, "the items are not serde_json's");
        }
        Err(SourceError::TooLarge { .. }) => {}
        Err(error) => {
            let text = error.to_string();
            let is_expected =
                value.get("metadata").is_none() || text.contains("twice") || text.contains("too long");
            assert!(is_expected, "a sound list was refused: {text}");
        }
    }
}

struct SplitList {
    items: Vec<Bytes>,
    outcome: Result<(), SourceError>,
}

fn split_list<'i>(pieces: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> SplitList {
    let mut splitter = ListSplitter::new(limit);
    let mut items = Vec::new();
    for piece in pieces {
        splitter.feed(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next() {
                Ok(Some(ListValue::Item(item))) => items.push(item),
                Ok(Some(ListValue::Kind(_) | ListValue::ApiVersion(_) | ListValue::Metadata(_))) => {}
                Ok(None) => break,
                Err(error) => {
                    return SplitList {
                        items,
                        outcome: Err(error),
                    };
                }
            }
        }
        assert!(splitter.held() <= limit.max(1024), "holds more than allowed");
    }
    let outcome = splitter.finish();
    SplitList { items, outcome }
}

/// Keys and versions: what parses prints as it was, and comparing is consistent.
pub fn key_parser(input: &[u8]) {
    let (plan, body) = plan(input);
    let text = String::from_utf8_lossy(body);
    let slashes = text.matches('/').count();
    match text.parse::<ObjectKey>() {
        Ok(key) => {
            assert!(
                slashes <= 1 && !key.name().is_empty() && !key.name().contains('/'),
                "{text:?}"
            );
            assert_ne!(key.namespace(), Some(""), "{text:?}");
            let is_plain = Printable::name(key.name()).is_plain()
                && key
                    .namespace()
                    .is_none_or(|namespace| Printable::namespace(namespace).is_plain());
            assert!(!key.to_string().chars().any(char::is_control), "{text:?}");
            if is_plain {
                assert_eq!(key.to_string(), text.strip_prefix('/').unwrap_or(&text));
                assert_eq!(key.to_string().parse(), Ok(key));
            }
        }
        Err(_) => assert!(slashes > 1 || text.is_empty() || text.ends_with('/'), "{text:?}"),
    }
    let (left, right) = (
        ResourceVersion::new(&text),
        ResourceVersion::new(&String::from_utf8_lossy(plan)),
    );
    assert_eq!(left.to_string(), text);
    assert_eq!(
        left.partial_cmp(&right),
        right.partial_cmp(&left).map(std::cmp::Ordering::reverse)
    );
    assert_eq!(left == right, left.to_string() == right.to_string());
}
