//! Deliberate faults, one per guarantee. `cargo xtask mutants` checks that the tests detect each of them.
//!
//! Without the hidden feature `__mutants`, `is` is the constant `false` and no fault is compiled in.

/// Whether to break this guarantee, named as in ARCHITECTURE.md: `"I3"`.
#[cfg(feature = "__mutants")]
pub(crate) fn is(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN
        .get_or_init(|| std::env::var("INFORMER_MUTANT").ok())
        .as_deref()
        == Some(name)
}

/// Whether to break this guarantee: never, without `__mutants`.
#[cfg(not(feature = "__mutants"))]
pub(crate) const fn is(_name: &str) -> bool {
    false
}
