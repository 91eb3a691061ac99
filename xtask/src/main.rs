//! The tasks of this workspace, run as `cargo xtask <task>`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to whoever runs it"
)]

mod bloat;
mod ci;
mod codegen;
mod libtest;
mod mutants;
mod process;
mod tidy;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// Errors of tasks are only ever printed, so one boxed type serves them all.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: cargo xtask <task>

tasks:
  bloat               fail if the typed layer has grown too large; time what it costs a small program to compile
  ci                  everything CI runs, in order, up to the first failure
  ci --quick          the part of it for the everyday loop: fmt, tidy, codegen, clippy, test
  codegen             write what is generated from the sources of k8s-openapi: the table of kinds and the typed layer
  codegen --check     fail if that would change anything, and say where
  mutants [I1 ..]     break each guarantee (or the named ones) on purpose; its own test must notice
  tidy                check the rules no compiler knows: first lines, module ranks, parity table, manifests
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["bloat"] => bloat::run(),
        ["ci"] => ci::run(ci::Selection::Everything),
        ["ci", "--quick"] => ci::run(ci::Selection::Quick),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["mutants", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => mutants::run(names),
        ["tidy"] => tidy::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no task given\n\n{USAGE}").into()),
        _ => Err(format!(
            "cannot understand `cargo xtask {}`\n\n{USAGE}",
            arguments.join(" ")
        )
        .into()),
    }
}
