//! Decodes the frames of a watch into events.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::sketch::Sketch;
use super::status;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::decode::{Decode, decode_object};
use crate::source::format::undecodable;
use crate::source::{BookmarkMark, ObjectChange, SourceError, SourceObject, WatchEvent};

/// Decodes one frame.
///
/// A frame that is not JSON is a fault of the connection, not of an object, so it is an error that ends the
/// watch. The reflector watches again from the last version it saw, and the server sends the event again.
pub(in crate::source) fn decode_event<K: Object>(
    decoder: &dyn Decode<K>,
    frame: &[u8],
) -> Result<WatchEvent<K>, SourceError> {
    if let Some(envelope) = Envelope::cut(frame)
        && let Some(change) = Change::of(envelope.change)
    {
        match decode_object(decoder, envelope.object, None) {
            Ok(object) => return Ok(change.event(object)),
            // Invalid UTF-8 makes one object undecodable. The careful pass below would reject the whole
            // frame.
            Err(_) if std::str::from_utf8(envelope.object).is_err() => {
                return decode_change(decoder, change, envelope.object);
            }
            Err(_) => {}
        }
    }
    // Unusual frames are parsed completely, in a second pass.
    let envelope: CarefulEnvelope<'_> = serde_json::from_slice(frame).map_err(|error| {
        SourceError::Protocol(format!(
            "a frame is not a watch event (column {})",
            error.column()
        ))
    })?;
    let object = envelope.object.map_or("null", RawValue::get).as_bytes();
    match envelope.change.as_ref() {
        "BOOKMARK" => Ok(bookmark(object)),
        "ERROR" => match status::parse(object) {
            Some(status) => Err(SourceError::Status { status }),
            None => Err(SourceError::Protocol("an ERROR event has no status".to_owned())),
        },
        name => match Change::of(name) {
            Some(change) => decode_change(decoder, change, object),
            None => Ok(WatchEvent::Unknown),
        },
    }
}

/// Returns the object of an addition, if the frame is one as every kube-apiserver writes it.
pub(super) fn added_object(frame: &[u8]) -> Option<&[u8]> {
    let envelope = Envelope::cut(frame)?;
    matches!(Change::of(envelope.change)?, Change::Added).then_some(envelope.object)
}

/// Reads the part that was kept of a frame larger than the limit.
pub(super) fn oversized_event<K>(part: &[u8], reason: String) -> Result<WatchEvent<K>, SourceError> {
    let protocol =
        || SourceError::Protocol("a frame over the size limit is not a change of an object".to_owned());
    let envelope: CarefulEnvelope<'_> = serde_json::from_slice(part).map_err(|_| protocol())?;
    let change = match envelope.change.as_ref() {
        "ADDED" | "MODIFIED" => ObjectChange::Upserted,
        "DELETED" => ObjectChange::Deleted,
        _ => return Err(protocol()),
    };
    let object = envelope.object.map_or("null", RawValue::get).as_bytes();
    Ok(WatchEvent::Undecodable {
        change,
        object: undecodable(Sketch::read(object).identity(), reason),
    })
}

/// Whether an incomplete frame begins like an ERROR event, as every kube-apiserver writes it.
pub(super) fn is_error_event(frame: &[u8]) -> bool {
    Envelope::change_of(frame).is_some_and(|(change, _)| change == b"ERROR")
}

/// Decodes the object of a change.
///
/// A Table is an error, as in a list. It does not identify the objects in it, so ignoring it, as upstream
/// does, would lose them silently, and all of them if it is part of an initial state.
fn decode_change<K: Object>(
    decoder: &dyn Decode<K>,
    change: Change,
    object: &[u8],
) -> Result<WatchEvent<K>, SourceError> {
    match decode_object(decoder, object, None) {
        Ok(object) => Ok(change.event(object)),
        Err(_) if Sketch::read(object).is_table() => Err(SourceError::Protocol(
            "received a Table instead of an object".to_owned(),
        )),
        Err(undecodable) => {
            let change = match change {
                Change::Added | Change::Modified => ObjectChange::Upserted,
                Change::Deleted => ObjectChange::Deleted,
            };
            Ok(WatchEvent::Undecodable {
                change,
                object: undecodable,
            })
        }
    }
}

fn bookmark<K>(object: &[u8]) -> WatchEvent<K> {
    let sketch = Sketch::read(object);
    let mark = if sketch.ends_initial_events() {
        BookmarkMark::InitialEventsEnd
    } else {
        BookmarkMark::Progress
    };
    WatchEvent::Bookmark {
        // As in a list, 0 is no version of a state.
        version: sketch
            .version()
            .filter(|version| *version != ResourceVersion::new("0")),
        mark,
    }
}

/// The event types that carry an object.
#[derive(Clone, Copy)]
enum Change {
    Added,
    Modified,
    Deleted,
}

impl Change {
    fn of(name: &str) -> Option<Self> {
        match name {
            "ADDED" => Some(Self::Added),
            "MODIFIED" => Some(Self::Modified),
            "DELETED" => Some(Self::Deleted),
            _ => None,
        }
    }

    fn event<K>(self, object: SourceObject<K>) -> WatchEvent<K> {
        match self {
            Self::Added => WatchEvent::Added(object),
            Self::Modified => WatchEvent::Modified(object),
            Self::Deleted => WatchEvent::Deleted(object),
        }
    }
}

/// A frame as every kube-apiserver writes it: `{"type":"ADDED","object":{..}}`.
struct Envelope<'f> {
    change: &'f str,
    object: &'f [u8],
}

impl<'f> Envelope<'f> {
    /// Splits the frame without parsing the object, so that the object is parsed only once, by its decoder.
    /// If the frame has further fields, the decoder fails because of the data after the object.
    fn cut(frame: &'f [u8]) -> Option<Self> {
        let (change, rest) = Self::change_of(frame)?;
        let rest = after(rest, b",")?;
        let rest = after(rest, b"\"object\"")?;
        let rest = after(rest, b":")?;
        let object = rest.trim_ascii_end().strip_suffix(b"}")?;
        Some(Self {
            change: std::str::from_utf8(change).ok()?,
            object,
        })
    }

    /// Returns the type of the event and the rest of the frame.
    fn change_of(frame: &'f [u8]) -> Option<(&'f [u8], &'f [u8])> {
        let rest = after(frame, b"{")?;
        let rest = after(rest, b"\"type\"")?;
        let rest = after(rest, b":")?;
        let rest = after(rest, b"\"")?;
        let (change, rest) = rest.split_at(memchr::memchr(b'"', rest)?);
        Some((change, &rest[1..]))
    }
}

/// Returns the text after `token`. Skips whitespace before `token`.
fn after<'f>(text: &'f [u8], token: &[u8]) -> Option<&'f [u8]> {
    text.trim_ascii_start().strip_prefix(token)
}

/// A frame with its fields in any order and with any other fields.
#[derive(serde::Deserialize)]
struct CarefulEnvelope<'f> {
    #[serde(rename = "type", borrow)]
    change: Cow<'f, str>,
    #[serde(borrow, default)]
    object: Option<&'f RawValue>,
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
