//! `cargo xtask bench --profile ROW`: a flame graph of this library in one row, with perf and inferno.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::rows::{Library, Needs, Row};
use super::server::Server;
use super::{Size, no_such_row, programs, rows, scratch};
use crate::process::{self, works};
use crate::{Result, artifact, workspace};

/// The largest flame graph that is written.
const LARGEST: u64 = 200_000;

/// The narrowest frames that are drawn, in percent. The next one is tried if the file is too large.
const WIDTHS: [&str; 4] = ["0.1", "0.3", "0.6", "1.0"];

/// Which of two ways the library uses: see `informer-core/src/fast_paths.rs`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FastPaths {
    On,
    Off,
}

/// Runs the row once under perf, and writes `profile-ROW.svg` or `profile-ROW-plain.svg` below the target
/// folder.
pub(super) fn run(name: &str, size: Size, fast_paths: FastPaths) -> Result<()> {
    let row = rows::all().find(|row| row.name == name).ok_or_else(no_such_row)?;
    for (tool, fix) in [
        ("perf", "install the package linux-perf or linux-tools"),
        ("inferno-collapse-perf", "run `cargo install inferno`"),
        ("inferno-flamegraph", "run `cargo install inferno`"),
    ] {
        if !works(Command::new(tool).arg("--help")) && !works(Command::new(tool).arg("--version")) {
            return Err(format!("`{tool}` is not installed: {fix}").into());
        }
    }
    let program = build()?;
    let server = match row.needs {
        Needs::Nothing => None,
        Needs::Replay(pod) => Some(Server::replay(&program, size, row, pod)?),
        _ => Some(Server::start(&program, size, &[row])?),
    };
    let folder = scratch()?;
    std::fs::create_dir_all(&folder)?;
    let recorded = folder.join("perf.data");
    let mut measured = programs::command(
        &program,
        &program,
        row,
        Library::Informers,
        size,
        0,
        server.as_ref(),
    );
    let suffix = match fast_paths {
        FastPaths::On => "",
        FastPaths::Off => {
            measured.env("INFORMER_FAST_PATHS", "off");
            "-plain"
        }
    };
    process::run(&mut record(&measured, &recorded))?;
    drop(server);
    let stacks = folder.join("stacks");
    collapse(&recorded, &stacks)?;
    let picture = folder.join(format!("profile-{name}{suffix}.svg"));
    draw(row, &stacks, &picture)?;
    println!("bench: wrote {}", picture.display());
    Ok(())
}

/// Builds with frame pointers and names of functions, in its own target folder: the flags concern every
/// dependency.
fn build() -> Result<PathBuf> {
    let target = workspace::target()?.join("profiling");
    let build = [
        "build",
        "--release",
        "-p",
        "informer-bench",
        "--bin",
        "informer-bench",
        "--features",
        // Makes the fast paths an option.
        "informer-core/__internals",
        "--config",
        "profile.release.debug=\"line-tables-only\"",
        "--config",
        "build.rustflags=[\"-Cforce-frame-pointers=yes\"]",
        "--target-dir",
        &target.display().to_string(),
    ];
    artifact::build("tests/bench", "informer-bench", &build)
}

/// The command under perf. `cpu-clock` needs no hardware counters, which virtual machines often lack.
fn record(measured: &Command, output: &Path) -> Command {
    let mut perf = Command::new("perf");
    perf.args([
        "record",
        "-F",
        "999",
        "-e",
        "cpu-clock",
        "--call-graph",
        "fp",
        "-o",
    ])
    .arg(output)
    .arg("--")
    .arg(measured.get_program())
    .args(measured.get_args());
    for (name, value) in measured.get_envs() {
        if let Some(value) = value {
            perf.env(name, value);
        }
    }
    perf
}

fn collapse(recorded: &Path, stacks: &Path) -> Result<()> {
    let mut script = Command::new("perf")
        .args(["script", "-i"])
        .arg(recorded)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let input = script.stdout.take().ok_or("perf script has no output")?;
    let status = Command::new("inferno-collapse-perf")
        .stdin(input)
        .stdout(File::create(stacks)?)
        .stderr(Stdio::null())
        .status()?;
    match script.wait()?.success() && status.success() {
        true => Ok(()),
        false => Err("cannot read what perf recorded".into()),
    }
}

/// Draws wider frames only, until the file is small enough.
fn draw(row: &Row, stacks: &Path, picture: &Path) -> Result<()> {
    for width in WIDTHS {
        process::run(
            Command::new("inferno-flamegraph")
                .args(["--minwidth", width, "--title", row.title])
                .stdin(File::open(stacks)?)
                .stdout(File::create(picture)?),
        )?;
        if std::fs::metadata(picture)?.len() < LARGEST {
            return Ok(());
        }
    }
    Err(format!("the flame graph of {} has more than {LARGEST} bytes", row.name).into())
}
