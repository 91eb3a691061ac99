//! `cargo xtask crd`: the program informer-gen of this workspace, and the proof that it copes with the definitions of real projects.

mod proof;

use std::process::Command;

use crate::{Result, workspace};

pub(crate) use self::proof::{Outcome, SHARED, proof};

/// Runs `informer-gen crd`, in the folder of whoever runs this. It has said what was wrong if it fails, and its exit code is ours.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--package", "informer-gen-cli", "--", "crd"])
        .args(arguments)
        .status()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => Err(format!("informer-gen ended without an exit code: {status}").into()),
    }
}
