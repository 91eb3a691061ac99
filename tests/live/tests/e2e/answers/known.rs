//! What the embedded server answers otherwise on purpose, and why. Everything else must be equal.

/// One difference that is expected.
pub(super) struct Known {
    /// The name of the request.
    pub(super) step: &'static str,
    /// Where in the answer, as the beginning of a JSON pointer.
    pub(super) at: &'static str,
    /// Why the embedded server differs.
    #[expect(dead_code, reason = "for readers of the table")]
    pub(super) why: &'static str,
}

pub(super) const DIFFERENCES: &[Known] = &[];
