//! JSON: the format of custom resources, and of every kind without a protobuf decoder.

use std::sync::Arc;

use kube::core::TypeMeta;

use super::decode::{Decode, Identity, decode_object};
use super::format::{Format, ListEntry, Splitter, WatchFrame};
use super::{ServerStatus, SourceError, SourceObject, Undecodable, WatchEvent};
use crate::object::Object;
use frames::FrameSplitter;
use list::ListReader;
use sketch::Sketch;

mod adaptor;
mod decoder;
mod element_counts;
mod event;
mod field_path;
mod frames;
mod list;
mod managed_fields;
mod scan;
mod size_hints;
mod sketch;
mod skim;
mod splitter;
mod status;
mod structure;
mod text;

pub use decoder::JsonDecoder;
#[cfg(any(test, feature = "__internals"))]
pub(super) mod internals {
    //! Parts that the fuzz targets and the tests of other modules call.
    pub(in crate::source) use super::event::decode_event;
    pub(in crate::source) use super::frames::FrameSplitter;
    pub(in crate::source) use super::splitter::{ListSplitter, ListValue};
    #[cfg(test)]
    pub(in crate::source) use super::status::parse as parse_status;
}

/// The JSON format: watch frames are lines, list items are the elements of `items`.
pub(super) struct Json<K> {
    decoder: Arc<dyn Decode<K>>,
}

impl<K> Json<K> {
    pub(super) fn new(decoder: Arc<dyn Decode<K>>) -> Self {
        Self { decoder }
    }
}

impl<K: Object> Format<K> for Json<K> {
    fn media_type(&self) -> &'static str {
        "application/json"
    }

    fn split_watch(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = WatchFrame>> {
        Box::new(FrameSplitter::new(max_object_bytes))
    }

    fn split_list(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = ListEntry>> {
        Box::new(ListReader::new(max_object_bytes))
    }

    fn decode_event(&self, frame: &[u8]) -> Result<WatchEvent<K>, SourceError> {
        event::decode_event(self.decoder.as_ref(), frame)
    }

    fn oversized_event(&self, part: &[u8], reason: String) -> Result<WatchEvent<K>, SourceError> {
        event::oversized_event(part, reason)
    }

    fn decode_item(&self, item: &[u8], types: Option<&TypeMeta>) -> Result<SourceObject<K>, Undecodable> {
        decode_object(self.decoder.as_ref(), item, types)
    }

    fn identify(&self, item: &[u8]) -> Identity {
        identify(item)
    }

    fn identify_addition(&self, frame: &[u8]) -> Option<Identity> {
        event::added_object(frame).map(identify)
    }

    fn parse_status(&self, body: &[u8]) -> Option<ServerStatus> {
        status::parse(body)
    }
}

/// Reads key, version and UID of an object. The rest of the object may be broken.
pub(super) fn identify(object: &[u8]) -> Identity {
    Sketch::read(object).identity()
}
