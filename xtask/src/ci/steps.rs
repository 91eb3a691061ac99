//! The steps of CI and what each of them does.

use std::process::Command;

use informer_gen::inventory::{NEWEST, OLDEST, Release};

use super::Pace::{Always, IfNamed, NotIfQuick};
use super::Place::{Alone, Elsewhere, Workspace};
use super::{Pace, Passed, Place, Step, tool};
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
    step("releases", IfNamed, Elsewhere, releases_between),
    step("msrv", NotIfQuick, Elsewhere, msrv),
    step("ui", IfNamed, Elsewhere, ui),
    step("crds", NotIfQuick, Workspace, definitions),
    step("docs", NotIfQuick, Workspace, docs),
    step("quickstart", NotIfQuick, Workspace, quickstart),
    step("browser", NotIfQuick, Workspace, browser),
    step("features", NotIfQuick, Workspace, features),
    step("mutants", IfNamed, Elsewhere, check_mutants),
    step("models", NotIfQuick, Elsewhere, models),
    step("simulation", NotIfQuick, Elsewhere, simulation),
    step("fuzz", NotIfQuick, Elsewhere, fuzz),
    step("servers", NotIfQuick, Elsewhere, build_servers),
    step("bloat", NotIfQuick, Alone, check_bloat),
    step("e2e", NotIfQuick, Alone, end_to_end),
    step("e2e-lists", IfNamed, Alone, end_to_end_with_lists),
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
/// integration tests over JSON.
fn suites() -> Result<Passed> {
    const SUITES: [&str; 8] = [
        "hostile",
        "simulation",
        "corpus",
        "proxy",
        "allocations",
        "template",
        "limits",
        "custom",
    ];
    let suites = SUITES.iter().flat_map(|suite| ["--test", suite]);
    run(cargo()
        .args(["test", "--workspace", "--lib", "--bin", "xtask"])
        .args(suites))?;
    // The step `test` runs these with protobuf.
    run(cargo()
        .args(["test", "--workspace", "--test", "it"])
        .env("INFORMER_TESTING_FORMAT", "json"))?;
    Ok(Passed::Ran)
}

/// Compiles the files that must not compile. trybuild builds their dependencies in a folder below the target
/// folder, so this takes a tenth of the time of all other steps; `cargo test` checks the errors of the macros
/// without a compiler.
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
            "informers/debug-server,informers/derive,informers/metrics,informer-testing/demo",
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

/// Tests the debug page in a headless Chromium, if its driver is installed. The step `test` tests the text of
/// the page.
fn browser() -> Result<Passed> {
    if !works(Command::new("chromedriver").arg("--version")) {
        let reason = "chromedriver is not installed; `test` still tests the text of the debug page";
        return Ok(Passed::Skipped(reason.to_owned()));
    }
    let output = run_and_read(cargo().args([
        "test",
        "--workspace",
        "--test",
        "debug_page",
        "--",
        "--ignored",
        "browser::",
    ]))?;
    Ok(match libtest::passed(&output) {
        0 => Passed::Skipped("no ignored test of `debug_page` is in the module `browser`".to_owned()),
        tests => Passed::RanWith(format!("{tests} tests")),
    })
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
    for groups in ["", "core", "full", "derive", "debug-server", "metrics"] {
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

/// Runs the tests with the oldest Kubernetes release of the table, and with packed storage. All other steps
/// use the newest release.
fn oldest_kubernetes() -> Result<Passed> {
    // Unit tests, examples and documentation tests do not depend on the release, and would add minutes.
    let tests = ["test", "-p", "informer-it", "--test", "it"];
    run(with_oldest(
        cargo().args(tests).env("INFORMER_IT_STORAGE", "packed"),
    )?)?;
    let equality = ["test", "-p", "informer-protobuf", "--test", "equality"];
    run(with_oldest(cargo().args(equality))?)?;
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
    const SEEDS: &str = "100";
    sim::play_few(SEEDS)?;
    Ok(Passed::RanWith(format!(
        "{SEEDS} seeds, with fast paths and without"
    )))
}

/// Builds what `e2e` runs, beside other steps: that one runs alone.
fn build_servers() -> Result<Passed> {
    e2e::prepare().map(live)
}

/// Runs the live tests, if a kube-apiserver and an etcd are installed, or Go to build them.
fn end_to_end() -> Result<Passed> {
    e2e::run(&["--watch-list", "on"]).map(live)
}

/// The same with a server without watch lists, where informers list first.
fn end_to_end_with_lists() -> Result<Passed> {
    e2e::run(&["--watch-list", "off"]).map(live)
}

fn live(outcome: e2e::Outcome) -> Passed {
    match outcome {
        e2e::Outcome::Ran => Passed::Ran,
        e2e::Outcome::Skipped => {
            Passed::Skipped("no server that fits, and no Go to build one: see its output".to_owned())
        }
    }
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
    // Advisories need a download, and do not depend on the change that is tested: `.github` checks them.
    tool::run_or_skip(&tool::DENY, &["check", "bans", "licenses", "sources"])
}

fn machete() -> Result<Passed> {
    tool::run_or_skip(&tool::MACHETE, &[])
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
