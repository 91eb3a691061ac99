//! A cursor over a body that arrives in chunks: varints, and values of known length.

use bytes::{Bytes, BytesMut};

use super::error::ProtobufError;
use super::fields::Varint;

/// Holds one incomplete value and one chunk. A value within one chunk is not copied.
///
/// Callers check the length of a value before they request it, so what is held is bounded.
#[derive(Default)]
pub(super) struct Cursor {
    chunk: Bytes,
    incomplete: BytesMut,
    varint: Varint,
}

impl Cursor {
    /// Adds the next chunk.
    pub(super) fn feed(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "the previous chunk was not read to its end"
        );
        self.chunk = chunk;
    }

    /// Returns the next `length` bytes, or `None` if the next chunk is needed.
    pub(super) fn take(&mut self, length: usize) -> Option<Bytes> {
        if self.incomplete.is_empty() && self.chunk.len() >= length {
            return Some(self.chunk.split_to(length));
        }
        let missing = length.saturating_sub(self.incomplete.len());
        let part = self.chunk.split_to(missing.min(self.chunk.len()));
        self.incomplete.extend_from_slice(&part);
        (part.len() == missing).then(|| self.incomplete.split().freeze())
    }

    /// Skips up to `length` bytes. Returns how many of them are left.
    pub(super) fn skip(&mut self, length: u64) -> u64 {
        let available = u64::try_from(self.chunk.len()).unwrap_or(u64::MAX);
        let skipped = length.min(available);
        let _skipped = self
            .chunk
            .split_to(usize::try_from(skipped).unwrap_or(self.chunk.len()));
        length - skipped
    }

    /// Reads a varint. Returns its value and the number of its bytes, or `None` if the next chunk is needed.
    pub(super) fn varint(&mut self) -> Result<Option<(u64, u64)>, ProtobufError> {
        let mut used = 0;
        let mut complete = None;
        for &byte in &self.chunk {
            used += 1;
            if let Some(value) = self.varint.push(byte)? {
                complete = Some((value, u64::from(self.varint.bytes())));
                self.varint = Varint::default();
                break;
            }
        }
        let _used = self.chunk.split_to(used);
        Ok(complete)
    }

    /// Whether all bytes were read, and none is held.
    pub(super) fn is_empty(&self) -> bool {
        self.chunk.is_empty() && self.incomplete.is_empty() && self.varint.bytes() == 0
    }

    /// Returns the incomplete value that is held.
    pub(super) fn held(&self) -> &[u8] {
        &self.incomplete
    }
}
