//! Functions of the fuzz targets: parsers of the wire format on arbitrary bytes, compared with simple models.
//!
//! Not part of the API. The targets under `informer-core/fuzz` call one function each; [`run_seeded`] runs
//! all of them on stable, on mutations of the same corpus. Each function panics if an invariant does not hold.
//!
//! The first [`PLAN`] bytes of an input determine how the rest is cut into chunks, and the size limit.

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

/// The number of bytes at the beginning of an input that are its plan.
pub const PLAN: usize = 8;

/// A fuzz target: its name, which is also the name of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 4] = [
    ("frames", frames),
    ("gzip", gzip),
    ("list_splitter", list_splitter),
    ("key_parser", key_parser),
];

/// Runs every target on every file of its corpus and on `iterations` mutations of them. The same seed
/// produces the same mutations. `corpus` is the folder with one folder per target.
///
/// Returns the number of inputs. Panics with the name of the target, the seed and the iteration if an
/// invariant does not hold, and if a corpus is missing.
pub fn run_seeded(corpus: &Path, seed: u64, iterations: u32) -> usize {
    TARGETS
        .iter()
        .map(|target| seeded::run(target, corpus, seed, iterations))
        .sum()
}

/// Splits `input` into plan and body.
fn plan(input: &[u8]) -> (&[u8], &[u8]) {
    input.split_at(input.len().min(PLAN))
}

/// Cuts the body into chunks of 1 to 32 bytes, as given by the plan.
fn chunks<'i>(plan: &[u8], mut body: &'i [u8]) -> Vec<&'i [u8]> {
    let mut sizes = plan.iter().map(|byte| usize::from(byte % 32) + 1).cycle();
    let mut chunks = Vec::new();
    while !body.is_empty() {
        let (chunk, rest) = body.split_at(sizes.next().unwrap_or(1).min(body.len()));
        chunks.push(chunk);
        body = rest;
    }
    chunks
}

fn limit(plan: &[u8]) -> usize {
    16 + usize::from(plan.first().copied().unwrap_or_default()) * 16
}

/// Watch frames: the lines do not depend on the cuts and equal those of a plain split; no more is held than
/// allowed; no line makes the decoder panic.
pub fn frames(input: &[u8]) {
    let (plan, body) = plan(input);
    let limit = limit(plan);
    let expected = frames_of_model(body, limit);
    assert_eq!(frames_of([body], limit), expected, "whole");
    assert_eq!(frames_of(chunks(plan, body), limit), expected, "in chunks");
    for frame in expected.lines {
        decode(&frame);
    }
}

#[derive(Debug, PartialEq)]
struct Frames {
    lines: Vec<Vec<u8>>,
    is_too_large: bool,
}

fn frames_of<'i>(chunks: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> Frames {
    let mut splitter = FrameSplitter::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
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
    let mut lines_of_body: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    let tail = lines_of_body.pop().unwrap_or_default().trim_ascii_start();
    let mut lines = Vec::new();
    for line in lines_of_body {
        let line = line.trim_ascii_start();
        if line.len() > limit {
            return Frames {
                lines,
                is_too_large: true,
            };
        }
        if !line.is_empty() {
            lines.push(line.to_vec());
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

/// gzip: output and error do not depend on the cuts and equal those of flate2; steps are bounded; compressed
/// data is restored.
pub fn gzip(input: &[u8]) {
    let (plan, body) = plan(input);
    let whole = unpack([body]);
    let cut = unpack(chunks(plan, body));
    assert_eq!(whole.outcome, cut.outcome, "the outcome depends on the cuts");
    if whole.outcome.is_ok() {
        assert_eq!(whole.text, cut.text, "the text depends on the cuts");
    }
    let mut reference = Vec::new();
    let is_valid = flate2::read::MultiGzDecoder::new(body)
        .read_to_end(&mut reference)
        .is_ok();
    if is_valid && whole.outcome == Ok(Ending::Complete) {
        assert_eq!(whole.text, reference, "the text is not flate2's");
    }

    let packed: Vec<u8> = chunks(plan, body).into_iter().flat_map(pack).collect();
    let unpacked = unpack(chunks(plan, &packed));
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

fn unpack<'i>(chunks: impl IntoIterator<Item = &'i [u8]>) -> Unpacked {
    let mut gunzip = Gunzip::new();
    let mut text = Vec::new();
    for chunk in chunks {
        gunzip.feed(Bytes::copy_from_slice(chunk));
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

/// List bodies: the values do not depend on the cuts; no more is held than allowed; the items of valid JSON
/// equal those of serde_json.
pub fn list_splitter(input: &[u8]) {
    let (plan, body) = plan(input);
    let limit = limit(plan);
    let whole = split_list([body], limit);
    let cut = split_list(chunks(plan, body), limit);
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
                .map(|item| serde_json::from_slice(item).expect("an item of valid JSON is valid JSON"))
                .collect();
            assert_eq!(found, items, "the items are not serde_json's");
        }
        Err(SourceError::TooLarge { .. }) => {}
        Err(error) => {
            let text = error.to_string();
            let is_expected =
                value.get("metadata").is_none() || text.contains("duplicate") || text.contains("too long");
            assert!(is_expected, "a valid list was rejected: {text}");
        }
    }
}

struct SplitList {
    items: Vec<Bytes>,
    outcome: Result<(), SourceError>,
}

fn split_list<'i>(chunks: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> SplitList {
    let mut splitter = ListSplitter::new(limit);
    let mut items = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
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

/// Keys and versions: parsed keys print as their text, and comparison is consistent.
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
