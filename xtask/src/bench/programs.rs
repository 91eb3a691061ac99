//! The programs that measure: builds and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::rows::{Library, Needs, Program, Row};
use super::samples::Figures;
use super::server::{FILLED, Server};
use super::{Peers, Size};
use crate::process::{self, Ended};
use crate::{Result, artifact, workspace};

/// The longest time of one run. The slowest rows take less than a minute.
const LIMIT: Duration = Duration::from_secs(300);

/// The arguments of cargo that every program of the measurement is built with.
const BUILD: &[&str] = &["build", "--profile", "measured", "-p", "informer-bench"];

/// Where the package is.
const FOLDER: &str = "tests/bench";

pub(super) struct Programs {
    rust: PathBuf,
    counting: PathBuf,
    /// None if no row needs them.
    system: Option<PathBuf>,
    mimalloc: Option<PathBuf>,
    /// None if Go is not installed.
    go: Option<PathBuf>,
}

impl Programs {
    /// Builds what the rows need, optimized and with jemalloc, as the documentation advises.
    pub(super) fn build(rows: &[&Row], peers: Peers) -> Result<Self> {
        let needs = |library| rows.iter().any(|row| row.libraries.contains(&library));
        let with = |library, allocator, features: &[&str]| match needs(library) {
            true => build_with(allocator, features).map(Some),
            false => Ok(None),
        };
        // First: the programs of the last build are not copied.
        let system = with(Library::System, "system", &[])?;
        let mimalloc = with(Library::Mimalloc, "mimalloc", &["--features", "mimalloc"])?;
        let build = [BUILD, &["--features", "jemalloc"]].concat();
        let go = match peers {
            Peers::All => build_go()?,
            Peers::WithoutGo => None,
        };
        Ok(Self {
            system,
            mimalloc,
            rust: artifact::build(FOLDER, "informer-bench", &build)?,
            counting: artifact::build(FOLDER, "informer-bench-counting", &build)?,
            go,
        })
    }

    /// The program that serves, and that changes objects while another one measures.
    pub(super) fn server(&self) -> &Path {
        &self.rust
    }

    /// The program that measures a row with a library; none if it needs Go, which is not installed.
    pub(super) fn of(&self, library: Library, row: &Row) -> Option<&Path> {
        match library {
            Library::Informers | Library::Kube => Some(match row.program {
                Program::Plain => &self.rust,
                Program::Counting => &self.counting,
            }),
            Library::System => self.system.as_deref(),
            Library::Mimalloc => self.mimalloc.as_deref(),
            Library::ClientGo | Library::ControllerRuntime => self.go.as_deref(),
        }
    }
}

/// Builds the program with an allocator, and copies it, because other builds replace it.
fn build_with(allocator: &str, features: &[&str]) -> Result<PathBuf> {
    let build = [BUILD, &["--bin", "informer-bench"], features].concat();
    let built = artifact::build(FOLDER, "informer-bench", &build)?;
    let copy = workspace::target()?.join("bench").join(allocator);
    std::fs::create_dir_all(copy.with_file_name(""))?;
    std::fs::copy(built, &copy)?;
    Ok(copy)
}

/// Builds the program in Go, unless Go is not installed.
fn build_go() -> Result<Option<PathBuf>> {
    if !process::works(Command::new("go").arg("version")) {
        println!("bench: Go is not installed: measuring without client-go and controller-runtime");
        return Ok(None);
    }
    let program = workspace::target()?.join("bench/go-libraries");
    process::run(
        Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(workspace::root().join("tests/bench/go"))
            // A workspace file or flags of the user would change what the module pins.
            .env("GOWORK", "off")
            .env("GOFLAGS", "-mod=readonly"),
    )?;
    Ok(Some(program))
}

/// The command of one run. `writer` changes objects for it.
pub(super) fn command(
    program: &Path,
    writer: &Path,
    row: &Row,
    library: Library,
    size: Size,
    round: usize,
    server: Option<&Server>,
) -> Command {
    let mut command = Command::new(program);
    command
        .arg(library.command())
        .args(row.arguments(size))
        .env("BENCH_WRITER", writer);
    match row.needs {
        Needs::Nothing => {}
        Needs::NewNamespace => {
            let namespace = format!("{}-{}-{round}", row.name, library.command());
            command.args(["--namespace", &namespace]);
        }
        Needs::FilledNamespace => {
            command.args(["--namespace", FILLED]);
        }
        Needs::Pods(pod) if !server.is_some_and(Server::is_replay) => {
            command.args(["--namespace", pod.namespace()]);
        }
        // All Pods of the replay server.
        Needs::Pods(_) | Needs::Replay(_) => {}
    }
    if let Some(server) = server {
        server.name_in(&mut command);
    }
    command
}

/// Runs a program once and returns the figures it prints.
pub(super) fn measure(mut command: Command, row: &Row, library: Library) -> Result<Figures> {
    let log = workspace::target()?.join("bench/output");
    std::fs::create_dir_all(log.with_file_name(""))?;
    let ended = process::run_limited(&mut command, &log, LIMIT)?;
    let text = std::fs::read_to_string(&log)?;
    let failed = |why: &str| format!("{} with {} {why}: {text}", row.name, library.name());
    match ended {
        Ended::Exited(status) if status.success() => {}
        Ended::Exited(_) => return Err(failed("failed").into()),
        Ended::TimedOut => return Err(failed("took too long").into()),
    }
    let last = text.lines().last().unwrap_or_default();
    let figures: Value = serde_json::from_str(last).map_err(|_| failed("printed no figures"))?;
    let figures = figures.as_object().ok_or_else(|| failed("printed no figures"))?;
    Ok(figures
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
        .collect())
}
