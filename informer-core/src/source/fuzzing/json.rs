//! The targets of the JSON format: the frames of a watch and the items of a list.

use bytes::Bytes;
use kube::core::DynamicObject;

use super::{chunks, limit, plan};
use crate::source::format::{Splitter as _, WatchFrame};
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
    for frame in expected.into_iter().flatten() {
        decode(&frame);
    }
}

/// The lines; `None` for one over the limit.
type Frames = Vec<Option<Vec<u8>>>;

fn frames_of<'i>(chunks: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> Frames {
    let mut splitter = FrameSplitter::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        loop {
            match splitter.next() {
                Ok(Some(WatchFrame::Whole(line))) => lines.push(Some(line.to_vec())),
                Ok(Some(WatchFrame::Oversized(part))) => {
                    decode(&part);
                    lines.push(None);
                }
                Ok(None) => break,
                // An ERROR event of more than 64 KiB, or too many blanks in a row.
                Err(_) => return lines,
            }
        }
        assert!(splitter.held() <= limit, "holds more than allowed");
    }
    lines
}

fn frames_of_model(body: &[u8], limit: usize) -> Frames {
    let mut lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    // The last line is incomplete.
    lines.pop();
    let lines = lines.into_iter().map(<[u8]>::trim_ascii_start);
    lines
        .filter(|line| !line.is_empty())
        .map(|line| (line.len() <= limit).then(|| line.to_vec()))
        .collect()
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
        Ok(WatchEvent::Bookmark { .. } | WatchEvent::Unchanged(_) | WatchEvent::Unknown) | Err(_) => {}
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
            if whole.oversized == 0 {
                assert_eq!(found, items, "the items are not serde_json's");
            } else {
                assert_eq!(found.len() + whole.oversized, items.len(), "an item is missing");
            }
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
    oversized: usize,
    outcome: Result<(), SourceError>,
}

fn split_list<'i>(chunks: impl IntoIterator<Item = &'i [u8]>, limit: usize) -> SplitList {
    let mut splitter = ListSplitter::new(limit);
    let mut items = Vec::new();
    let mut oversized = 0;
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        loop {
            match splitter.next() {
                Ok(Some(ListValue::Item(item))) => items.push(item),
                Ok(Some(ListValue::Oversized(_))) => oversized += 1,
                Ok(Some(ListValue::Kind(_) | ListValue::ApiVersion(_) | ListValue::Metadata(_))) => {}
                Ok(None) => break,
                Err(error) => {
                    return SplitList {
                        items,
                        oversized,
                        outcome: Err(error),
                    };
                }
            }
        }
        assert!(splitter.held() <= limit.max(1024), "holds more than allowed");
    }
    let outcome = splitter.finish();
    SplitList {
        items,
        oversized,
        outcome,
    }
}
