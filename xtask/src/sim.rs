//! `cargo xtask sim`: simulates informers and controllers on the embedded server and checks every guarantee
//! after every step.
//!
//! This task builds the program of `tests/sim` and passes the arguments on. With `--mutants` it checks that
//! the simulation notices each deliberate fault of informer-core.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::mutants::{self, Mutant};
use crate::process::run;
use crate::{Result, artifact, workspace};

/// The variable that turns the faster ways of informer-core off.
const FAST_PATHS: &str = "INFORMER_FAST_PATHS";

/// The number of seeds within which each mutant must be caught.
const SEEDS: &str = "1000";

/// Runs the simulation with the given arguments: `--seeds 10000`, `--for 10m`, `--seed 7`.
pub(crate) fn play(arguments: &[&str]) -> Result<()> {
    run(Command::new(build(&[])?)
        .args(arguments)
        .current_dir(workspace::root()))
}

/// Runs some seeds with the unoptimized program that `cargo test` builds, with fast paths and
/// without. For a few hundred seeds an optimized build takes longer than it saves.
pub(crate) fn play_few(seeds: &str) -> Result<()> {
    let program = artifact::build(
        "tests/sim",
        "informer-sim",
        &["test", "--workspace", "--test", "simulation", "--no-run"],
    )?;
    for fast_paths in ["on", "off"] {
        println!("fast paths {fast_paths}");
        run(Command::new(&program)
            .args(["--seeds", seeds])
            .env(FAST_PATHS, fast_paths)
            .current_dir(workspace::root()))?;
    }
    Ok(())
}

/// Checks that the simulation catches each mutant.
pub(crate) fn mutants(names: &[&str]) -> Result<()> {
    let program = build(&["--features", "mutants"])?;
    let chosen = mutants::choose(names)?;
    println!("{:<10} {:>7}  caught by", "guarantee", "time");
    let mut survivors = Vec::new();
    for mutant in chosen {
        let (start, name) = (Instant::now(), mutant.name());
        let plans = match mutant {
            Mutant::Informer(_) => "informers",
            Mutant::Controller(_) => "controllers",
        };
        let output = Command::new(&program)
            .args(["--seeds", SEEDS, "--only", plans, "--first"])
            .env("INFORMER_MUTANT", &name)
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let caught = text.lines().find(|line| line.starts_with("seed "));
        let shown = caught.unwrap_or("NOTHING");
        println!("{name:<10} {:>5.1} s  {shown}", start.elapsed().as_secs_f64());
        if caught.is_none() {
            survivors.push(name);
        }
    }
    if survivors.is_empty() {
        return Ok(());
    }
    Err(format!("not caught within {SEEDS} seeds: {}", survivors.join(", ")).into())
}

/// Builds the optimized program and returns its path.
fn build(extra: &[&str]) -> Result<PathBuf> {
    let usual = ["build", "--profile", "sim", "-p", "informer-sim"];
    artifact::build("tests/sim", "informer-sim", &[&usual[..], extra].concat())
}
