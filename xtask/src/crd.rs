//! `cargo xtask crd`: runs this workspace's informer-gen, or checks it with the CRDs of real projects.

mod proof;

use std::process::Command;

use crate::{Result, workspace};

pub(crate) use self::proof::{Outcome, folder, proof};

/// Runs `informer-gen crd` in the current folder. If it fails, it has printed why, and this process exits
/// with its code.
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
