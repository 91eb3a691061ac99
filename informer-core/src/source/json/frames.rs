//! Splits the body of a watch into frames: one JSON document per line.

use bytes::{Buf as _, Bytes, BytesMut};

use super::event::is_error_event;
use crate::source::SourceError;
use crate::source::format::Splitter;
use crate::source::limits::{BLANK_BYTES, ERROR_BYTES};

/// Splits a body into lines, without line ends and without whitespace before them.
///
/// Holds at most one incomplete line, limited to the size of an object, and one chunk. A line within one
/// chunk is not copied. Blank lines are skipped, up to a limit in a row.
pub(in crate::source) struct FrameSplitter {
    limit: usize,
    incomplete: BytesMut,
    chunk: Bytes,
    /// The number of blank bytes since the last line.
    blanks: usize,
}

impl FrameSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            incomplete: BytesMut::new(),
            chunk: Bytes::new(),
            blanks: 0,
        }
    }

    fn skip_blanks(&mut self) -> Result<(), SourceError> {
        let first = self.chunk.iter().position(|byte| !byte.is_ascii_whitespace());
        let blanks = first.unwrap_or(self.chunk.len());
        self.blanks += blanks;
        if self.blanks > BLANK_BYTES {
            return Err(SourceError::Protocol(format!(
                "a watch sent more than {BLANK_BYTES} blank bytes in a row"
            )));
        }
        self.chunk.advance(blanks);
        if first.is_some() {
            self.blanks = 0;
        }
        Ok(())
    }

    /// Limits an ERROR event to the size of an error response: real ones have a few hundred bytes.
    fn check_incomplete(&self) -> Result<(), SourceError> {
        if self.incomplete.len() > ERROR_BYTES && is_error_event(&self.incomplete) {
            return Err(SourceError::Protocol(format!(
                "an ERROR event is longer than {ERROR_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// Returns the size of the incomplete line that is held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.incomplete.len()
    }
}

impl Splitter for FrameSplitter {
    type Output = Bytes;

    fn feed(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "the previous chunk was not read to its end"
        );
        self.chunk = chunk;
    }

    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        if self.incomplete.is_empty() {
            self.skip_blanks()?;
        }
        if !self.chunk.is_empty() {
            let end = memchr::memchr(b'\n', &self.chunk);
            let length = end.unwrap_or(self.chunk.len());
            if self.incomplete.len() + length > self.limit {
                return Err(SourceError::TooLarge { limit: self.limit });
            }
            let line = self.chunk.split_to(length);
            if end.is_none() {
                self.incomplete.extend_from_slice(&line);
                self.check_incomplete()?;
                return Ok(None);
            }
            let _newline = self.chunk.split_to(1);
            if self.incomplete.is_empty() {
                return Ok(Some(line));
            }
            self.incomplete.extend_from_slice(&line);
            return Ok(Some(self.incomplete.split().freeze()));
        }
        Ok(None)
    }

    /// An incomplete last line is dropped with the splitter: the next watch sends its event again.
    fn finish(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, String> {
        let mut splitter = FrameSplitter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.feed(Bytes::copy_from_slice(chunk));
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
    fn lines_are_complete_wherever_the_body_is_cut() {
        check("{\"a\":1}\n{\"b\":\"ä\"}\n", &["{\"a\":1}", "{\"b\":\"ä\"}"]);
    }

    #[test]
    fn carriage_returns_and_blank_lines_are_skipped() {
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
            assert_eq!(split(64, twice).unwrap(), ["{}"], "in chunks of {size}");
            let more = blanks.chunks(size).chain([&b" {}\n"[..]]);
            let error = split(64, more).unwrap_err();
            assert!(error.contains("blank bytes in a row"), "{error}");
        }
    }

    #[test]
    fn an_incomplete_last_line_is_ignored() {
        check("{}\n{\"type\":", &["{}"]);
    }

    #[test]
    fn a_line_over_the_limit_is_an_error_before_it_ends() {
        let body = [b'x'; 65];
        assert!(split(64, [&body[..]]).unwrap_err().contains("64 bytes"));
        assert!(split(64, body.chunks(1)).unwrap_err().contains("64 bytes"));
        assert_eq!(split(64, [&[b'x'; 64][..], b"\n"]).unwrap().len(), 1);
    }

    #[test]
    fn an_incomplete_error_event_over_the_limit_is_an_error_and_another_is_not() {
        for (kind, limited) in [("ERROR", true), ("ADDED", false)] {
            let head = format!(r#"{{"type":"{kind}","object":{{"message":""#);
            let filler = vec![b'x'; ERROR_BYTES - head.len()];
            let chunks = [head.as_bytes(), &filler, b"x"];
            assert!(
                split(2 * ERROR_BYTES, chunks[..2].iter().copied()).is_ok(),
                "{kind}"
            );
            let one_more = split(2 * ERROR_BYTES, chunks);
            assert_eq!(one_more.is_err(), limited, "{one_more:?}");
        }
    }
}
