//! The API server's own tests, through `kube::Client` where it can say what is needed, and through raw requests elsewhere.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that panics fails its test, which is what it is for"
)]

mod faults;
mod kinds;
mod listing;
mod objects;
mod over_http;
mod patching;
mod simulation;
mod support;
mod watching;
