//! The examples, run as their users run them: in a pipe, with and without a cluster that answers.
//!
//! `cargo test` builds the programs of the examples before it runs this; one that is missing all the same, as
//! with `cargo test --test examples`, is built first.

#![cfg(all(feature = "apps", feature = "core", feature = "discovery"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod programs;
mod quickstart;
mod scripts;
mod size;
