//! Streaming gzip decompression for bodies of any number of members, with bounded output per step.
//!
//! Kubernetes 1.37 closes a gzip member at every flush of a watch-list stream, so a body is a sequence of
//! members. `flate2::write::MultiGzDecoder` reads such bodies, but one `write` to it may unpack a thousand
//! times its input into memory, and it holds back up to 32 KiB of output until it is flushed. So headers and
//! trailers are parsed here, around `flate2::Decompress`: every byte of output is returned as soon as its
//! input has arrived, at most [`OUTPUT_STEP`] bytes at a time.

use std::cell::RefCell;

use bytes::{Buf, Bytes};
use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};

use super::limits::EMPTY_GZIP_BYTES;

/// The maximum output of one step.
pub(super) const OUTPUT_STEP: usize = 64 * 1024;

thread_local! {
    /// The output of a step, before it is copied into a block of its size. A new buffer for every step would
    /// be filled with zeros first, and much of it would wait unused beside the frames in it.
    static OUTPUT: RefCell<Box<[u8]>> = RefCell::new(vec![0; OUTPUT_STEP].into());
}

const HAS_HEADER_CRC: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Decompresses a gzip stream that arrives in chunks.
///
/// Call [`feed`](Self::feed) with a chunk, then [`next`](Self::next) until it returns `None`. At the end of
/// the body, [`ending`](Self::ending) returns whether the last member was complete.
pub(super) struct Gunzip {
    state: State,
    input: Bytes,
    inflate: Decompress,
    /// The checksum of the member so far.
    crc: Hasher,
    /// The length of the member so far, modulo 2^32.
    length: u32,
    /// Whether the last step filled its output buffer, so that more output may follow without further input.
    filled: bool,
    /// The number of input bytes consumed since the last output.
    without_output: usize,
}

enum State {
    /// Before the first member.
    Start,
    /// After a complete member: another one, zero padding, or the end follows.
    Between,
    /// In a header, at this field.
    Header { fields: Fields, at: Field },
    /// In the compressed data.
    Data,
    /// In the checksum and length after the data.
    Trailer { bytes: [u8; 8], have: usize },
}

/// The optional header fields that are not read yet, as bits of the header's flag byte.
#[derive(Clone, Copy)]
struct Fields(u8);

#[derive(Clone, Copy)]
enum Field {
    Fixed { have: usize },
    ExtraLength { low: Option<u8> },
    Extra { left: u16 },
    Name,
    Comment,
    Crc { left: u8 },
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// At the end of a member.
    Complete,
    /// Inside a member.
    Truncated,
}

/// Why a stream is not valid gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GzipError {
    #[error("the body does not begin with a gzip header")]
    Header,
    #[error("the compressed data is corrupt")]
    Data,
    #[error("a checksum does not match")]
    Checksum,
    #[error("unexpected data after the compressed data")]
    Garbage,
    #[error("more than {EMPTY_GZIP_BYTES} compressed bytes in a row unpack to nothing")]
    Empty,
}

impl Gunzip {
    pub(super) fn new() -> Self {
        Self {
            state: State::Start,
            input: Bytes::new(),
            inflate: Decompress::new(false),
            crc: Hasher::new(),
            length: 0,
            filled: false,
            without_output: 0,
        }
    }

    /// Adds the next chunk. [`next`](Self::next) must have returned `None` for the previous one.
    pub(super) fn feed(&mut self, input: Bytes) {
        debug_assert!(
            self.input.is_empty(),
            "the previous chunk was not read to its end"
        );
        self.input = input;
    }

    /// Returns the next decompressed bytes, never empty and at most [`OUTPUT_STEP`], or `None` if the next
    /// chunk is needed.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, GzipError> {
        loop {
            if let State::Data = self.state {
                if self.input.is_empty() && !self.filled {
                    return Ok(None);
                }
                let before = self.input.len();
                let output = OUTPUT.with_borrow_mut(|buffer| self.inflate(buffer))?;
                if !output.is_empty() {
                    self.without_output = 0;
                    return Ok(Some(output));
                }
                self.count_without_output(before - self.input.len())?;
                continue;
            }
            if self.input.is_empty() {
                return Ok(None);
            }
            let byte = self.input.get_u8();
            self.frame(byte)?;
            self.count_without_output(1)?;
        }
    }

    fn count_without_output(&mut self, bytes: usize) -> Result<(), GzipError> {
        self.without_output += bytes;
        if self.without_output > EMPTY_GZIP_BYTES {
            return Err(GzipError::Empty);
        }
        Ok(())
    }

    pub(super) fn ending(&self) -> Ending {
        match self.state {
            State::Start | State::Between => Ending::Complete,
            State::Header { .. } | State::Data | State::Trailer { .. } => Ending::Truncated,
        }
    }

    fn inflate(&mut self, buffer: &mut [u8]) -> Result<Bytes, GzipError> {
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(&self.input, buffer, FlushDecompress::None)
            .map_err(|_| GzipError::Data)?;
        let difference =
            |after: u64, before: u64| usize::try_from(after - before).map_err(|_| GzipError::Data);
        let consumed = difference(self.inflate.total_in(), before.0)?;
        let produced = difference(self.inflate.total_out(), before.1)?;
        self.input.advance(consumed);
        let output = Bytes::copy_from_slice(&buffer[..produced]);
        self.crc.update(&output);
        self.length = self
            .length
            .wrapping_add(u32::try_from(produced).map_err(|_| GzipError::Data)?);
        self.filled = produced == buffer.len();
        match status {
            Status::StreamEnd => {
                self.filled = false;
                self.state = State::Trailer {
                    bytes: [0; 8],
                    have: 0,
                };
            }
            Status::Ok | Status::BufError if consumed == 0 && output.is_empty() && !self.input.is_empty() => {
                return Err(GzipError::Data);
            }
            Status::Ok | Status::BufError => {}
        }
        Ok(output)
    }

    /// Consumes one byte of a header or a trailer.
    fn frame(&mut self, byte: u8) -> Result<(), GzipError> {
        match &mut self.state {
            State::Between if byte == 0 => {}
            State::Between if byte != MAGIC[0] => return Err(GzipError::Garbage),
            State::Start if byte != MAGIC[0] => return Err(GzipError::Header),
            State::Start | State::Between => {
                self.state = State::Header {
                    fields: Fields(0),
                    at: Field::Fixed { have: 1 },
                };
            }
            State::Header { fields, at } => match at.take(byte, fields)? {
                Some(next) => *at = next,
                None => {
                    self.inflate.reset(false);
                    self.crc.reset();
                    self.length = 0;
                    self.state = State::Data;
                }
            },
            State::Trailer { bytes, have } => {
                bytes[*have] = byte;
                *have += 1;
                if *have == bytes.len() {
                    let [a, b, c, d, e, f, g, h] = *bytes;
                    let is_intact = u32::from_le_bytes([a, b, c, d]) == self.crc.clone().finalize()
                        && u32::from_le_bytes([e, f, g, h]) == self.length;
                    if !is_intact {
                        return Err(GzipError::Checksum);
                    }
                    self.state = State::Between;
                }
            }
            State::Data => return Err(GzipError::Data),
        }
        Ok(())
    }
}

/// Two magic bytes and the only compression method that exists.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const FIXED_LENGTH: usize = 10;

impl Field {
    /// Consumes one byte of the header. Returns the field of the next byte, or `None` at the end of the
    /// header.
    fn take(self, byte: u8, fields: &mut Fields) -> Result<Option<Self>, GzipError> {
        Ok(match self {
            Self::Fixed { have } => {
                if MAGIC.get(have).is_some_and(|magic| *magic != byte) {
                    return Err(GzipError::Header);
                }
                if have == 3 {
                    if byte & RESERVED != 0 {
                        return Err(GzipError::Header);
                    }
                    *fields = Fields(byte);
                }
                if have + 1 == FIXED_LENGTH {
                    fields.next()
                } else {
                    Some(Self::Fixed { have: have + 1 })
                }
            }
            Self::ExtraLength { low: None } => Some(Self::ExtraLength { low: Some(byte) }),
            Self::ExtraLength { low: Some(low) } => match u16::from_le_bytes([low, byte]) {
                0 => fields.next(),
                left => Some(Self::Extra { left }),
            },
            Self::Extra { left: 1 } => fields.next(),
            Self::Extra { left } => Some(Self::Extra { left: left - 1 }),
            Self::Name | Self::Comment if byte == 0 => fields.next(),
            Self::Name | Self::Comment => Some(self),
            Self::Crc { left: 1 } => None,
            Self::Crc { left } => Some(Self::Crc { left: left - 1 }),
        })
    }
}

impl Fields {
    /// Returns the next optional field, in the order of the header.
    fn next(&mut self) -> Option<Field> {
        for (flag, field) in [
            (HAS_EXTRA, Field::ExtraLength { low: None }),
            (HAS_NAME, Field::Name),
            (HAS_COMMENT, Field::Comment),
            (HAS_HEADER_CRC, Field::Crc { left: 2 }),
        ] {
            if self.0 & flag != 0 {
                self.0 &= !flag;
                return Some(field);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "gzip_tests.rs"]
mod tests;
