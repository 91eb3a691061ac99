//! Code that must not compile: `ui/*.rs` beside the expected errors in `ui/*.stderr`. `ui/compiler` has the
//! errors that the compiler words itself; they change with its releases.
//!
//! `TRYBUILD=overwrite cargo test -p informer-custom ui` rewrites the expected errors.

use std::process::Command;

use crate::crd::clashes;

/// The compiler whose errors `ui/compiler` has.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn errors_are_reported_where_they_are_with_the_fix() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    cases.compile_fail(clashes::write());
    let compiler = compiler();
    if compiler.starts_with(COMPILER) {
        cases.compile_fail("ui/compiler/*.rs");
    } else {
        println!("skipped: ui/compiler, which has the errors of {COMPILER}* and not of {compiler}");
    }
}

fn compiler() -> String {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("--version").output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
