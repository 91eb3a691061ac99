//! The steps of CI and what each of them does.

use std::process::Command;

use informer_gen::inventory::{NEWEST, OLDEST, Release};

use super::Pace::{Always, NotIfQuick};
use super::Place::{Alone, Elsewhere, Workspace};
use super::{Pace, Passed, Place, Step};
use crate::process::{run, run_and_read, works};
use crate::workspace::{self, cargo, with_oldest};
use crate::{Result, bloat, codegen, crd, e2e, every_kind, libtest, mutants, sim, tidy};

/// In the order they start: what is cheap and fails often comes first, long steps before short ones.
/// `.github` lists the same names.
pub(super) const ALL: &[Step] = &[
    step("fmt", Always, Elsewhere, fmt),
    step("tidy", Always, Elsewhere, check_tidy),
    step("codegen", Always, Elsewhere, check_codegen),
    step("deny", NotIfQuick, Elsewhere, deny),
    step("machete", NotIfQuick, Elsewhere, machete),
    step("clippy", Always, Workspace, clippy),
    step("test", Always, Workspace, test),
    step("suites", NotIfQuick, Workspace, suites),
    step("kubernetes", NotIfQuick, Elsewhere, oldest_kubernetes),
    step("releases", NotIfQuick, Elsewhere, releases_between),
    step("msrv", NotIfQuick, Elsewhere, msrv),
    step("ui", NotIfQuick, Elsewhere, ui),
    step("crds", NotIfQuick, Workspace, definitions),
    step("docs", NotIfQuick, Workspace, docs),
    step("quickstart", NotIfQuick, Workspace, quickstart),
    step("features", NotIfQuick, Workspace, features),
    step("mutants", NotIfQuick, Elsewhere, check_mutants),
    step("models", NotIfQuick, Elsewhere, models),
    step("simulation", NotIfQuick, Elsewhere, simulation),
    step("fuzz", NotIfQuick, Elsewhere, fuzz),
    step("bloat", NotIfQuick, Alone, check_bloat),
    step("e2e", NotIfQuick, Alone, end_to_end),
];

const fn step(name: &'static str, pace: Pace, place: Place, run: fn() -> Result<Passed>) -> Step {
    Step {
        name,
        pace,
        place,
        run,
    }
}

fn fmt() -> Result<Passed> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    Ok(Passed::Ran)
}

fn check_tidy() -> Result<Passed> {
    tidy::run()?;
    Ok(Passed::Ran)
}

fn check_codegen() -> Result<Passed> {
    codegen::check()?;
    Ok(Passed::Ran)
}

fn clippy() -> Result<Passed> {
    // Including the tests that plain `cargo test` leaves out.
    let opt_in = format!("{},{}", e2e::FEATURE, every_kind::FEATURE);
    run(cargo()
        .args(["clippy", "--workspace", "--all-targets", "--features", &opt_in])
        .args(["--", "-D", "warnings"]))?;
    Ok(Passed::Ran)
}

/// The README's test command, unchanged: documentation tests included.
fn test() -> Result<Passed> {
    run(cargo().arg("test"))?;
    Ok(Passed::Ran)
}

/// The suites that are not default members of the workspace: hostile servers, the simulation, custom
/// resources, the memory of packed storage, the proxy of the live tests, and the tasks themselves; and the
/// integration tests over JSON. With the features of the whole workspace, which `e2e` shares.
fn suites() -> Result<Passed> {
    run(cargo()
        .args([
            "test",
            "--workspace",
            "--test",
            "hostile",
            "--test",
            "simulation",
            "--test",
            "proxy",
            "--test",
            "allocations",
            "--test",
            "template",
            "--test",
            "limits",
        ])
        .args(["--lib", "--bin", "xtask"]))?;
    // The step `test` runs these with protobuf.
    run(cargo()
        .args(["test", "--workspace", "--test", "it"])
        .env("INFORMER_TESTING_FORMAT", "json"))?;
    Ok(Passed::Ran)
}

/// Compiles the files that must not compile. trybuild builds their dependencies in a folder below the target
/// folder, so this takes minutes; `cargo test` checks the errors of the macros without a compiler.
fn ui() -> Result<Passed> {
    run(cargo()
        .args(["test", "--workspace", "--test", "custom"])
        .args(["--", "--ignored", "ui::"]))?;
    Ok(Passed::Ran)
}

/// Runs the generator on the CRDs of real projects, if they are available.
fn definitions() -> Result<Passed> {
    Ok(match crd::proof(&crd::folder())? {
        crd::Outcome::Ran(note) => Passed::RanWith(note),
        crd::Outcome::Skipped(reason) => Passed::Skipped(reason),
    })
}

fn docs() -> Result<Passed> {
    run(cargo()
        .args([
            "doc",
            "--workspace",
            "--no-deps",
            "--features",
            "informers/derive,informer-testing/demo",
        ])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Passed::Ran)
}

/// The README's other command, with a time limit.
fn quickstart() -> Result<Passed> {
    run(cargo().args([
        "run",
        "--example",
        "quickstart",
        "--",
        "--embedded",
        "--for",
        "3s",
    ]))?;
    Ok(Passed::Ran)
}

/// Builds with feature sets that a build of the whole workspace never has.
fn features() -> Result<Passed> {
    run(cargo().args(["check", "-p", "informer-core", "--no-default-features"]))?;
    // Other checks of informer-core have the feature `packed`, which the tests enable.
    run(cargo().args(["check", "-p", "informer-core", "--features", "packed"]))?;
    run(cargo().args(["check", "-p", "informer-gen", "--no-default-features"]))?;
    run(cargo().args(["check", "-p", "informer-testing"]))?;
    run(cargo().args(["check", "-p", "informer-gen", "--features", "crd"]))?;
    run(cargo().args(["check", "-p", "informer-gen-cli", "--no-default-features"]))?;
    // The typed layer with no group, one group, and all of them but without TLS.
    for groups in ["", "core", "full", "derive"] {
        let layer = [
            "clippy",
            "-p",
            "informers",
            "-p",
            "listers",
            "--no-default-features",
        ];
        run(cargo()
            .args(layer)
            .args(["--features", groups, "--", "-D", "warnings"]))?;
    }
    let faults = [
        "clippy",
        "-p",
        "informer-core",
        "--features",
        "__mutants",
        "--",
        "-D",
        "warnings",
    ];
    run(cargo().args(faults))?;
    Ok(Passed::Ran)
}

/// Runs the tests with the oldest Kubernetes release of the table, with both storages. All other steps use
/// the newest.
fn oldest_kubernetes() -> Result<Passed> {
    // Unit tests, examples and documentation tests do not depend on the release, and would add minutes.
    let tests = ["test", "-p", "informer-it", "--test", "it"];
    run(with_oldest(cargo().args(tests))?)?;
    // The same build again, with packed storage.
    run(with_oldest(
        cargo().args(tests).env("INFORMER_IT_STORAGE", "packed"),
    )?)?;
    let docs = ["doc", "-p", "informers", "-p", "listers", "--no-deps"];
    run(with_oldest(
        cargo().args(docs).env("RUSTDOCFLAGS", "-D warnings"),
    )?)?;
    Ok(Passed::RanWith(format!("types of Kubernetes {OLDEST}")))
}

/// Checks the typed layer with every release between the oldest and the newest, because some kinds exist only
/// there.
fn releases_between() -> Result<Passed> {
    let target = workspace::target()?.join("kubernetes-between");
    let between = (OLDEST.minor + 1..NEWEST.minor).map(|minor| Release { minor });
    for release in between.clone() {
        run(cargo()
            .args(["check", "-p", "informers"])
            .env("K8S_OPENAPI_ENABLED_VERSION", release.to_string())
            .env("CARGO_TARGET_DIR", &target))?;
    }
    let names: Vec<String> = between.map(|release| release.to_string()).collect();
    Ok(Passed::RanWith(names.join(", ")))
}

fn check_bloat() -> Result<Passed> {
    Ok(Passed::RanWith(bloat::report()?))
}

fn models() -> Result<Passed> {
    let output = run_and_read(cargo().args([
        "test",
        "-p",
        "informer-core",
        "--features",
        "__model",
        "--lib",
        "model",
    ]))?;
    Ok(match libtest::passed(&output) {
        0 => Passed::Skipped("no test of informer-core has `model` in its name".to_owned()),
        models => Passed::RanWith(format!("{models} models")),
    })
}

fn check_mutants() -> Result<Passed> {
    mutants::run(&[])?;
    Ok(Passed::Ran)
}

/// Runs some seeds of the simulation; `cargo xtask sim --seeds 10000` is the long run.
fn simulation() -> Result<Passed> {
    const SEEDS: &str = "200";
    sim::play_few(SEEDS)?;
    Ok(Passed::RanWith(format!("{SEEDS} seeds")))
}

/// Runs the live tests, if a kube-apiserver and an etcd are installed, or Go to build them.
fn end_to_end() -> Result<Passed> {
    Ok(match e2e::run(&[])? {
        e2e::Outcome::Ran => Passed::Ran,
        e2e::Outcome::Skipped => {
            Passed::Skipped("neither kube-apiserver and etcd nor Go is installed".to_owned())
        }
    })
}

/// Runs each fuzz target for a limited time, if cargo-fuzz is installed. `cargo test` runs the same corpus.
fn fuzz() -> Result<Passed> {
    if !works(Command::new("cargo").args(["+nightly", "fuzz", "--version"])) {
        let reason = "cargo-fuzz or a nightly toolchain is not installed; `cargo test` ran the corpus";
        return Ok(Passed::Skipped(reason.to_owned()));
    }
    for target in ["frames", "gzip", "list_splitter", "key_parser"] {
        // New inputs go into the first folder; the second one, which is checked in, is only read.
        let found = workspace::root().join("target/fuzz").join(target);
        std::fs::create_dir_all(&found)?;
        run(Command::new("cargo")
            .args([
                "+nightly",
                "fuzz",
                "run",
                "--fuzz-dir",
                "informer-core/fuzz",
                target,
            ])
            .arg(found)
            .arg(format!("informer-core/fuzz/corpus/{target}"))
            .args(["--", "-max_total_time=30"])
            .current_dir(workspace::root()))?;
    }
    Ok(Passed::Ran)
}

fn msrv() -> Result<Passed> {
    let version = workspace::rust_version()?;
    let installed = Command::new("rustup").args(["toolchain", "list"]).output();
    let installed = installed
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let Some(toolchain) = installed
        .split_whitespace()
        .find(|name| is_release(name, &version))
    else {
        let reason =
            format!("toolchain {version} is not installed; clippy still rejects newer library calls");
        return Ok(Passed::Skipped(reason));
    };
    let target = workspace::target()?.join("msrv");
    run(Command::new("rustup")
        .args(["run", toolchain, "cargo", "check", "--workspace"])
        .current_dir(workspace::root())
        .env("CARGO_TARGET_DIR", target))?;
    Ok(Passed::RanWith(toolchain.to_owned()))
}

/// Whether a toolchain's name, such as `1.89.0-x86_64-..` or `1.89-x86_64-..`, is a release of `version`.
fn is_release(toolchain: &str, version: &str) -> bool {
    toolchain
        .strip_prefix(version)
        .is_some_and(|rest| rest.starts_with(['.', '-']))
}

fn deny() -> Result<Passed> {
    if !works(cargo().args(["deny", "--version"])) {
        return Ok(Passed::Skipped("cargo-deny is not installed".to_owned()));
    }
    // Advisories need a download, and do not depend on the change that is tested.
    run(cargo().args(["deny", "check", "bans", "licenses", "sources"]))?;
    Ok(Passed::Ran)
}

fn machete() -> Result<Passed> {
    if !works(cargo().args(["machete", "--version"])) {
        let reason = "cargo-machete is not installed; tidy checks for unused dependencies";
        return Ok(Passed::Skipped(reason.to_owned()));
    }
    run(cargo().arg("machete"))?;
    Ok(Passed::Ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_recognized_by_its_release() {
        assert!(is_release("1.89.0-x86_64-unknown-linux-gnu", "1.89"));
        assert!(is_release("1.89-aarch64-apple-darwin", "1.89"));
        assert!(!is_release("1.8-x86_64-unknown-linux-gnu", "1.89"));
        assert!(!is_release("1.890-x86_64-unknown-linux-gnu", "1.89"));
    }
}
