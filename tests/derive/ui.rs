//! Every mistake is told where it was made, with what to write instead: `ui/*.rs` beside the words in `ui/*.stderr`.
//!
//! `TRYBUILD=overwrite cargo test -p informer-derive-tests ui` writes the words anew.

#[test]
fn mistakes_are_told_where_they_were_made() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
