//! What the integration tests in `main.rs` know as `tokio`: tokio itself, with an attribute `test` that the
//! watchdog knows of. It also carries what must not compile, as documentation tests.

#[cfg(doctest)]
mod immutability;
pub mod watchdog;

pub use informer_it_macros::test;
pub use tokio::*;

/// What the attribute `test` expands to.
pub mod real {
    pub use tokio::test;
}
