//! Chance that repeats itself: the same seed gives the same cluster.

/// SplitMix64: small, and good enough for choosing pods.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        usize::try_from(self.next() % end).expect("it is below a usize")
    }

    /// Whether something of this likelihood, in percent, happens.
    pub(super) fn percent(&mut self, likelihood: usize) -> bool {
        self.below(100) < likelihood
    }

    /// A suffix as Kubernetes makes them: no vowels, so that no words come out.
    pub(super) fn suffix(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length)
            .map(|_| char::from(LETTERS[self.below(LETTERS.len())]))
            .collect()
    }
}
