//! `informer-gen crd` as its users run it: the program, in a folder of its own, by what it prints, writes and
//! returns.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod bad_input;
#[cfg(feature = "cluster")]
mod cluster;
mod options;
mod support;
mod writing;
