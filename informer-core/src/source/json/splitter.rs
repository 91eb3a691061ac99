//! Cuts the body of a list into its items and its metadata while the body streams.
//!
//! Only brackets, strings and the keys of the outermost object are looked at; whether an item is sound JSON is for its
//! decoder to say. So one bad item harms only itself.

use bytes::{Buf, Bytes, BytesMut};

use super::scan::ValueScan;
use crate::source::SourceError;
use crate::source::limits::{BLANK_BYTES, OVERHEAD_BYTES};

/// The longest key of the outermost object. Kubernetes has none longer than a dozen bytes.
const KEY_LIMIT: usize = 1024;

/// A part of a list, as its JSON text.
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
}

/// Collects pieces of a body and gives out its parts, each as soon as it is complete.
///
/// Holds at most one unfinished part, which may not grow past the limit, and the piece it was given last. A part
/// that lies within one piece is not copied.
pub(in crate::source) struct ListSplitter {
    limit: usize,
    at: At,
    scan: ValueScan,
    unfinished: BytesMut,
    piece: Bytes,
    has_items: bool,
    has_metadata: bool,
    /// How many blank bytes came since anything else.
    blanks: usize,
    /// How many bytes of keys and of values other than items and metadata came.
    overhead: usize,
}

/// Where in the outermost object the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    FirstKey,
    Key,
    Colon(Slot),
    Value(Slot),
    Within(Slot),
    AfterValue,
    FirstItem,
    Item,
    AfterItem,
    End,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
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
            unfinished: BytesMut::new(),
            piece: Bytes::new(),
            has_items: false,
            has_metadata: false,
            blanks: 0,
            overhead: 0,
        }
    }

    /// Gives the next piece of the body. All parts of the one before must have been taken.
    pub(in crate::source) fn feed(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "the last piece is not read to its end");
        self.piece = piece;
    }

    /// The next part; `None` when more input is needed.
    pub(in crate::source) fn next(&mut self) -> Result<Option<ListValue>, SourceError> {
        loop {
            if let At::Within(slot) = self.at {
                let Some(text) = self.scan_value(slot)? else {
                    return Ok(None);
                };
                if let Some(piece) = self.finish_value(slot, text)? {
                    return Ok(Some(piece));
                }
                continue;
            }
            let Some(byte) = self.skip_blanks()? else {
                return Ok(None);
            };
            self.step(byte)?;
        }
    }

    /// Skips blanks; returns the byte behind them, which is not consumed, or `None` when more input is
    /// needed.
    fn skip_blanks(&mut self) -> Result<Option<u8>, SourceError> {
        let first = self.piece.iter().position(|byte| !byte.is_ascii_whitespace());
        let blanks = first.unwrap_or(self.piece.len());
        self.blanks += blanks;
        if self.blanks > BLANK_BYTES {
            return Err(SourceError::Protocol(format!(
                "a list has more than {BLANK_BYTES} blank bytes in a row"
            )));
        }
        self.piece.advance(blanks);
        if first.is_some() {
            self.blanks = 0;
        }
        Ok(self.piece.first().copied())
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

    /// Takes one byte between values, or begins the value that starts with it.
    fn step(&mut self, byte: u8) -> Result<(), SourceError> {
        self.at = match (self.at, byte) {
            (At::Start, b'{') => At::FirstKey,
            (At::Start, _) => return Err(protocol("it is not a JSON object")),
            (At::FirstKey, b'}') | (At::AfterValue, b'}') => At::End,
            (At::FirstKey | At::Key, b'"') => return self.begin(byte, Slot::KeyText),
            (At::Colon(slot), b':') => At::Value(slot),
            (At::Value(Slot::Items), b'[') => At::FirstItem,
            (At::Value(slot), _) => return self.begin(byte, slot),
            (At::AfterValue, b',') => At::Key,
            (At::FirstItem | At::AfterItem, b']') => At::AfterValue,
            (At::FirstItem | At::Item, _) => return self.begin(byte, Slot::Item),
            (At::AfterItem, b',') => At::Item,
            (At::End, _) => return Err(protocol("there is something behind the list's closing brace")),
            _ => return Err(protocol("the list is not sound JSON")),
        };
        self.piece.advance(1);
        Ok(())
    }

    fn begin(&mut self, byte: u8, slot: Slot) -> Result<(), SourceError> {
        self.scan = ValueScan::of(byte).ok_or_else(|| protocol("the list is not sound JSON"))?;
        self.at = At::Within(slot);
        Ok(())
    }

    /// Reads on in a value; answers its text once it is complete. The text of a skipped value is empty.
    fn scan_value(&mut self, slot: Slot) -> Result<Option<Bytes>, SourceError> {
        let end = self
            .scan
            .advance(&self.piece)
            .map_err(|error| protocol(&error.to_string()))?;
        let part = self.piece.split_to(end.unwrap_or(self.piece.len()));
        if !matches!(slot, Slot::Item | Slot::Metadata) {
            self.overhead += part.len();
            if self.overhead > OVERHEAD_BYTES {
                return Err(SourceError::Protocol(format!(
                    "a list has more than {OVERHEAD_BYTES} bytes besides its items and metadata"
                )));
            }
        }
        if slot == Slot::Skipped {
            return Ok(end.map(|_| Bytes::new()));
        }
        let length = self.unfinished.len() + part.len();
        if slot == Slot::KeyText && length > KEY_LIMIT {
            return Err(protocol("a key of the list is too long"));
        }
        if length > self.limit {
            return Err(SourceError::TooLarge { limit: self.limit });
        }
        match end {
            Some(_) if self.unfinished.is_empty() => Ok(Some(part)),
            _ => {
                self.unfinished.extend_from_slice(&part);
                Ok(end.map(|_| self.unfinished.split().freeze()))
            }
        }
    }

    fn finish_value(&mut self, slot: Slot, text: Bytes) -> Result<Option<ListValue>, SourceError> {
        self.at = match slot {
            Slot::Item => At::AfterItem,
            Slot::KeyText => At::Colon(self.slot_of_key(&text)?),
            Slot::Kind | Slot::ApiVersion | Slot::Metadata | Slot::Items | Slot::Skipped => At::AfterValue,
        };
        match slot {
            Slot::Item => Ok(Some(ListValue::Item(text))),
            Slot::Kind => Ok(Some(ListValue::Kind(text))),
            Slot::ApiVersion => Ok(Some(ListValue::ApiVersion(text))),
            Slot::Metadata => Ok(Some(ListValue::Metadata(text))),
            Slot::Items if text != "null" => Err(protocol("the list's `items` is not an array")),
            Slot::Items | Slot::KeyText | Slot::Skipped => Ok(None),
        }
    }

    fn slot_of_key(&mut self, text: &[u8]) -> Result<Slot, SourceError> {
        let key: String = serde_json::from_slice(text).map_err(|_| protocol("the list is not sound JSON"))?;
        let (slot, is_repeated) = match key.as_str() {
            "items" => (Slot::Items, std::mem::replace(&mut self.has_items, true)),
            "metadata" => (Slot::Metadata, std::mem::replace(&mut self.has_metadata, true)),
            "kind" => (Slot::Kind, false),
            "apiVersion" => (Slot::ApiVersion, false),
            _ => (Slot::Skipped, false),
        };
        if is_repeated {
            Err(protocol("a key of the list stands there twice"))
        } else {
            Ok(slot)
        }
    }

    /// How many bytes of an unfinished part are held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.unfinished.len()
    }
}

fn protocol(why: &str) -> SourceError {
    SourceError::Protocol(why.to_owned())
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
