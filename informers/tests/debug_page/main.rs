//! The debug page: its answers, its server, and the page in a browser.

#![cfg(all(feature = "core", feature = "debug-server"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod answers;
mod axum_mount;
mod browser;
mod hostile;
mod server;
mod support;
