//! Splits the body of a watch into frames: one JSON document per line.

use bytes::{Buf as _, Bytes, BytesMut};

use super::event::is_error_event;
use super::skim::Skim;
use crate::source::SourceError;
use crate::source::format::{Splitter, WatchFrame};
use crate::source::limits::{BLANK_BYTES, ERROR_BYTES, SKIPPED_BYTES};

/// Splits a body into lines, without line ends and without whitespace before them.
///
/// Holds at most one incomplete line, limited to the size of an object, and one chunk. A line within one
/// chunk is not copied. Blank lines are skipped, up to a limit in a row. A longer line is skimmed.
pub(in crate::source) struct FrameSplitter {
    limit: usize,
    incomplete: BytesMut,
    /// The line that is being read, if it is longer than the limit.
    oversized: Option<Oversized>,
    chunk: Bytes,
    /// The number of blank bytes since the last line.
    blanks: usize,
}

struct Oversized {
    skim: Skim,
    bytes: usize,
}

impl FrameSplitter {
    pub(in crate::source) fn new(limit: usize) -> Self {
        Self {
            limit,
            incomplete: BytesMut::new(),
            oversized: None,
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

    /// Skims a part of a line that is longer than the limit. `end` is set if it is the last part.
    fn skip(&mut self, part: &[u8], end: Option<usize>) -> Result<Option<WatchFrame>, SourceError> {
        let held = std::mem::take(&mut self.incomplete);
        let oversized = self.oversized.get_or_insert_with(|| Oversized {
            skim: Skim::of_frame(),
            bytes: 0,
        });
        for bytes in [&held[..], part] {
            oversized.skim.feed(bytes);
            oversized.bytes += bytes.len();
        }
        if oversized.bytes.saturating_sub(self.limit) > SKIPPED_BYTES {
            return Err(SourceError::TooLarge { limit: self.limit });
        }
        if end.is_none() {
            return Ok(None);
        }
        let _newline = self.chunk.split_to(1);
        let skipped = self.oversized.take();
        Ok(skipped.map(|skipped| WatchFrame::Oversized(skipped.skim.into_sketch())))
    }

    /// Returns the size of the incomplete line that is held.
    #[cfg(any(test, feature = "__internals"))]
    pub(in crate::source) fn held(&self) -> usize {
        self.incomplete.len()
    }
}

impl Splitter for FrameSplitter {
    type Output = WatchFrame;

    fn feed(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "the previous chunk was not read to its end"
        );
        self.chunk = chunk;
    }

    fn next(&mut self) -> Result<Option<WatchFrame>, SourceError> {
        if self.incomplete.is_empty() && self.oversized.is_none() {
            self.skip_blanks()?;
        }
        if !self.chunk.is_empty() {
            let end = memchr::memchr(b'\n', &self.chunk);
            let length = end.unwrap_or(self.chunk.len());
            let line = self.chunk.split_to(length);
            if self.oversized.is_some() || self.incomplete.len() + length > self.limit {
                return self.skip(&line, end);
            }
            if end.is_none() {
                self.incomplete.extend_from_slice(&line);
                self.check_incomplete()?;
                return Ok(None);
            }
            let _newline = self.chunk.split_to(1);
            if self.incomplete.is_empty() {
                return Ok(Some(WatchFrame::Whole(line)));
            }
            self.incomplete.extend_from_slice(&line);
            return Ok(Some(WatchFrame::Whole(self.incomplete.split().freeze())));
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
            while let Some(frame) = splitter.next().map_err(|error| error.to_string())? {
                let (mark, line) = match frame {
                    WatchFrame::Whole(line) => ("", line),
                    WatchFrame::Oversized(part) => ("oversized ", part),
                };
                let line = String::from_utf8(line.trim_ascii().to_vec()).unwrap();
                lines.push(format!("{mark}{line}"));
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
    fn a_line_over_the_limit_is_skipped_and_identified() {
        let object = format!(r#"{{"data":"{}","metadata":{{"name":"a"}}}}"#, "x".repeat(65));
        let body = format!("{{}}\n{{\"type\":\"ADDED\",\"object\":{object}}}\n{{}}\n");
        let skipped = r#"oversized {"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        check(&body, &["{}", skipped, "{}"]);
        assert_eq!(split(64, [&[b'x'; 64][..], b"\n"]).unwrap(), ["x".repeat(64)]);
        let nothing = r#"oversized {"type":"","object":{"metadata":null}}"#;
        assert_eq!(split(64, [&[b'x'; 65][..], b"\n"]).unwrap(), [nothing]);
    }

    #[test]
    fn a_line_that_does_not_end_is_an_error() {
        let part = vec![b'x'; 1024 * 1024];
        let parts = SKIPPED_BYTES / part.len();
        assert!(split(64, std::iter::repeat_n(&part[..], parts)).is_ok());
        let error = split(64, std::iter::repeat_n(&part[..], parts + 1)).unwrap_err();
        assert!(error.contains("64 bytes"), "{error}");
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
