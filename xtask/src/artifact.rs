//! Builds one program or test with cargo and returns its path.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::{Result, workspace};

/// Runs cargo with these arguments and returns the executable of the target `name` in the package at
/// `folder`. The folder is needed because several packages may have a target of the same name.
///
/// `["test", "--workspace", "--test", "e2e", "--no-run"]` builds a program with the features of the whole
/// workspace, as `cargo test` does, so that steps of CI share what they build.
pub(crate) fn build(folder: &str, name: &str, arguments: &[&str]) -> Result<PathBuf> {
    println!("$ cargo {}", arguments.join(" "));
    let output = workspace::cargo()
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("`{name}` does not build: {}", output.status).into());
    }
    let folder = workspace::root().join(folder);
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| executable(line, &folder, name))
        .ok_or_else(|| format!("cargo built no program called `{name}` in {}", folder.display()).into())
}

/// The executable in one line of cargo's messages, if it belongs to the target `name` of the package at
/// `folder`.
fn executable(line: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let is_ours = message["target"]["name"] == name && manifest == folder.join("Cargo.toml");
    is_ours.then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(package: &str, name: &str, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/{package}/Cargo.toml",
                "target":{{"name":"{name}"}},"executable":{executable}}}"#
        )
    }

    #[test]
    fn an_executable_is_found_by_its_package_and_name() {
        let found = |line: &str| executable(line, Path::new("/w/tests/it"), "it");
        assert_eq!(
            found(&line("tests/it", "it", r#""/t/it-1""#)),
            Some("/t/it-1".into())
        );
        assert_eq!(found(&line("tests/testing", "it", r#""/t/it-2""#)), None);
        assert_eq!(found(&line("tests/it", "sim", r#""/t/sim""#)), None);
        assert_eq!(found(&line("tests/it", "it", "null")), None);
        assert_eq!(found("warning: unused"), None);
    }
}
