//! The API server's own tests, through `kube::Client` where it can say what is needed, and through raw requests elsewhere.

mod objects;
mod support;
mod watching;
