//! Deliberate faults, one per guarantee, so that `cargo xtask mutants` can show that the tests notice each of them.
//!
//! Without the hidden feature `__mutants` every question here is the constant `false` and the fault is not compiled in.

/// Whether the build is to break this guarantee. `name` is the guarantee's, as in ARCHITECTURE.md: `"I3"`.
#[cfg(feature = "__mutants")]
pub(crate) fn is(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN
        .get_or_init(|| std::env::var("INFORMER_MUTANT").ok())
        .as_deref()
        == Some(name)
}

/// Whether the build is to break this guarantee: never, in a build without `__mutants`.
#[cfg(not(feature = "__mutants"))]
pub(crate) const fn is(_name: &str) -> bool {
    false
}
