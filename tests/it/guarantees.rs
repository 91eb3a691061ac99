//! The guarantees I1 to I16 of ARCHITECTURE.md, one test or more each, named after them.
//!
//! `cargo xtask mutants` breaks each guarantee once and demands that a test of its name fails.

mod cache;
mod handlers;
mod order;
mod script;
mod service;
mod support;
mod unusable;
