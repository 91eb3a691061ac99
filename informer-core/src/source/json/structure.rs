//! Finds brackets and commas outside the strings of a JSON text, 64 bytes at a time.

const BLOCK: usize = u64::BITS as usize;

/// Splits a text into blocks.
///
/// The text is not checked: what is found in a text that is not valid JSON has no meaning.
pub(super) struct Blocks<'t> {
    text: &'t [u8],
    at: usize,
    /// All ones if the next block begins in a string.
    in_string: u64,
    /// One if the first byte of the next block is escaped.
    escaped: u64,
}

/// The brackets, braces and commas of a block that are not in strings.
pub(super) struct Block {
    at: usize,
    bytes: [u8; BLOCK],
    /// One bit for each bracket and brace that was not yet returned.
    brackets: u64,
    /// One bit for each comma that was not yet counted.
    commas: u64,
}

/// A bracket or a brace.
pub(super) struct Bracket {
    /// Its offset in the text.
    pub(super) at: usize,
    pub(super) byte: u8,
    /// The number of commas between the previous bracket of the block and this one.
    pub(super) commas: usize,
}

impl<'t> Blocks<'t> {
    /// Starts at an offset outside of strings.
    pub(super) fn from(text: &'t [u8], at: usize) -> Self {
        Self {
            text,
            at,
            in_string: 0,
            escaped: 0,
        }
    }

    /// Returns the bits of escaped bytes.
    fn escaped(&mut self, bytes: &[u8; BLOCK]) -> u64 {
        let mut escaped = std::mem::take(&mut self.escaped);
        // Most blocks have no backslash, and this is cheaper than `bits`.
        if !bytes.iter().fold(false, |found, byte| found | (*byte == b'\\')) {
            return escaped;
        }
        let mut escapes = bits(bytes, |byte| byte == b'\\') & !escaped;
        while escapes != 0 {
            let escape = escapes & escapes.wrapping_neg();
            escaped |= escape << 1;
            self.escaped = escape >> (BLOCK - 1);
            escapes &= !(escape | (escape << 1));
        }
        escaped
    }
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; BLOCK];
            bytes[..rest.len()].copy_from_slice(rest);
            bytes
        });
        let quotes = bits(&bytes, |byte| byte == b'"') & !self.escaped(&bytes);
        // A bit is set if the number of quotes up to it is odd.
        let shifts = [1, 2, 4, 8, 16, 32];
        let strings = shifts.iter().fold(quotes, |sum, shift| sum ^ (sum << shift)) ^ self.in_string;
        self.in_string = 0_u64.wrapping_sub(strings >> (BLOCK - 1));
        // Brackets and braces differ only in bits that are masked here. So do a few other characters, which
        // valid JSON has only in strings.
        let brackets = bits(&bytes, |byte| byte & 0xD9 == 0x59);
        let commas = bits(&bytes, |byte| byte == b',');
        let block = Block {
            at: self.at,
            bytes,
            brackets: brackets & !strings,
            commas: commas & !strings,
        };
        self.at += BLOCK;
        Some(block)
    }
}

impl Block {
    /// Returns the next bracket.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Bracket> {
        if self.brackets == 0 {
            return None;
        }
        let bit = self.brackets.trailing_zeros() as usize;
        let before = (1 << bit) - 1;
        let bracket = Bracket {
            at: self.at + bit,
            byte: self.bytes[bit],
            commas: (self.commas & before).count_ones() as usize,
        };
        self.brackets &= self.brackets - 1;
        self.commas &= !before;
        Some(bracket)
    }

    /// Returns the number of commas after the last bracket.
    pub(super) fn commas(&self) -> usize {
        self.commas.count_ones() as usize
    }
}

/// Returns one bit for each byte, set if the byte is one that is searched for. Has no branches, so that the
/// compiler uses vector instructions.
fn bits(bytes: &[u8; BLOCK], is_match: impl Fn(u8) -> bool) -> u64 {
    let matches = bytes.map(|byte| u8::from(is_match(byte)));
    let (words, _) = matches.as_chunks();
    words.iter().enumerate().fold(0, |bits, (index, word)| {
        // The product collects the lowest bits of eight bytes in the highest byte.
        let eight = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> (BLOCK - 8);
        bits | (eight << (8 * index))
    })
}
