//! Runs the examples as users do: in a pipe, with and without a reachable cluster.
//!
//! `cargo test` builds the example programs before it runs this. A missing one, as with
//! `cargo test --test examples`, is built first.

#![cfg(all(feature = "apps", feature = "core", feature = "discovery"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[cfg(feature = "metrics")]
mod metrics;
mod programs;
mod quickstart;
mod scripts;
mod size;
