//! Builds one program or test with cargo, and says where it is.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::{Result, workspace};

/// Runs cargo with these arguments, and gives the executable of the target `name`.
///
/// `["test", "--workspace", "--test", "e2e", "--no-run"]` builds a program as `cargo test` builds it, with the features that the whole
/// workspace agrees on: so that what one step of CI has compiled serves the next.
pub(crate) fn build(name: &str, arguments: &[&str]) -> Result<PathBuf> {
    println!("$ cargo {}", arguments.join(" "));
    let output = workspace::cargo()
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("`{name}` does not build: {}", output.status).into());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| executable(line, name))
        .ok_or_else(|| format!("cargo built no program called `{name}`").into())
}

/// The executable in one line of cargo's messages, if it is the one of the target `name`.
fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    (message["target"]["name"] == name).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_of_a_target_is_found_by_its_name() {
        let line = |name: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}"}},"executable":{executable}}}"#
            )
        };
        assert_eq!(executable(&line("it", r#""/a/it""#), "it"), Some("/a/it".into()));
        assert_eq!(executable(&line("it", "null"), "it"), None);
        assert_eq!(executable(&line("sim", r#""/a/sim""#), "it"), None);
        assert_eq!(executable("warning: unused", "it"), None);
    }
}
