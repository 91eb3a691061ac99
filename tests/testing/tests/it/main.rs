//! Tests of the API server, through `kube::Client` where possible, otherwise through raw requests.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod crd_yaml;
mod faults;
mod garbage;
mod kinds;
mod kubectl;
mod listing;
mod objects;
mod over_http;
mod patching;
mod protobuf;
mod simulation;
mod support;
mod until;
mod watching;
