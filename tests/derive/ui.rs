//! Every mistake is told where it was made, with what to write instead: `ui/*.rs` beside the words in `ui/*.stderr`, and so in
//! `ui/compiler` where the compiler finds the mistake and says it in its own words. Those of one release are not those of the next.
//!
//! `TRYBUILD=overwrite cargo test -p informer-derive-tests ui` writes the words anew.

use std::process::Command;

/// The compiler whose words `ui/compiler` has.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_are_told_where_they_were_made() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    let compiler = compiler();
    if compiler.starts_with(COMPILER) {
        cases.compile_fail("ui/compiler/*.rs");
    } else {
        println!("skipped: ui/compiler, which has the words of {COMPILER}* and not of {compiler}");
    }
}

fn compiler() -> String {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("--version").output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
