//! `cargo xtask apiserver`: a real kube-apiserver and etcd that stay up between commands. The work is done in `tests/live`.

use std::process::Command;

use crate::workspace::cargo;
use crate::{Result, process};

/// The exit code of `informer-live` that says: no binaries here, and no Go to build them.
const NOTHING_TO_RUN: i32 = 3;

/// Whether there is a server to test against.
pub(crate) enum Servers {
    /// Found, or built.
    Ready,
    /// The reason has been printed.
    None,
}

/// Runs one of the commands: `build`, `up`, `kubeconfig`, `down`.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    process::run(live().args(arguments))
}

/// Finds the binaries, or builds them where there is Go.
pub(crate) fn provide() -> Result<Servers> {
    let status = live().arg("build").status()?;
    match status.code() {
        Some(0) => Ok(Servers::Ready),
        Some(NOTHING_TO_RUN) => Ok(Servers::None),
        _ => Err(format!("cannot provide kube-apiserver and etcd: {status}").into()),
    }
}

fn live() -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "informer-live", "--"]);
    command
}
