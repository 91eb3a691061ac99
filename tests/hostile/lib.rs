//! Empty: the tests are in `main.rs` and below, and a package needs a library.
