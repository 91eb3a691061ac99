//! Splits the body of a list into its metadata and items while the body streams.

use bytes::Bytes;
use kube::core::TypeMeta;

use super::cursor::Cursor;
use super::envelope::{MAGIC, RAW, TYPE_META, TypeNames};
use super::error::{Fault, ProtobufError};
use super::fields::{Fields, Tag, Wire};
use crate::resource_version::ResourceVersion;
use crate::source::format::{ListEntry, Splitter};
use crate::source::limits::{HEAD_BYTES, OVERHEAD_BYTES, SKIPPED_BYTES};
use crate::source::{ListMetadata, SourceError};

/// Numbers of the fields of every list.
const METADATA: u32 = 1;
const ITEMS: u32 = 2;

/// Splits a body and returns each entry as soon as it is complete.
///
/// Holds at most one incomplete entry, limited to the size of an object, and one chunk. An entry within one
/// chunk is not copied. Of a larger item only the beginning is kept.
pub(in crate::source) struct ListSplitter {
    limit: usize,
    cursor: Cursor,
    at: At,
    /// The number of bytes of the list that are not read, while `at` is inside of it.
    left: u64,
    list: Found,
    metadata: Found,
    /// The number of bytes of tags, and of values other than items and metadata.
    overhead: u64,
    /// The beginning of an item whose rest is skipped.
    head: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    No,
    Yes,
}

/// The position of the next byte. `Level` is the message whose field it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Magic,
    Tag(Level),
    /// The length of a delimited field.
    Length(Level, u32),
    Value(Level, u32, usize),
    /// The beginning of an item of this length, which is larger than the limit.
    Head(usize),
    /// The rest of it.
    Rest(u64),
    /// A varint of a field that is skipped.
    SkippedVarint(Level),
    Skipped(Level, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The `runtime.Unknown` around the list.
    Envelope,
    /// The list.
    List,
}

impl ListSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            cursor: Cursor::default(),
            at: At::Magic,
            left: 0,
            list: Found::No,
            metadata: Found::No,
            overhead: 0,
            head: Bytes::new(),
        }
    }

    /// Reads the next tag, length or value.
    fn step(&mut self) -> Result<Step, SourceError> {
        match self.at {
            At::Magic => {
                let Some(magic) = self.cursor.take(MAGIC.len()) else {
                    return Ok(Step::NeedsChunk);
                };
                if magic != MAGIC {
                    return Err(protocol("the body is not protobuf of Kubernetes"));
                }
                self.at = At::Tag(Level::Envelope);
            }
            At::Tag(Level::List) if self.left == 0 => self.at = At::Tag(Level::Envelope),
            At::Tag(level) => {
                let Some(key) = self.varint(level)? else {
                    return Ok(Step::NeedsChunk);
                };
                let tag = Tag::of(key).map_err(invalid)?;
                self.at = match tag.wire() {
                    Wire::Delimited => At::Length(level, tag.number),
                    Wire::Varint => At::SkippedVarint(level),
                    Wire::Fixed32 => self.skip(level, 4)?,
                    Wire::Fixed64 => self.skip(level, 8)?,
                };
            }
            At::SkippedVarint(level) => {
                if self.varint(level)?.is_none() {
                    return Ok(Step::NeedsChunk);
                }
                self.at = At::Tag(level);
            }
            At::Length(level, number) => {
                let Some(length) = self.varint(level)? else {
                    return Ok(Step::NeedsChunk);
                };
                self.at = self.value(level, number, length)?;
            }
            At::Skipped(level, length) => {
                let left = self.cursor.skip(length);
                if left > 0 {
                    self.at = At::Skipped(level, left);
                    return Ok(Step::NeedsChunk);
                }
                self.at = At::Tag(level);
            }
            At::Head(length) => {
                let Some(head) = self.cursor.take(self.limit.min(HEAD_BYTES)) else {
                    return Ok(Step::NeedsChunk);
                };
                self.at = At::Rest((length - head.len()) as u64);
                self.head = head;
            }
            At::Rest(left) => {
                let left = self.cursor.skip(left);
                self.at = At::Rest(left);
                if left > 0 {
                    return Ok(Step::NeedsChunk);
                }
                self.at = At::Tag(Level::List);
                let head = std::mem::take(&mut self.head);
                return Ok(Step::Entry(ListEntry::Oversized(head)));
            }
            At::Value(level, number, length) => {
                let Some(value) = self.cursor.take(length) else {
                    return Ok(Step::NeedsChunk);
                };
                self.at = At::Tag(level);
                return self.entry(level, number, value);
            }
        }
        Ok(Step::Done)
    }

    /// Decides what happens to a delimited value of this length.
    fn value(&mut self, level: Level, number: u32, length: u64) -> Result<At, SourceError> {
        match (level, number) {
            (Level::Envelope, RAW) => {
                if self.list == Found::Yes {
                    return Err(protocol("the body has two lists"));
                }
                self.list = Found::Yes;
                self.left = length;
                Ok(At::Tag(Level::List))
            }
            (Level::Envelope, TYPE_META) => {
                self.count_overhead(length)?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Ok(At::Value(level, number, length))
            }
            (Level::List, METADATA | ITEMS) => {
                self.consume(level, length)?;
                match usize::try_from(length) {
                    Ok(length) if length <= self.limit => Ok(At::Value(level, number, length)),
                    Ok(length) if number == ITEMS && length - self.limit <= SKIPPED_BYTES => {
                        Ok(At::Head(length))
                    }
                    _ => Err(SourceError::TooLarge { limit: self.limit }),
                }
            }
            _ => self.skip(level, length),
        }
    }

    fn entry(&mut self, level: Level, number: u32, value: Bytes) -> Result<Step, SourceError> {
        match (level, number) {
            (Level::List, ITEMS) => Ok(Step::Entry(ListEntry::Item(value))),
            (Level::List, _) => {
                if std::mem::replace(&mut self.metadata, Found::Yes) == Found::Yes {
                    return Err(protocol("the list has duplicate metadata"));
                }
                let metadata = parse_metadata(&value).map_err(invalid)?;
                Ok(Step::Entry(ListEntry::Metadata(metadata)))
            }
            (Level::Envelope, _) => {
                let types = TypeNames::read(&value).map_err(invalid)?;
                if let "Status" | "Table" = types.kind {
                    return Err(SourceError::Protocol(format!(
                        "received a {} instead of a list",
                        types.kind
                    )));
                }
                Ok(match item_types(types) {
                    Some(types) => Step::Entry(ListEntry::ItemTypes(types)),
                    None => Step::Done,
                })
            }
        }
    }

    fn skip(&mut self, level: Level, length: u64) -> Result<At, SourceError> {
        self.consume(level, length)?;
        self.count_overhead(length)?;
        Ok(At::Skipped(level, length))
    }

    /// Reads a varint of a message and counts its bytes.
    fn varint(&mut self, level: Level) -> Result<Option<u64>, SourceError> {
        let Some((value, bytes)) = self.cursor.varint().map_err(invalid)? else {
            return Ok(None);
        };
        self.consume(level, bytes)?;
        if level == Level::Envelope {
            self.count_overhead(bytes)?;
        }
        Ok(Some(value))
    }

    /// Counts bytes of the list.
    fn consume(&mut self, level: Level, bytes: u64) -> Result<(), SourceError> {
        if level == Level::List {
            self.left = self
                .left
                .checked_sub(bytes)
                .ok_or_else(|| invalid(ProtobufError::new(Fault::Truncated)))?;
        }
        Ok(())
    }

    fn count_overhead(&mut self, bytes: u64) -> Result<(), SourceError> {
        self.overhead = self.overhead.saturating_add(bytes);
        if usize::try_from(self.overhead).is_ok_and(|bytes| bytes <= OVERHEAD_BYTES) {
            return Ok(());
        }
        Err(SourceError::Protocol(format!(
            "a list has more than {OVERHEAD_BYTES} bytes besides its items and metadata"
        )))
    }

    /// Returns the size of the incomplete entry that is held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.cursor.held().len()
    }
}

/// What one step did.
enum Step {
    Done,
    Entry(ListEntry),
    NeedsChunk,
}

impl Splitter for ListSplitter {
    type Output = ListEntry;

    fn feed(&mut self, chunk: Bytes) {
        self.cursor.feed(chunk);
    }

    fn next(&mut self) -> Result<Option<ListEntry>, SourceError> {
        loop {
            match self.step()? {
                Step::Done => {}
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::NeedsChunk => return Ok(None),
            }
        }
    }

    fn finish(&self) -> Result<(), SourceError> {
        let is_at_end = match self.at {
            At::Tag(Level::Envelope) => true,
            At::Tag(Level::List) => self.left == 0,
            _ => false,
        };
        if !is_at_end || !self.cursor.is_empty() || self.list == Found::No {
            return Err(SourceError::Transport(
                "the list ended before its last byte".to_owned(),
            ));
        }
        match self.metadata {
            Found::Yes => Ok(()),
            Found::No => Err(protocol("a list has no `metadata`")),
        }
    }
}

/// Returns the type of the items: `Pod` for a `PodList`.
fn item_types(types: TypeNames<'_>) -> Option<TypeMeta> {
    let kind = types.kind.strip_suffix("List")?;
    (!kind.is_empty() && !types.api_version.is_empty()).then(|| TypeMeta {
        api_version: types.api_version.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Reads a `metav1.ListMeta`.
fn parse_metadata(bytes: &[u8]) -> Result<ListMetadata, ProtobufError> {
    let mut metadata = ListMetadata::default();
    let mut fields = Fields(bytes);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            2 => {
                let version = fields.text(tag)?;
                metadata.resource_version = (!version.is_empty()).then(|| ResourceVersion::new(version));
            }
            3 => {
                let token = fields.text(tag)?;
                metadata.continue_token = (!token.is_empty()).then(|| token.to_owned());
            }
            4 => metadata.remaining = u64::try_from(fields.integer(tag)?).ok(),
            _ => fields.skip(tag)?,
        }
    }
    Ok(metadata)
}

fn invalid(error: ProtobufError) -> SourceError {
    SourceError::Protocol(format!("the list is not valid protobuf: {error}"))
}

fn protocol(why: &str) -> SourceError {
    SourceError::Protocol(why.to_owned())
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
