//! The examples, run as their users do: in a pipe, with and without a cluster that answers.
//!
//! What the examples are made of is part of this binary too, so that its own tests run here. `cargo test` builds the examples'
//! programs before it runs this; one that is missing all the same (`cargo test --test examples`) is built first.

#![cfg(all(feature = "core", feature = "discovery"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[path = "../../examples/service_endpoints/join.rs"]
mod join;
mod programs;
mod quickstart;
#[path = "../../examples/quickstart/main.rs"]
#[allow(
    dead_code,
    reason = "here the example is only tested, so nothing calls its main function"
)]
mod quickstart_example;
#[path = "../../examples/config_reload/settings.rs"]
mod settings;
mod stories;
