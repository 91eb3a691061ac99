//! Whether the defaults use the faster of two ways: protobuf, HTTP/2, decoding on several threads, relists
//! that decode only what changed, threads that stay with their handlers, watches that look for the next event
//! before they sleep, and commits that change a state in place.
//!
//! Without the hidden feature `__internals`, they always do. With it, `INFORMER_FAST_PATHS=off` selects the
//! plain ways, so that the simulation and the live suite show that no guarantee depends on them.

/// Whether the faster ways are the default.
#[cfg(feature = "__internals")]
pub(crate) fn are_on() -> bool {
    static ON: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        let value = std::env::var("INFORMER_FAST_PATHS");
        value.as_deref() != Ok("off")
    });
    *ON
}

/// Whether the faster ways are the default: always, without `__internals`.
#[cfg(not(feature = "__internals"))]
pub(crate) const fn are_on() -> bool {
    true
}
