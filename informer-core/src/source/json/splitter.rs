//! Splits the body of a list into its items and its metadata while the body streams.
//!
//! Only brackets, strings and the keys of the outermost object are parsed. The decoder checks whether an item
//! is valid JSON, so an invalid item does not affect the others.

use bytes::{Buf, Bytes, BytesMut};

use super::scan::ValueScan;
use super::skim::Skim;
use crate::source::SourceError;
use crate::source::limits::{BLANK_BYTES, OVERHEAD_BYTES, SKIPPED_BYTES};

/// The longest key of the outermost object. Kubernetes has none longer than a dozen bytes.
const KEY_LIMIT: usize = 1024;

/// A value of a list, as JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::source) enum ListValue {
    /// The value of `kind`.
    Kind(Bytes),
    /// The value of `apiVersion`.
    ApiVersion(Bytes),
    /// The value of `metadata`.
    Metadata(Bytes),
    /// One element of `items`.
    Item(Bytes),
    /// The part that identifies an element of `items` that is larger than the limit.
    Oversized(Bytes),
}

/// Splits a body into values and returns each as soon as it is complete.
///
/// Holds at most one incomplete value, limited to the size of an object, and one chunk. A value within one
/// chunk is not copied. A larger item is skimmed.
pub(in crate::source) struct ListSplitter {
    limit: usize,
    at: At,
    scan: ValueScan,
    incomplete: BytesMut,
    /// The item that is being read, if it is larger than the limit.
    oversized: Option<Skim>,
    /// The number of bytes of that item.
    skipped: usize,
    chunk: Bytes,
    has_items: bool,
    has_metadata: bool,
    /// The number of blank bytes in a row.
    blanks: usize,
    /// The number of bytes of keys, and of values other than items and metadata.
    overhead: usize,
}

/// The position of the next byte in the outermost object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    FirstKey,
    Key,
    Colon(Role),
    Value(Role),
    Within(Role),
    AfterValue,
    FirstItem,
    Item,
    AfterItem,
    End,
}

/// The role of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    KeyText,
    Kind,
    ApiVersion,
    Metadata,
    /// The value of `items` where it is not an array: only null is accepted.
    Items,
    Item,
    Skipped,
}

impl ListSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            at: At::Start,
            scan: ValueScan::default(),
            incomplete: BytesMut::new(),
            oversized: None,
            skipped: 0,
            chunk: Bytes::new(),
            has_items: false,
            has_metadata: false,
            blanks: 0,
            overhead: 0,
        }
    }

    /// Adds the next chunk of the body. `next` must have returned `None` for the previous one.
    pub(in crate::source) fn feed(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "the previous chunk was not read to its end"
        );
        self.chunk = chunk;
    }

    /// Returns the next value, or `None` if the next chunk is needed.
    pub(in crate::source) fn next(&mut self) -> Result<Option<ListValue>, SourceError> {
        loop {
            if let At::Within(role) = self.at {
                let Some(text) = self.scan_value(role)? else {
                    return Ok(None);
                };
                if let Some(value) = self.finish_value(role, text)? {
                    return Ok(Some(value));
                }
                continue;
            }
            let Some(byte) = self.skip_blanks()? else {
                return Ok(None);
            };
            self.step(byte)?;
        }
    }

    /// Skips whitespace. Returns the byte after it, which is not consumed, or `None` if the next chunk is
    /// needed.
    fn skip_blanks(&mut self) -> Result<Option<u8>, SourceError> {
        let first = self.chunk.iter().position(|byte| !byte.is_ascii_whitespace());
        let blanks = first.unwrap_or(self.chunk.len());
        self.blanks += blanks;
        if self.blanks > BLANK_BYTES {
            return Err(SourceError::Protocol(format!(
                "a list has more than {BLANK_BYTES} blank bytes in a row"
            )));
        }
        self.chunk.advance(blanks);
        if first.is_some() {
            self.blanks = 0;
        }
        Ok(self.chunk.first().copied())
    }

    /// Says whether the body was a whole list.
    pub(in crate::source) fn finish(&self) -> Result<(), SourceError> {
        if self.at != At::End {
            return Err(SourceError::Transport(
                "the list ended before its closing brace".to_owned(),
            ));
        }
        if !self.has_items {
            return Err(protocol("a list has no `items`"));
        }
        if !self.has_metadata {
            return Err(protocol("a list has no `metadata`"));
        }
        Ok(())
    }

    /// Consumes one byte between values, or begins the value that starts with it.
    fn step(&mut self, byte: u8) -> Result<(), SourceError> {
        self.at = match (self.at, byte) {
            (At::Start, b'{') => At::FirstKey,
            (At::Start, _) => return Err(protocol("it is not a JSON object")),
            (At::FirstKey, b'}') | (At::AfterValue, b'}') => At::End,
            (At::FirstKey | At::Key, b'"') => return self.begin(byte, Role::KeyText),
            (At::Colon(role), b':') => At::Value(role),
            (At::Value(Role::Items), b'[') => At::FirstItem,
            (At::Value(role), _) => return self.begin(byte, role),
            (At::AfterValue, b',') => At::Key,
            (At::FirstItem | At::AfterItem, b']') => At::AfterValue,
            (At::FirstItem | At::Item, _) => return self.begin(byte, Role::Item),
            (At::AfterItem, b',') => At::Item,
            (At::End, _) => return Err(protocol("unexpected data after the list's closing brace")),
            _ => return Err(protocol("the list is not valid JSON")),
        };
        self.chunk.advance(1);
        Ok(())
    }

    fn begin(&mut self, byte: u8, role: Role) -> Result<(), SourceError> {
        self.scan = ValueScan::of(byte).ok_or_else(|| protocol("the list is not valid JSON"))?;
        self.at = At::Within(role);
        Ok(())
    }

    /// Continues a value. Returns its text when it is complete. The text of a skipped value is empty.
    fn scan_value(&mut self, role: Role) -> Result<Option<Bytes>, SourceError> {
        let end = self
            .scan
            .advance(&self.chunk)
            .map_err(|error| protocol(&error.to_string()))?;
        let text = self.chunk.split_to(end.unwrap_or(self.chunk.len()));
        if !matches!(role, Role::Item | Role::Metadata) {
            self.overhead += text.len();
            if self.overhead > OVERHEAD_BYTES {
                return Err(SourceError::Protocol(format!(
                    "a list has more than {OVERHEAD_BYTES} bytes besides its items and metadata"
                )));
            }
        }
        if role == Role::Skipped {
            return Ok(end.map(|_| Bytes::new()));
        }
        let length = self.incomplete.len() + text.len();
        if role == Role::KeyText && length > KEY_LIMIT {
            return Err(protocol("a key of the list is too long"));
        }
        if self.oversized.is_some() || (length > self.limit && role == Role::Item) {
            self.skip(&text)?;
            return Ok(end.map(|_| Bytes::new()));
        }
        if length > self.limit {
            return Err(SourceError::TooLarge { limit: self.limit });
        }
        match end {
            Some(_) if self.incomplete.is_empty() => Ok(Some(text)),
            _ => {
                self.incomplete.extend_from_slice(&text);
                Ok(end.map(|_| self.incomplete.split().freeze()))
            }
        }
    }

    /// Skims a part of an item that is larger than the limit.
    fn skip(&mut self, part: &[u8]) -> Result<(), SourceError> {
        let held = std::mem::take(&mut self.incomplete);
        let skim = self.oversized.get_or_insert_with(Skim::of_object);
        for bytes in [&held[..], part] {
            skim.feed(bytes);
            self.skipped += bytes.len();
        }
        if self.skipped.saturating_sub(self.limit) > SKIPPED_BYTES {
            return Err(SourceError::TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn finish_value(&mut self, role: Role, text: Bytes) -> Result<Option<ListValue>, SourceError> {
        self.at = match role {
            Role::Item => At::AfterItem,
            Role::KeyText => At::Colon(self.role_of_key(&text)?),
            Role::Kind | Role::ApiVersion | Role::Metadata | Role::Items | Role::Skipped => At::AfterValue,
        };
        match role {
            Role::Item => Ok(Some(match self.oversized.take() {
                Some(skim) => {
                    self.skipped = 0;
                    ListValue::Oversized(skim.into_sketch())
                }
                None => ListValue::Item(text),
            })),
            Role::Kind => Ok(Some(ListValue::Kind(text))),
            Role::ApiVersion => Ok(Some(ListValue::ApiVersion(text))),
            Role::Metadata => Ok(Some(ListValue::Metadata(text))),
            Role::Items if text != "null" => Err(protocol("the list's `items` is not an array")),
            Role::Items | Role::KeyText | Role::Skipped => Ok(None),
        }
    }

    fn role_of_key(&mut self, text: &[u8]) -> Result<Role, SourceError> {
        let key: String = serde_json::from_slice(text).map_err(|_| protocol("the list is not valid JSON"))?;
        let (role, is_repeated) = match key.as_str() {
            "items" => (Role::Items, std::mem::replace(&mut self.has_items, true)),
            "metadata" => (Role::Metadata, std::mem::replace(&mut self.has_metadata, true)),
            "kind" => (Role::Kind, false),
            "apiVersion" => (Role::ApiVersion, false),
            _ => (Role::Skipped, false),
        };
        if is_repeated {
            Err(protocol("the list has a duplicate key"))
        } else {
            Ok(role)
        }
    }

    /// Returns the size of the incomplete value that is held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.incomplete.len()
    }
}

fn protocol(why: &str) -> SourceError {
    SourceError::Protocol(why.to_owned())
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
