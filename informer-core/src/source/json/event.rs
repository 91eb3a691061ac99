//! Decodes the frames of a watch into events.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::sketch::Sketch;
use super::status;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::decode::{Decode, decode_object};
use crate::source::{BookmarkMark, ObjectChange, SourceError, WatchEvent};

/// Decodes one frame.
///
/// A frame that is not JSON is a fault of the connection, not of an object, so it is an error that ends the
/// watch: the reflector watches again from the last version it saw, and the server sends the event once more.
pub(in crate::source) fn decode_event<K: Object>(
    decoder: &dyn Decode<K>,
    frame: &[u8],
) -> Result<WatchEvent<K>, SourceError> {
    if let Some(envelope) = Envelope::cut(frame)
        && let Some(change) = Change::of(envelope.change)
    {
        match decode_object(decoder, envelope.object, None) {
            Ok(object) => return Ok(change.event(object)),
            // An object that is not UTF-8 is the object's fault, but it would spoil the careful reading below.
            Err(_) if std::str::from_utf8(envelope.object).is_err() => {
                return decode_change(decoder, change, envelope.object);
            }
            Err(_) => {}
        }
    }
    // Anything unusual is read again with care, even if that costs a second pass.
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
            None => Err(SourceError::Protocol(
                "an ERROR event carries no status".to_owned(),
            )),
        },
        name => match Change::of(name) {
            Some(change) => decode_change(decoder, change, object),
            None => Ok(WatchEvent::Unknown),
        },
    }
}

/// Whether an unfinished frame is that of an ERROR event, as every kube-apiserver writes it.
pub(super) fn is_error_event(frame: &[u8]) -> bool {
    Envelope::change_of(frame).is_some_and(|(change, _)| change == b"ERROR")
}

/// A table is no object, and which objects it stands for cannot be told: passing it over would lose them without a trace, all of
/// them where it is part of an initial state. Upstream does; here it is an error, as in a list.
fn decode_change<K: Object>(
    decoder: &dyn Decode<K>,
    change: Change,
    object: &[u8],
) -> Result<WatchEvent<K>, SourceError> {
    match decode_object(decoder, object, None) {
        Ok(object) => Ok(change.event(object)),
        Err(_) if Sketch::read(object).is_table() => Err(SourceError::Protocol(
            "a Table came where an object was asked for".to_owned(),
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

    fn event<K>(self, object: std::sync::Arc<K>) -> WatchEvent<K> {
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
    /// Cuts the frame without reading the object, so that the object is read only once, by its decoder. The decoder
    /// refuses what does not end with the object, so a frame with further fields is noticed there.
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

    /// The type of the event, and what follows it.
    fn change_of(frame: &'f [u8]) -> Option<(&'f [u8], &'f [u8])> {
        let rest = after(frame, b"{")?;
        let rest = after(rest, b"\"type\"")?;
        let rest = after(rest, b":")?;
        let rest = after(rest, b"\"")?;
        let (change, rest) = rest.split_at(memchr::memchr(b'"', rest)?);
        Some((change, &rest[1..]))
    }
}

/// What follows `token`, and blanks before it.
fn after<'f>(text: &'f [u8], token: &[u8]) -> Option<&'f [u8]> {
    text.trim_ascii_start().strip_prefix(token)
}

/// The same in any order and with anything beside it.
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
