//! The tasks of this workspace, run as `cargo xtask <task>`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks print to the terminal"
)]

mod apiserver;
mod artifact;
mod bench;
mod bloat;
mod ci;
mod codegen;
mod crd;
mod e2e;
mod errors;
mod every_kind;
mod libtest;
mod mutant_outcome;
mod mutants;
mod process;
mod sim;
mod soak;
mod tidy;
mod tree;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// Errors of tasks are only printed, so one boxed type is enough.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: cargo xtask <task>

tasks:
  apiserver up        start a kube-apiserver, print its kubeconfig (--watch-list off, --port N)
  apiserver down      stop it; `kubeconfig` prints the path again, `build` only finds or builds the binaries
  bench [row ..]      measure beside client-go, controller-runtime and kube-rs (--quick, --rounds N, --no-go)
  bench --profile ROW record a flame graph of one row (needs perf and inferno); `--fast-paths off`
                      behind it: without the faster ways
  bloat               check the size of the typed layer; time how long a small program takes to compile
  ci                  run everything CI runs, side by side, with a summary at the end
  ci --quick          run the steps of the everyday loop: fmt, tidy, codegen, clippy, test
  ci <step ..>        run the named steps
  codegen             write the files generated from k8s-openapi: the table of kinds and the typed layer
  codegen --protobuf  write the table of protobuf fields from the Go types of Kubernetes (needs Go)
  codegen --check     fail if a generated file is stale, and name it
  crd <arguments>     run `informer-gen crd`, such as `-f crds --out src/generated`; see `--help`
  crd --compare-kopium [--check]   print a table of the sizes of what kopium and `informer-gen crd` generate
                      for tests/corpus; with --check also compile it
  crd --measure PROGRAM [DIR] [--check]   print the size of what a program `informer-gen` generates for
                      them, and the time of `cargo check`
  crd --proof [DIR]   generate crates from the CRDs of real projects in DIR; compile, decode objects
  e2e [filter]        run the tests on a real kube-apiserver, watch lists on and off (--watch-list on|off)
  e2e --storms        run informers behind the fault proxy on that server; --seeds 0..100, --seed 7
  e2e --differential  run this informer and client-go's through the same faults; --seeds 0..100, --seed 7
  errors              list every error message with its file and line
  every-kind          sync an object of every kind through its accessor, newest and oldest release: minutes
  mutants [I1 ..]     break each guarantee (or the named ones) on purpose; its own test must fail
  sim [--seeds N]     simulate N seeds (1,000), or `--for 10m`; `--seed N` runs one and minimizes a failure
  sim --mutants       break each guarantee on purpose; the simulation must notice within 1,000 seeds
  soak [--for 30m]    run informers under writes and faults on a real kube-apiserver; fail if resources grow
  tidy                check what no compiler checks: first lines, module ranks, links, parity table, manifests
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
        ["bench", arguments @ ..] => bench::run(arguments),
        ["bloat"] => bloat::run(),
        ["ci"] => ci::run(ci::Selection::Everything),
        ["ci", "--quick"] => ci::run(ci::Selection::Quick),
        ["ci", steps @ ..] => ci::run(ci::Selection::Named(steps)),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["codegen", "--protobuf"] => codegen::write_protobuf(),
        ["crd", "--measure", program, options @ ..] => match options {
            [] => crd::measure(program, &crd::folder(), crd::Times::None),
            ["--check"] => crd::measure(program, &crd::folder(), crd::Times::Check),
            [folder] => crd::measure(program, folder, crd::Times::None),
            [folder, "--check"] => crd::measure(program, folder, crd::Times::Check),
            _ => Err("--measure takes a program, a folder and `--check`".into()),
        },
        ["crd", "--proof"] => crd::proof(&crd::folder()).map(|_| ()),
        ["crd", "--proof", folder] => crd::proof(folder).map(|_| ()),
        ["crd", "--compare-kopium"] => crd::compare_kopium(crd::Times::None),
        ["crd", "--compare-kopium", "--check"] => crd::compare_kopium(crd::Times::Check),
        ["crd", arguments @ ..] => crd::run(arguments),
        ["e2e", arguments @ ..] => e2e::run(arguments).map(|_| ()),
        ["errors"] => errors::run(),
        ["every-kind"] => every_kind::play(),
        ["mutants", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => mutants::run(names),
        ["sim", "--mutants", names @ ..] => sim::mutants(names),
        ["sim", arguments @ ..] => sim::play(arguments),
        ["soak", arguments @ ..] => soak::play(arguments),
        ["tidy"] => tidy::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no task given\n\n{USAGE}").into()),
        _ => Err(format!(
            "unknown task or option: `cargo xtask {}`\n\n{USAGE}",
            arguments.join(" ")
        )
        .into()),
    }
}
