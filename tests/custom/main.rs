//! Tests for custom resources, written as a user's crate would use them.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod crd;
mod derive;
mod projection;
mod support;
mod ui;
