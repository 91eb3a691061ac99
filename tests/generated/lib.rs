//! Empty: the tests are in `pinned.rs` and `every_kind.rs`, and a package needs a library.
