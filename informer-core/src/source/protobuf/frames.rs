//! Splits the body of a watch into frames: four bytes of length, big-endian, and a `WatchEvent`.

use bytes::Bytes;

use super::cursor::Cursor;
use super::event::is_error_event;
use crate::source::SourceError;
use crate::source::format::{Splitter, WatchFrame};
use crate::source::limits::{ERROR_BYTES, HEAD_BYTES, SKIPPED_BYTES};

/// Splits a body into frames, without their lengths.
///
/// Holds at most one incomplete frame, limited to the size of an object, and one chunk. A frame within one
/// chunk is not copied. Of a larger frame only the beginning is kept.
pub(in crate::source) struct FrameSplitter {
    limit: usize,
    cursor: Cursor,
    at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Length,
    Frame {
        length: usize,
    },
    /// The beginning of a frame that is larger than the limit.
    Head {
        length: usize,
    },
    /// The rest of it.
    Rest {
        head: Bytes,
        left: u64,
    },
}

impl FrameSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            cursor: Cursor::default(),
            at: At::Length,
        }
    }

    /// Limits an ERROR event to the size of an error response: real ones have a few hundred bytes.
    fn check_incomplete(&self, length: usize) -> Result<(), SourceError> {
        if length > ERROR_BYTES && is_error_event(self.cursor.held()) {
            return Err(SourceError::Protocol(format!(
                "an ERROR event is longer than {ERROR_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// Returns the size of the incomplete frame that is held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.cursor.held().len()
    }
}

impl Splitter for FrameSplitter {
    type Output = WatchFrame;

    fn feed(&mut self, chunk: Bytes) {
        self.cursor.feed(chunk);
    }

    fn next(&mut self) -> Result<Option<WatchFrame>, SourceError> {
        loop {
            match self.at {
                At::Length => {
                    let Some(bytes) = self.cursor.take(4) else {
                        return Ok(None);
                    };
                    let length = bytes
                        .iter()
                        .fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    if length.saturating_sub(self.limit) > SKIPPED_BYTES {
                        return Err(SourceError::TooLarge { limit: self.limit });
                    }
                    self.at = match length > self.limit {
                        true => At::Head { length },
                        false => At::Frame { length },
                    };
                }
                At::Frame { length } => {
                    let Some(frame) = self.cursor.take(length) else {
                        self.check_incomplete(length)?;
                        return Ok(None);
                    };
                    self.at = At::Length;
                    return Ok(Some(WatchFrame::Whole(frame)));
                }
                At::Head { length } => {
                    let Some(head) = self.cursor.take(self.limit.min(HEAD_BYTES)) else {
                        self.check_incomplete(length)?;
                        return Ok(None);
                    };
                    let left = (length - head.len()) as u64;
                    self.at = At::Rest { head, left };
                }
                At::Rest {
                    ref head,
                    ref mut left,
                } => {
                    *left = self.cursor.skip(*left);
                    if *left > 0 {
                        return Ok(None);
                    }
                    let frame = WatchFrame::Oversized(head.clone());
                    self.at = At::Length;
                    return Ok(Some(frame));
                }
            }
        }
    }

    /// An incomplete last frame is dropped with the splitter: the next watch sends its event again.
    fn finish(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
