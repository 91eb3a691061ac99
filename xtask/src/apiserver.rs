//! `cargo xtask apiserver`: a real kube-apiserver and etcd that stay up between commands. The work is done in `tests/live`.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::workspace::{self, cargo};

/// The exit code of `informer-live` that says: no binaries here, and no Go to build them.
const NOTHING_TO_RUN: i32 = 3;

/// The exit code of `informer-live` that says: this etcd is too old for watch lists.
const NO_WATCH_LISTS: i32 = 4;

/// What there is to test against. Reasons have been printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// All that is needed, found or built.
    All,
    /// The etcd is too old for watch lists.
    WithoutWatchLists,
    /// Neither binaries nor Go.
    None,
}

/// Runs one of the commands: `build`, `up`, `kubeconfig`, `down`. Not shown as other commands are: whoever asks for a path wants
/// nothing else on the output.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let status = live().args(arguments).status()?;
    match status.code() {
        Some(0) => Ok(()),
        // It told to the terminal what is wanting.
        _ => Err(format!("`apiserver {}` failed: {status}", arguments.join(" ")).into()),
    }
}

/// Finds the binaries, or builds them where there is Go, with the program of `tests/live` at this path.
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
