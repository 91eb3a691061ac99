//! Support for the integration tests. `main.rs` imports this library as `tokio`: it re-exports tokio, and its
//! attribute `test` adds the watchdog. Code that must not compile stands here too, as documentation tests.

#[cfg(doctest)]
mod immutability;
pub mod logging;
pub mod recorder;
pub mod storage;
pub mod visitor;
pub mod watchdog;

pub use informer_it_macros::test;
pub use tokio::*;

/// What the attribute `test` expands to.
pub mod real {
    pub use tokio::test;
}
