//! Finds where a JSON value ends, without looking at what it says.

/// How deep brackets may nest. serde_json gives up at 128, the kube-apiserver at 10,000.
const DEPTH_LIMIT: usize = 1024;
const WORD: usize = u64::BITS as usize;

/// Reads on in one value, wherever its text is cut.
#[derive(Default)]
pub(super) struct ValueScan {
    mode: Mode,
    depth: usize,
    /// One bit for each open bracket: set for `[`.
    arrays: [u64; DEPTH_LIMIT / WORD],
}

#[derive(Clone, Copy, Default)]
enum Mode {
    #[default]
    Brackets,
    String,
    Escape,
    Scalar,
}

/// Why a value has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScanError {
    #[error("brackets nest deeper than {DEPTH_LIMIT}")]
    TooDeep,
    #[error("a bracket is closed by one of the other kind")]
    Mismatch,
}

impl ValueScan {
    /// Begins with a value's first byte, which is not consumed; `None` if no value begins so.
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

    /// How many of `bytes` belong to the value, or `None` if all do and it goes on.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, ScanError> {
        let mut at = 0;
        while at < bytes.len() {
            match self.mode {
                Mode::Brackets => {
                    match bytes[at] {
                        b'"' => self.mode = Mode::String,
                        b'{' => self.open(0)?,
                        b'[' => self.open(1)?,
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

    fn open(&mut self, bit: u64) -> Result<(), ScanError> {
        let word = self.arrays.get_mut(self.depth / WORD).ok_or(ScanError::TooDeep)?;
        *word = (*word & !(1 << (self.depth % WORD))) | (bit << (self.depth % WORD));
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self, bit: u64) -> Result<(), ScanError> {
        self.depth = self.depth.checked_sub(1).ok_or(ScanError::Mismatch)?;
        let opened = (self.arrays[self.depth / WORD] >> (self.depth % WORD)) & 1;
        if opened == bit {
            Ok(())
        } else {
            Err(ScanError::Mismatch)
        }
    }
}
