//! `cargo xtask crd`: runs this workspace's informer-gen, or checks or measures it with the CRDs of real
//! projects.

mod kopium;
mod measure;
mod proof;

use std::process::Command;

use crate::{Result, workspace};

pub(crate) use self::kopium::compare_kopium;
pub(crate) use self::measure::{Times, measure};
pub(crate) use self::proof::{Outcome, folder, proof};

/// Runs `informer-gen crd` in the current folder, optimized: reading YAML takes six times as long in a debug
/// build. If it fails, it has printed why, and this process exits
/// with its code.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // A debug build takes six times as long for large definitions. Without a cluster it needs no kube, whose
    // release build takes minutes.
    let features: &[&str] = match arguments.contains(&"--cluster") {
        true => &[],
        false => &["--no-default-features"],
    };
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--package", "informer-gen-cli"])
        .args(features)
        .args(["--", "crd"])
        .args(arguments)
        .status()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => Err(format!("informer-gen ended without an exit code: {status}").into()),
    }
}
