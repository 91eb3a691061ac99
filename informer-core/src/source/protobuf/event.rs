//! Decodes the frames of a watch into events.

use super::decoder::ProtobufDecoder;
use super::envelope::{Envelope, MAGIC, RAW};
use super::error::ProtobufError;
use super::fields::Fields;
use super::metadata::Metadata;
use super::status;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::format::undecodable;
use crate::source::{BookmarkMark, ObjectChange, SourceError, SourceObject, Undecodable, WatchEvent};

/// A `metav1.WatchEvent`: field 1 is the type, field 2 a `RawExtension` whose field 1 is the enveloped
/// object.
#[derive(Default)]
struct Frame<'b> {
    change: &'b [u8],
    object: &'b [u8],
}

impl<'b> Frame<'b> {
    fn read(bytes: &'b [u8]) -> Result<Self, ProtobufError> {
        let mut frame = Self::default();
        let mut fields = Fields(bytes);
        while let Some(tag) = fields.tag()? {
            match tag.number {
                1 => frame.change = fields.bytes(tag)?,
                2 => {
                    let mut extension = Fields(fields.bytes(tag)?);
                    while let Some(tag) = extension.tag()? {
                        match tag.number {
                            1 => frame.object = extension.bytes(tag)?,
                            _ => extension.skip(tag)?,
                        }
                    }
                }
                _ => fields.skip(tag)?,
            }
        }
        Ok(frame)
    }
}

/// Reads the beginning of a frame that is larger than the limit. Kubernetes writes fields in the order of
/// their numbers, so the metadata comes first.
pub(super) fn oversized_event<K>(part: &[u8], reason: String) -> Result<WatchEvent<K>, SourceError> {
    let protocol =
        || SourceError::Protocol("a frame over the size limit is not a change of an object".to_owned());
    let (change, object) = beginning(part).map_err(|_| protocol())?;
    let change = match change {
        b"ADDED" | b"MODIFIED" => ObjectChange::Upserted,
        b"DELETED" => ObjectChange::Deleted,
        _ => return Err(protocol()),
    };
    Ok(WatchEvent::Undecodable {
        change,
        object: undecodable(Metadata::read(object).identity(), reason),
    })
}

/// Returns the type of an incomplete frame, and the beginning of its object.
fn beginning(part: &[u8]) -> Result<(&[u8], &[u8]), ProtobufError> {
    let mut change = &[][..];
    let mut fields = Fields(part);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            1 => change = fields.bytes(tag)?,
            2 => {
                let mut extension = Fields(fields.beginning(tag)?);
                let enveloped = match extension.tag()? {
                    Some(tag) if tag.number == 1 => extension.beginning(tag)?,
                    _ => break,
                };
                let mut envelope = Fields(enveloped.strip_prefix(MAGIC).unwrap_or_default());
                while let Some(tag) = envelope.tag()? {
                    match tag.number {
                        RAW => return Ok((change, envelope.beginning(tag)?)),
                        _ => envelope.skip(tag)?,
                    }
                }
                break;
            }
            _ => fields.skip(tag)?,
        }
    }
    Ok((change, &[]))
}

/// Decodes one frame.
///
/// A frame that is not a watch event, or whose object has no envelope, is a fault of the connection and not
/// of an object, so it is an error that ends the watch. The reflector watches again from the last version it
/// saw.
pub(super) fn decode_event<K: Object>(
    decoder: &ProtobufDecoder<K>,
    frame: &[u8],
) -> Result<WatchEvent<K>, SourceError> {
    let frame = Frame::read(frame)
        .map_err(|error| SourceError::Protocol(format!("a frame is not a watch event: {error}")))?;
    match frame.change {
        b"ADDED" => decode_object(decoder, &frame, ObjectChange::Upserted, WatchEvent::Added),
        b"MODIFIED" => decode_object(decoder, &frame, ObjectChange::Upserted, WatchEvent::Modified),
        b"DELETED" => decode_object(decoder, &frame, ObjectChange::Deleted, WatchEvent::Deleted),
        b"BOOKMARK" => Ok(bookmark(open(&frame)?.object)),
        b"ERROR" => match status::parse(frame.object) {
            Some(status) => Err(SourceError::Status { status }),
            None => Err(SourceError::Protocol("an ERROR event has no status".to_owned())),
        },
        _ => Ok(WatchEvent::Unknown),
    }
}

/// Returns the object of an addition, without its envelope.
pub(super) fn added_object(frame: &[u8]) -> Option<&[u8]> {
    let frame = Frame::read(frame).ok()?;
    if frame.change != b"ADDED" {
        return None;
    }
    open(&frame).ok().map(|envelope| envelope.object)
}

fn open<'b>(frame: &Frame<'b>) -> Result<Envelope<'b>, SourceError> {
    match Envelope::open(frame.object) {
        Some(Ok(envelope)) => Ok(envelope),
        Some(Err(error)) => Err(SourceError::Protocol(format!(
            "the object of a watch event has an invalid envelope: {error}"
        ))),
        None => Err(SourceError::Protocol(
            "the object of a watch event has no envelope".to_owned(),
        )),
    }
}

fn decode_object<K: Object>(
    decoder: &ProtobufDecoder<K>,
    frame: &Frame<'_>,
    change: ObjectChange,
    event: impl FnOnce(SourceObject<K>) -> WatchEvent<K>,
) -> Result<WatchEvent<K>, SourceError> {
    let envelope = open(frame)?;
    // A Table does not identify the objects in it, so ignoring it would lose them.
    if envelope.types.kind == "Table" && envelope.types.api_version.starts_with("meta.k8s.io/") {
        return Err(SourceError::Protocol(
            "received a Table instead of an object".to_owned(),
        ));
    }
    let decoded: Result<_, Undecodable> = decoder.decode(envelope.object, envelope.types);
    Ok(match decoded {
        Ok(object) => event(object),
        Err(object) => WatchEvent::Undecodable { change, object },
    })
}

/// Whether an incomplete frame begins like an ERROR event, as every kube-apiserver writes it.
pub(super) fn is_error_event(frame: &[u8]) -> bool {
    frame.starts_with(b"\x0a\x05ERROR")
}

fn bookmark<K>(object: &[u8]) -> WatchEvent<K> {
    let metadata = Metadata::read(object);
    let mark = if metadata.ends_initial_events() {
        BookmarkMark::InitialEventsEnd
    } else {
        BookmarkMark::Progress
    };
    WatchEvent::Bookmark {
        // As in a list, 0 is no version of a state.
        version: metadata
            .version()
            .filter(|version| *version != ResourceVersion::new("0")),
        mark,
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
