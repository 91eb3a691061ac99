//! The API server's own tests, through `kube::Client` where it can say what is needed, and through raw requests elsewhere.

mod faults;
mod kinds;
mod listing;
mod objects;
mod over_http;
mod patching;
mod support;
mod watching;
