//! Paths and metadata: the root of the workspace, its packages, and the sources of a dependency.

use std::path::{Path, PathBuf};
use std::process::Command;

use informer_gen::inventory::OLDEST;
use serde_json::Value;

use crate::Result;

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
}

/// A `cargo` command that runs in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// The output of `cargo metadata`; with `--no-deps` in `extra`, of the members only.
pub(crate) fn metadata(extra: &[&str]) -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version=1"])
        .args(extra)
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The folder with the sources of the package `name`, which must be in the dependency graph once.
pub(crate) fn sources_of(name: &str) -> Result<PathBuf> {
    let metadata = metadata(&[])?;
    let manifests: Vec<&str> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| package["name"] == name)
        .filter_map(|package| package["manifest_path"].as_str())
        .collect();
    let &[manifest] = manifests.as_slice() else {
        return Err(format!(
            "expected one package `{name}` in the dependency graph, found {}",
            manifests.len()
        )
        .into());
    };
    let folder = Path::new(manifest)
        .parent()
        .ok_or("a manifest without a folder")?;
    Ok(folder.to_owned())
}

/// The folder cargo builds in.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    Ok(metadata["target_directory"]
        .as_str()
        .ok_or("cargo named no target folder")?
        .into())
}

/// Configures a cargo command to build with the types of the oldest Kubernetes release.
pub(crate) fn with_oldest(command: &mut Command) -> Result<&mut Command> {
    // A separate folder, because k8s-openapi is the largest dependency and switching back would build it
    // again.
    let target = target()?.join(format!("kubernetes-{OLDEST}"));
    Ok(command
        .env("K8S_OPENAPI_ENABLED_VERSION", OLDEST.to_string())
        .env("CARGO_TARGET_DIR", target))
}

/// The oldest supported compiler, from `rust-version`.
pub(crate) fn rust_version() -> Result<String> {
    let metadata = metadata(&["--no-deps"])?;
    Ok(metadata["packages"][0]["rust_version"]
        .as_str()
        .ok_or("no `rust-version` in the workspace")?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The packages that are built with their features, one per line.
    fn packages(selection: &[&str]) -> BTreeSet<String> {
        let output = cargo()
            .args(["tree", "--prefix", "none", "--format", "{p} [{f}]"])
            .args(["--edges", "normal,dev,build"])
            .args(selection)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| line.trim_end_matches(" (*)").to_owned())
            .collect()
    }

    #[test]
    fn the_default_members_and_the_workspace_share_one_build() {
        let (default, whole) = (packages(&[]), packages(&["--workspace"]));
        let rebuilt: Vec<&String> = default.difference(&whole).collect();
        let advice = "add the features that the workspace enables to tests/it/Cargo.toml";
        assert!(rebuilt.is_empty(), "{advice}: {rebuilt:#?}");
    }
}
