//! Watch events as bytes: one JSON document per line, or protobuf frames, and one gzip member per flush if
//! the client accepts gzip.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::clock::RunningClock;
use crate::encode::{Form, Format, Typed, View};
use crate::error::ApiError;
use crate::faults::Cut;
use crate::object::{Stored, write};
use crate::protobuf::TypeNames;
use crate::registry::Resource;

/// The types of watch events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventType {
    /// An object was created, or is part of the initial state.
    Added,
    /// An object changed.
    Modified,
    /// An object was deleted, or no longer matches the selector.
    Deleted,
    /// Only the version advanced.
    Bookmark,
    /// The watch failed; the object is a `Status`.
    Error,
}

impl EventType {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

/// One event. Its object is JSON, whatever the encoding of the watch.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: EventType,
    pub(crate) object: Vec<u8>,
}

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    /// Each flush is a separate gzip member, as Kubernetes 1.37 sends watch-list streams.
    GzipMembers,
}

/// How one watch writes its events.
#[derive(Debug)]
pub(crate) struct Framing {
    pub(crate) resource: Arc<Resource>,
    pub(crate) form: Form,
    pub(crate) compression: Compression,
    pub(crate) clock: RunningClock,
}

impl Framing {
    fn view(&self) -> View<'_> {
        View {
            resource: &self.resource,
            form: self.form,
            now: self.clock.now(),
        }
    }

    pub(crate) fn object(&self, kind: EventType, stored: &Stored) -> Frame {
        let mut object = Vec::new();
        self.view().object(&mut object, stored, Typed::Named);
        Frame { kind, object }
    }

    pub(crate) fn bookmark(&self, metadata: &Value) -> Frame {
        let mut object = Vec::new();
        self.view().bare(&mut object, metadata);
        Frame {
            kind: EventType::Bookmark,
            object,
        }
    }

    pub(crate) fn error(&self, error: &ApiError) -> Frame {
        let mut object = Vec::new();
        write(&mut object, &error.to_status());
        Frame {
            kind: EventType::Error,
            object,
        }
    }

    /// Appends one event, in the encoding of the watch.
    pub(crate) fn write(&self, buffer: &mut Vec<u8>, frame: &Frame) {
        match (self.form.format, frame.kind) {
            (Format::Json, _) => line(buffer, frame),
            (Format::Protobuf, kind) => {
                let names = match kind {
                    EventType::Error => TypeNames::status(),
                    _ => self.view().names(),
                };
                names.frame(buffer, kind.as_str(), &frame.object);
            }
        }
    }

    pub(crate) fn pack(&self, plain: Vec<u8>) -> Bytes {
        match self.compression {
            Compression::Plain => plain.into(),
            Compression::GzipMembers => gzip(&plain).into(),
        }
    }

    /// Returns the beginning of an event, without its end.
    pub(crate) fn torn(&self, frame: &Frame, cut: Cut) -> Bytes {
        let mut whole = Vec::new();
        self.write(&mut whole, frame);
        if matches!(cut, Cut::MidMember(_)) && self.compression == Compression::GzipMembers {
            let mut member = gzip(&whole);
            member.truncate(member.len() / 2);
            return member.into();
        }
        whole.truncate(tear(&whole, cut));
        self.pack(whole)
    }
}

/// Where a partial event ends.
fn tear(line: &[u8], cut: Cut) -> usize {
    let middle = line.len() / 2;
    match cut {
        // The first byte of a longer character is at least 0xC0: breaking after it leaves half of it.
        Cut::MidCharacter(_) => line
            .iter()
            .position(|byte| *byte >= 0xC0)
            .map_or(middle, |at| at + 1),
        _ => middle,
    }
}

/// Appends one event as a line.
fn line(buffer: &mut Vec<u8>, frame: &Frame) {
    buffer.extend_from_slice(b"{\"type\":\"");
    buffer.extend_from_slice(frame.kind.as_str().as_bytes());
    buffer.extend_from_slice(b"\",\"object\":");
    buffer.extend_from_slice(&frame.object);
    buffer.extend_from_slice(b"}\n");
}

/// Returns one complete gzip member.
pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Flushed before its end, as upstream does: Go's reader holds back data that arrives with the end of a
    // member until the next member starts, so a Go client would wait for events that have already arrived.
    let written = encoder.write_all(plain).and_then(|()| encoder.flush());
    debug_assert!(written.is_ok(), "writing to a vector does not fail");
    encoder.finish().unwrap_or_default()
}
