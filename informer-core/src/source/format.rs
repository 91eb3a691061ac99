//! Wire formats: the boundary between the HTTP part of a source and the encoding of its responses.
//!
//! A [`Format`] splits bodies into frames and entries, and decodes them. The rest of `source` does not
//! depend on the encoding. The formats are [`json`](super::json) and [`protobuf`](super::protobuf). To add
//! another one, implement [`Format`] in a module beside them and pass it to [`Formats`].

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use kube::core::TypeMeta;

use super::{Identity, ListMetadata, ServerStatus, SourceError, SourceObject, Undecodable, WatchEvent};

/// A wire format, for objects of kind `K`.
///
/// Splitting and decoding are separate because they run in different places: bodies are split in the task
/// that reads the response, and batches of frames or items are decoded on another thread if they are large.
pub(super) trait Format<K>: Send + Sync + 'static {
    /// The media type, as in `Accept` and `Content-Type`.
    fn media_type(&self) -> &'static str;

    /// Returns a splitter for the body of one watch.
    fn split_watch(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = WatchFrame>>;

    /// Returns a splitter for the body of one page of a list.
    fn split_list(&self, max_object_bytes: usize) -> Box<dyn Splitter<Output = ListEntry>>;

    /// Decodes one frame of a watch.
    ///
    /// A frame that is not a watch event is an error, which ends the watch. An object that cannot be decoded
    /// is not: it is an [`Undecodable`](WatchEvent::Undecodable) event.
    fn decode_event(&self, frame: &[u8]) -> Result<WatchEvent<K>, SourceError>;

    /// Reads a frame that is larger than the limit, of which the splitter kept only a part. An object is
    /// undecodable because of `reason`; anything else of that size is an error, which ends the watch.
    fn oversized_event(&self, part: &[u8], reason: String) -> Result<WatchEvent<K>, SourceError>;

    /// Decodes one item of a list. `types` is the type of the items according to the list, if known.
    fn decode_item(&self, item: &[u8], types: Option<&TypeMeta>) -> Result<SourceObject<K>, Undecodable>;

    /// Reads key, version and UID of one item of a list, or of the part of it that the splitter kept.
    fn identify(&self, item: &[u8]) -> Identity;

    /// Reads key, version and UID of the object of one frame of a watch, if the frame is an addition.
    fn identify_addition(&self, frame: &[u8]) -> Option<Identity>;

    /// Parses the `metav1.Status` of an error response. Returns `None` if the body is something else.
    fn parse_status(&self, body: &[u8]) -> Option<ServerStatus>;
}

/// Splits the body of a response, which arrives in chunks, into frames or entries.
///
/// Holds at most one incomplete frame or entry, limited to the size of an object, and one chunk. Of a larger
/// object only the part that identifies it is kept, at most 1 MiB, while up to 32 MiB of it are skipped.
pub(super) trait Splitter: Send {
    /// A frame of a watch, or an entry of a list.
    type Output;

    /// Adds the next chunk. [`next`](Self::next) must have returned `None` for the previous one.
    fn feed(&mut self, chunk: Bytes);

    /// Returns the next complete frame or entry, or `None` if the next chunk is needed.
    fn next(&mut self) -> Result<Option<Self::Output>, SourceError>;

    /// Checks at the end of the body that the body was complete. Not called for a watch, which may end
    /// anywhere.
    fn finish(&self) -> Result<(), SourceError>;
}

/// A frame of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchFrame {
    /// The frame, not decoded.
    Whole(Bytes),
    /// The part that identifies the object of a frame that is larger than the limit.
    Oversized(Bytes),
}

/// An entry in the body of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ListEntry {
    /// The metadata of the page, not validated. Empty values are `None`.
    Metadata(ListMetadata),
    /// The type of the items. Items of built-in kinds do not contain it.
    ItemTypes(TypeMeta),
    /// One item, not decoded.
    Item(Bytes),
    /// The part that identifies an item that is larger than the limit.
    Oversized(Bytes),
}

/// Why an object that is larger than the limit is not decoded.
pub(super) fn oversized_reason(limit: usize) -> String {
    format!(
        "it is larger than the limit of {limit} bytes; raise `max_object_bytes` to accept it, or cache only \
         the metadata of this kind"
    )
}

/// Describes an object that was not decoded.
pub(super) fn undecodable(identity: Identity, reason: String) -> Undecodable {
    let Identity { key, version, uid } = identity;
    Undecodable {
        key,
        version,
        uid,
        reason,
    }
}

/// The formats a source accepts, in order of preference. The server chooses one per response.
pub(super) struct Formats<K> {
    preferred: Vec<Arc<dyn Format<K>>>,
    /// Also reads responses whose `Content-Type` is absent or unknown: proxies and test servers send such
    /// responses.
    fallback: Arc<dyn Format<K>>,
}

impl<K: 'static> Formats<K> {
    /// Accepts one format.
    pub(super) fn only(format: Arc<dyn Format<K>>) -> Self {
        Self {
            preferred: Vec::new(),
            fallback: format,
        }
    }

    /// Accepts another format, and prefers it to those before.
    pub(super) fn prefer(&mut self, format: Arc<dyn Format<K>>) {
        self.preferred.insert(0, format);
    }

    /// Returns the media type of the format that also reads unknown responses.
    pub(super) fn last_media_type(&self) -> Vec<&'static str> {
        vec![self.fallback.media_type()]
    }

    /// Returns the media types of all formats, in order of preference.
    pub(super) fn media_types(&self) -> Vec<&'static str> {
        let formats = self.preferred.iter().chain([&self.fallback]);
        formats.map(|format| format.media_type()).collect()
    }

    /// Returns the format of a response.
    pub(super) fn of_response(&self, headers: &HeaderMap) -> &Arc<dyn Format<K>> {
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        // Parameters such as `;stream=watch` do not matter.
        let media_type = content_type
            .and_then(|value| value.split(';').next())
            .unwrap_or("");
        let is_response =
            |format: &&Arc<dyn Format<K>>| media_type.trim().eq_ignore_ascii_case(format.media_type());
        self.preferred.iter().find(is_response).unwrap_or(&self.fallback)
    }
}
