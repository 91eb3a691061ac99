//! The derive macros in a user's crate: what they write compiles and works, and what they say of mistakes helps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod indexes;
mod plurals;
mod reserved;
mod resource;
mod spec;
mod support;
mod ui;
