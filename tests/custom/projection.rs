//! Projections: they read the fields they declare and nothing else, and coexist with the full kind.

mod beside;
mod cluster;
mod custom;
mod names;
#[path = "memory/pods.rs"]
#[allow(dead_code, reason = "the measurement also reads metadata alone")]
mod pods;
mod reads;
mod types;
mod unusual;
