//! The tools that check the dependency graph: found on the machine, or installed for CI.

use std::path::PathBuf;
use std::process::Command;

use super::Passed;
use crate::Result;
use crate::process::{run, works};
use crate::workspace::{self, cargo};

/// Set by `.ci/run`: a missing tool is installed. Without it, a step whose tool is missing is skipped.
const INSTALL: &str = "INFORMERS_CI_INSTALL";

/// A cargo subcommand of crates.io.
pub(super) struct Tool {
    /// The subcommand; the package and its program are `cargo-<name>`.
    name: &'static str,
    if_missing: IfMissing,
}

/// What to do where a tool is missing.
enum IfMissing {
    /// Install this version, where that is wanted. Any version that the machine has is used.
    Install(&'static str),
    Skip,
}

pub(super) const DENY: Tool = Tool {
    name: "deny",
    if_missing: IfMissing::Install("0.20.2"),
};

pub(super) const MACHETE: Tool = Tool {
    name: "machete",
    // To build it takes longer than what it finds is worth; the workflow of `.github` has it.
    if_missing: IfMissing::Skip,
};

/// Runs a tool in the root of the workspace. If it is missing, installs it first where that is wanted (a
/// failure is an error), and else skips the step.
pub(super) fn run_or_skip(tool: &Tool, arguments: &[&str]) -> Result<Passed> {
    let package = format!("cargo-{}", tool.name);
    if let Some(mut command) = tool.find()? {
        run(command.args(arguments))?;
        return Ok(Passed::Ran);
    }
    let (IfMissing::Install(version), Some(_)) = (&tool.if_missing, std::env::var_os(INSTALL)) else {
        return Ok(Passed::Skipped(format!("{package} is not installed")));
    };
    // Into the target folder: CI changes nothing outside the workspace, and a kept folder has it already.
    let install = run(cargo()
        // Unoptimized: it is built much faster, and runs for seconds.
        .args(["install", "--locked", "--debug", "--version", version, "--root"])
        .arg(folder()?)
        .arg(&package)
        // The settings and the target folder of the workspace do not concern the tool.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("K8S_OPENAPI_ENABLED_VERSION"));
    let Some(mut command) = tool.find()? else {
        let reason = install
            .err()
            .map_or_else(String::new, |error| format!(": {error}"));
        return Err(format!("{package} could not be installed{reason}").into());
    };
    run(command.args(arguments))?;
    Ok(Passed::RanWith(format!("installed {package} {version}")))
}

impl Tool {
    /// A command that runs the tool, if it is installed on the machine or by CI.
    fn find(&self) -> Result<Option<Command>> {
        // Cargo looks for its subcommands in the folders of `PATH`.
        let own = folder()?.join("bin");
        let found = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::env::split_paths(&found).chain([own]))?;
        let command = || {
            let mut command = cargo();
            // cargo-machete takes a package's variable for a sign that cargo did not run it.
            command
                .arg(self.name)
                .env("PATH", &path)
                .env_remove("CARGO_PKG_NAME");
            command
        };
        Ok(works(command().arg("--version")).then(command))
    }
}

/// Where CI installs tools.
fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("tools"))
}
