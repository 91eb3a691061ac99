//! Projections in a user's crate: they read what they name and nothing else, and stand beside the whole kind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside;
mod cluster;
mod custom;
mod names;
#[path = "memory/pods.rs"]
#[allow(dead_code, reason = "the measurement also asks for metadata alone")]
mod pods;
mod reads;
mod support;
mod unusual;
