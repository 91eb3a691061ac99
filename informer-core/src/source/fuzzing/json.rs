//! The targets of the JSON format: the frames of a watch and the items of a list.

use bytes::Bytes;
use kube::core::DynamicObject;

use super::{chunks, limit, plan};
use crate::source::format::Splitter as _;
use crate::source::json::internals::{FrameSplitter, ListSplitter, ListValue, decode_event};
use crate::source::{JsonDecoder, ManagedFields, SourceError, WatchEvent};

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
