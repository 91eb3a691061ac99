//! The integration tests are in `main.rs`; this library only carries what must not compile, as documentation tests.

#[cfg(doctest)]
mod immutability;
