//! Kubernetes protobuf, the preferred wire format of built-in kinds, and the reader for generated decoders.
//!
//! The server chooses the format of each response; see [`KubeSource::protobuf`](super::KubeSource::protobuf).
//! The crate `informer-protobuf` has the decoders of built-in kinds.

use kube::core::TypeMeta;

use super::decode::Identity;
use super::format::{Format, ListEntry, Splitter, WatchFrame};
use super::{ServerStatus, SourceError, SourceObject, Undecodable, WatchEvent};
use crate::object::Object;
use envelope::TypeNames;
use frames::FrameSplitter;
use list::ListSplitter;
use metadata::Metadata;

mod cursor;
mod decoder;
mod envelope;
mod error;
mod event;
mod fields;
mod frames;
mod list;
mod metadata;
mod reader;
mod status;
#[cfg(test)]
pub(super) mod test_bytes;

pub use decoder::DecodeProtobuf;
pub(super) use decoder::ProtobufDecoder;
pub use error::{Fault, ProtobufError};
pub use fields::Tag;
pub use reader::{MAX_DEPTH, MEMORY_BASE, MEMORY_RATIO, Reader, read_object};

#[cfg(any(test, feature = "__internals"))]
pub(super) mod internals {
    //! Parts that the fuzz targets call.
    pub(in crate::source) use super::frames::FrameSplitter;
    pub(in crate::source) use super::list::ListSplitter;
    pub(in crate::source) use super::status::parse as parse_status;

    pub(in crate::source) fn identify(object: &[u8]) -> crate::source::Identity {
        super::Metadata::read(object).identity()
    }
}

/// The protobuf format: watch frames have a length before them, list items are field 2 of the list.
pub(super) struct Protobuf<K> {
    decoder: ProtobufDecoder<K>,
}

impl<K> Protobuf<K> {
    pub(super) fn new(decoder: ProtobufDecoder<K>) -> Self {
        Self { decoder }
    }
}

impl<K: Object> Format<K> for Protobuf<K> {
    fn media_type(&self) -> &'static str {
        "application/vnd.kubernetes.protobuf"
    }

    fn split_watch(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = WatchFrame>> {
        Box::new(FrameSplitter::new(max_object_bytes))
    }

    fn split_list(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = ListEntry>> {
        Box::new(ListSplitter::new(max_object_bytes))
    }

    fn decode_event(&self, frame: &[u8]) -> Result<WatchEvent<K>, SourceError> {
        event::decode_event(&self.decoder, frame)
    }

    fn oversized_event(&self, part: &[u8], reason: String) -> Result<WatchEvent<K>, SourceError> {
        event::oversized_event(part, reason)
    }

    fn decode_item(&self, item: &[u8], types: Option<&TypeMeta>) -> Result<SourceObject<K>, Undecodable> {
        let types = types.map_or(TypeNames::default(), |types| TypeNames {
            api_version: &types.api_version,
            kind: &types.kind,
        });
        self.decoder.decode(item, types)
    }

    fn identify(&self, item: &[u8]) -> Identity {
        Metadata::read(item).identity()
    }

    fn identify_addition(&self, frame: &[u8]) -> Option<Identity> {
        let object = event::added_object(frame)?;
        Some(Metadata::read(object).identity())
    }

    fn parse_status(&self, body: &[u8]) -> Option<ServerStatus> {
        status::parse(body)
    }
}
