//! Finds the end of a JSON value without parsing it.

const WORD: usize = u64::BITS as usize;

/// Scans one value, which may be cut at any byte.
///
/// Brackets may be nested to any depth: the kube-apiserver accepts 10,000 levels, and the decoder decides how
/// deep is too deep. One bit is kept per open bracket, so memory is bounded by the length of the value.
#[derive(Default)]
pub(super) struct ValueScan {
    mode: Mode,
    depth: usize,
    /// One bit for each of the outermost open brackets, set for `[`.
    outer: u64,
    /// The same for more deeply nested brackets.
    inner: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
enum Mode {
    #[default]
    Brackets,
    String,
    Escape,
    Scalar,
}

/// Why the end of a value cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScanError {
    #[error("mismatched brackets")]
    Mismatch,
}

impl ValueScan {
    /// Starts at the first byte of a value, which is not consumed. Returns `None` if no value begins with
    /// this byte.
    pub(super) fn of(byte: u8) -> Option<Self> {
        let mode = match byte {
            b'{' | b'[' | b'"' => Mode::Brackets,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Mode::Scalar,
            _ => return None,
        };
        Some(Self {
            mode,
            ..Self::default()
        })
    }

    /// Returns how many of `bytes` belong to the value, or `None` if all do and the value continues.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, ScanError> {
        let mut at = 0;
        while at < bytes.len() {
            match self.mode {
                Mode::Brackets => {
                    match bytes[at] {
                        b'"' => self.mode = Mode::String,
                        b'{' => self.open(0),
                        b'[' => self.open(1),
                        b'}' => self.close(0)?,
                        b']' => self.close(1)?,
                        _ => {}
                    }
                    at += 1;
                    if self.depth == 0 && matches!(self.mode, Mode::Brackets) {
                        return Ok(Some(at));
                    }
                }
                Mode::String => {
                    let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else {
                        return Ok(None);
                    };
                    at += found + 1;
                    if bytes[at - 1] == b'\\' {
                        self.mode = Mode::Escape;
                    } else if self.depth == 0 {
                        return Ok(Some(at));
                    } else {
                        self.mode = Mode::Brackets;
                    }
                }
                Mode::Escape => {
                    self.mode = Mode::String;
                    at += 1;
                }
                Mode::Scalar => {
                    if bytes[at].is_ascii_whitespace() || b",]}".contains(&bytes[at]) {
                        return Ok(Some(at));
                    }
                    at += 1;
                }
            }
        }
        Ok(None)
    }

    fn open(&mut self, bit: u64) {
        let at = self.depth % WORD;
        let word = self.word();
        *word = (*word & !(1 << at)) | (bit << at);
        self.depth += 1;
    }

    /// Returns the word with the bit of the bracket at the current depth.
    fn word(&mut self) -> &mut u64 {
        let Some(index) = (self.depth / WORD).checked_sub(1) else {
            return &mut self.outer;
        };
        if index >= self.inner.len() {
            self.inner.resize(index + 1, 0);
        }
        &mut self.inner[index]
    }

    fn close(&mut self, bit: u64) -> Result<(), ScanError> {
        self.depth = self.depth.checked_sub(1).ok_or(ScanError::Mismatch)?;
        let opened = (*self.word() >> (self.depth % WORD)) & 1;
        if opened == bit {
            Ok(())
        } else {
            Err(ScanError::Mismatch)
        }
    }
}
