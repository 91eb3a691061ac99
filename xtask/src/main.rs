//! The tasks of this workspace, run as `cargo xtask <task>`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to whoever runs it"
)]

mod apiserver;
mod artifact;
mod bloat;
mod ci;
mod codegen;
mod crd;
mod e2e;
mod every_kind;
mod libtest;
mod mutants;
mod process;
mod sim;
mod tidy;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// Errors of tasks are only ever printed, so one boxed type serves them all.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: cargo xtask <task>

tasks:
  apiserver up        start a real kube-apiserver that stays, print the path of its kubeconfig (--watch-list off, --port N)
  apiserver down      end it; `kubeconfig` prints the path again, `build` only finds or builds the programs
  bloat               fail if the typed layer has grown too large; time what it costs a small program to compile
  ci                  everything CI runs, side by side, with a summary at the end
  ci --quick          the part of it for the everyday loop: fmt, tidy, codegen, clippy, test
  ci <step ..>        the named steps
  codegen             write what is generated from the sources of k8s-openapi: the table of kinds and the typed layer
  codegen --check     fail if that would change anything, and say where
  crd <arguments>     `informer-gen crd`: informers of custom resources, such as `-f crds --out src/generated`; `--help` tells all
  crd --proof [DIR]   generate from the definitions of real projects in DIR (../shared/crds), compile, decode their objects
  e2e [filter]        the tests against a real kube-apiserver, watch lists on and off (--watch-list on|off: one of them)
  e2e --storms        informers behind the fault proxy on that server; --seeds 0..100, --seed 7
  e2e --differential  ours and client-go's informer on that server through the same faults; --seeds 0..100, --seed 7
  every-kind          an object of every kind through its own accessor, with the newest and the oldest release: minutes
  mutants [I1 ..]     break each guarantee (or the named ones) on purpose; its own test must notice
  sim [--seeds N]     simulate N seeds (1,000), or `--for 10m`; `--seed N` plays one and cuts it down if it fails
  sim --mutants       break each guarantee on purpose; the simulation must notice within 1,000 seeds
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
        [
            "apiserver",
            command @ ("build" | "up" | "down" | "kubeconfig"),
            options @ ..,
        ] => apiserver::run(&[&[*command], options].concat()),
        ["bloat"] => bloat::run(),
        ["ci"] => ci::run(ci::Selection::Everything),
        ["ci", "--quick"] => ci::run(ci::Selection::Quick),
        ["ci", steps @ ..] => ci::run(ci::Selection::Named(steps)),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["crd", "--proof"] => crd::proof(crd::SHARED).map(|_| ()),
        ["crd", "--proof", folder] => crd::proof(folder).map(|_| ()),
        ["crd", arguments @ ..] => crd::run(arguments),
        ["e2e", arguments @ ..] => e2e::run(arguments).map(|_| ()),
        ["every-kind"] => every_kind::play(),
        ["mutants", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => mutants::run(names),
        ["sim", "--mutants", names @ ..] => sim::mutants(names),
        ["sim", arguments @ ..] => sim::play(arguments),
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
