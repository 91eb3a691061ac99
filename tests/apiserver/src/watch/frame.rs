//! Watch events as bytes: one JSON document per line, and one gzip member per flush where asked.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::encode::{self, Shape, Typed};
use crate::error::ApiError;
use crate::object::{Stored, write};
use crate::registry::Resource;

/// The types of watch events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventType {
    /// An object is new, or is part of the initial state.
    Added,
    /// An object changed.
    Modified,
    /// An object is gone or left the selector.
    Deleted,
    /// Only the version moved.
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

/// One event, its object already encoded.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: EventType,
    pub(crate) object: Vec<u8>,
}

/// What a bookmark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Progress,
    /// The end of the initial events.
    InitialEnd,
}

/// How the bytes of a body are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    /// Each flush is a gzip member of its own, as Kubernetes 1.37 sends watch-list streams.
    GzipMembers,
}

/// How one watch writes its events.
#[derive(Debug)]
pub(crate) struct Framing {
    pub(crate) resource: Arc<Resource>,
    pub(crate) shape: Shape,
    pub(crate) compression: Compression,
}

/// A flush is cut after this many bytes, so that one large batch does not become one large chunk.
const FLUSH: usize = 64 * 1024;

impl Framing {
    pub(crate) fn object(&self, kind: EventType, stored: &Stored) -> Frame {
        let mut object = Vec::new();
        encode::object(&mut object, &self.resource, stored, self.shape, Typed::Named);
        Frame { kind, object }
    }

    pub(crate) fn bookmark(&self, version: &str, mark: Mark) -> Frame {
        let mut metadata = json!({ "resourceVersion": version });
        if mark == Mark::InitialEnd {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        self.bookmark_with(&metadata)
    }

    pub(crate) fn bookmark_with(&self, metadata: &Value) -> Frame {
        let (kind, api_version) = encode::type_of(&self.resource, self.shape);
        let mut object = vec![b'{'];
        encode::type_fields(&mut object, &kind, &api_version);
        object.extend_from_slice(b",\"metadata\":");
        write(&mut object, metadata);
        object.push(b'}');
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

    /// Takes frames off the queue and packs them into one chunk.
    pub(crate) fn flush(&self, frames: &mut VecDeque<Frame>) -> Bytes {
        let mut plain = Vec::new();
        while let Some(frame) = frames.pop_front() {
            line(&mut plain, &frame);
            if plain.len() >= FLUSH {
                break;
            }
        }
        self.pack(plain)
    }

    pub(crate) fn pack(&self, plain: Vec<u8>) -> Bytes {
        match self.compression {
            Compression::Plain => plain.into(),
            Compression::GzipMembers => gzip(&plain).into(),
        }
    }
}

/// Appends one event as a line.
pub(crate) fn line(buffer: &mut Vec<u8>, frame: &Frame) {
    buffer.extend_from_slice(b"{\"type\":\"");
    buffer.extend_from_slice(frame.kind.as_str().as_bytes());
    buffer.extend_from_slice(b"\",\"object\":");
    buffer.extend_from_slice(&frame.object);
    buffer.extend_from_slice(b"}\n");
}

/// One whole gzip member.
pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = encoder.write_all(plain);
    debug_assert!(written.is_ok(), "writing to a vector does not fail");
    encoder.finish().unwrap_or_default()
}
