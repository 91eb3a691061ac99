//! Informers of two custom resources, written by `informer-gen crd` from the definitions in `crds/`:
//!
//! ```text
//! cargo xtask crd -f tests/operator/crds --out tests/operator/src/generated
//! ```
//!
//! `cargo run --example operator` uses them; a test of this crate fails when the code is no longer what the definitions give.

/// What is generated, and never edited.
pub mod generated;
