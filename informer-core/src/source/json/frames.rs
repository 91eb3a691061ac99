//! Cuts the body of a watch into its frames: one JSON document per line.

use bytes::{Buf as _, Bytes, BytesMut};

use super::event::is_error_event;
use crate::source::SourceError;
use crate::source::format::Splitter;
use crate::source::limits::{BLANK_BYTES, ERROR_BYTES};

/// Collects pieces of a body and gives out whole lines, without their ends and without blanks before them.
///
/// Holds at most one unfinished line, which may not grow past the limit, and the piece it was given last. A line that
/// lies within one piece is not copied. Blank lines are skipped, up to a limit in a row.
pub(in crate::source) struct FrameSplitter {
    limit: usize,
    unfinished: BytesMut,
    piece: Bytes,
    /// How many blank bytes came since the last line.
    blanks: usize,
}

impl FrameSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            unfinished: BytesMut::new(),
            piece: Bytes::new(),
            blanks: 0,
        }
    }

    fn skip_blanks(&mut self) -> Result<(), SourceError> {
        let first = self.piece.iter().position(|byte| !byte.is_ascii_whitespace());
        let blanks = first.unwrap_or(self.piece.len());
        self.blanks += blanks;
        if self.blanks > BLANK_BYTES {
            return Err(SourceError::Protocol(format!(
                "a watch sent more than {BLANK_BYTES} blank bytes in a row"
            )));
        }
        self.piece.advance(blanks);
        if first.is_some() {
            self.blanks = 0;
        }
        Ok(())
    }

    /// Limits an ERROR event to the size of an error response: real ones have a few hundred bytes.
    fn check_unfinished(&self) -> Result<(), SourceError> {
        if self.unfinished.len() > ERROR_BYTES && is_error_event(&self.unfinished) {
            return Err(SourceError::Protocol(format!(
                "an ERROR event is longer than {ERROR_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// How many bytes of an unfinished line are held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.unfinished.len()
    }
}

impl Splitter for FrameSplitter {
    type Output = Bytes;

    /// Gives the next piece. All frames of the one before must have been taken.
    fn feed(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "the last piece is not read to its end");
        self.piece = piece;
    }

    /// The next line that is not blank; `None` when more input is needed. What is left when the body ends was cut
    /// off in the middle and is dropped with the splitter.
    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        if self.unfinished.is_empty() {
            self.skip_blanks()?;
        }
        if !self.piece.is_empty() {
            let end = memchr::memchr(b'\n', &self.piece);
            let length = end.unwrap_or(self.piece.len());
            if self.unfinished.len() + length > self.limit {
                return Err(SourceError::TooLarge { limit: self.limit });
            }
            let part = self.piece.split_to(length);
            if end.is_none() {
                self.unfinished.extend_from_slice(&part);
                self.check_unfinished()?;
                return Ok(None);
            }
            let _newline = self.piece.split_to(1);
            if self.unfinished.is_empty() {
                return Ok(Some(part));
            }
            self.unfinished.extend_from_slice(&part);
            return Ok(Some(self.unfinished.split().freeze()));
        }
        Ok(None)
    }

    /// A line that was cut off is dropped with the splitter: the next watch brings its event again.
    fn finish(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, String> {
        let mut splitter = FrameSplitter::new(limit);
        let mut lines = Vec::new();
        for piece in pieces {
            splitter.feed(Bytes::copy_from_slice(piece));
            while let Some(line) = splitter.next().map_err(|error| error.to_string())? {
                lines.push(String::from_utf8(line.trim_ascii().to_vec()).unwrap());
            }
            assert!(splitter.held() <= limit);
        }
        Ok(lines)
    }

    fn check(body: &str, expected: &[&str]) {
        let body = body.as_bytes();
        for cut in 0..=body.len() {
            assert_eq!(
                split(64, [&body[..cut], &body[cut..]]).unwrap(),
                expected,
                "cut at {cut}"
            );
        }
        assert_eq!(split(64, body.chunks(1)).unwrap(), expected, "byte by byte");
    }

    #[test]
    fn lines_come_whole_wherever_the_body_is_cut() {
        check("{\"a\":1}\n{\"b\":\"ä\"}\n", &["{\"a\":1}", "{\"b\":\"ä\"}"]);
    }

    #[test]
    fn carriage_returns_and_blank_lines_are_tolerated() {
        check("\n\r\n{}\r\n \n{}\n\n", &["{}", "{}"]);
    }

    #[test]
    fn blank_lines_are_bounded_in_a_row_and_not_in_total() {
        let blanks = vec![b'\n'; BLANK_BYTES];
        for size in [1, 1000, BLANK_BYTES] {
            let twice = blanks
                .chunks(size)
                .chain([&b"{}\n"[..]])
                .chain(blanks.chunks(size));
            assert_eq!(split(64, twice).unwrap(), ["{}"], "in pieces of {size}");
            let more = blanks.chunks(size).chain([&b" {}\n"[..]]);
            let error = split(64, more).unwrap_err();
            assert!(error.contains("blank bytes in a row"), "{error}");
        }
    }

    #[test]
    fn a_cut_off_tail_is_ignored() {
        check("{}\n{\"type\":", &["{}"]);
    }

    #[test]
    fn a_line_over_the_limit_is_an_error_before_it_ends() {
        let body = [b'x'; 65];
        assert!(split(64, [&body[..]]).unwrap_err().contains("64 bytes"));
        assert!(split(64, body.chunks(1)).unwrap_err().contains("64 bytes"));
        assert_eq!(split(64, [&[b'x'; 64][..], b"\n"]).unwrap().len(), 1);
    }
}
