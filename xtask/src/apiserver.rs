//! `cargo xtask apiserver`: a real kube-apiserver and etcd that keep running between commands.
//!
//! The program of `tests/live` does the work.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::workspace::{self, cargo};

/// The exit code of `informer-live` for: no binaries found, and no Go to build them.
const NOTHING_TO_RUN: i32 = 3;

/// The exit code of `informer-live` for: this etcd is too old for watch lists.
const NO_WATCH_LISTS: i32 = 4;

/// The servers to test against. `informer-live` prints the reason if some are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// Everything, found or built.
    All,
    /// The etcd is too old for watch lists.
    WithoutWatchLists,
    /// Neither binaries nor Go.
    None,
}

/// Runs one of the commands `build`, `up`, `kubeconfig` and `down`. The command line is not printed, so that
/// the output of `kubeconfig` is the path and nothing else.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let status = live().args(arguments).status()?;
    match status.code() {
        Some(0) => Ok(()),
        // It has printed what is missing.
        _ => Err(format!("`apiserver {}` failed: {status}", arguments.join(" ")).into()),
    }
}

/// Finds the binaries, or builds them if Go is installed. `live` is the program of `tests/live`.
pub(crate) fn provide(live: &Path) -> Result<Servers> {
    let status = Command::new(live)
        .arg("build")
        .current_dir(workspace::root())
        .status()?;
    match status.code() {
        Some(0) => Ok(Servers::All),
        Some(NO_WATCH_LISTS) => Ok(Servers::WithoutWatchLists),
        Some(NOTHING_TO_RUN) => Ok(Servers::None),
        _ => Err(format!("cannot provide kube-apiserver and etcd: {status}").into()),
    }
}

fn live() -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "informer-live", "--"]);
    command
}
