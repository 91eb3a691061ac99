//! Builds the typed layer: the size of its library, and the time a program that uses it takes to compile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::Result;
use crate::process::run;
use crate::workspace::{self, cargo};

const PROGRAMS: &str = "informer-bloat";
const ROUNDS: usize = 3;

/// Builds `informers` with every group; returns the path and the size of its library.
pub(super) fn library() -> Result<(PathBuf, u64)> {
    let output = cargo()
        .args([
            "build",
            "-p",
            "informers",
            "--features",
            "full",
            "--message-format=json",
        ])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("`cargo build -p informers --features full` failed".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let path = messages.lines().rev().find_map(library_in);
    let path = path.ok_or("cargo named no library of informers")?;
    let size = path.metadata()?.len();
    Ok((path, size))
}

/// The path of the library, if this message of cargo reports it.
fn library_in(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["target"]["name"] != "informers" {
        return None;
    }
    let files = message["filenames"].as_array()?.iter();
    files
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .find(|path| path.extension().is_some_and(|ending| ending == "rlib"))
}

/// Times the program with informers and the one with `kube::Api`, each alone and with its dependencies built.
pub(super) fn times() -> Result<(Duration, Duration)> {
    run(cargo().args(["build", "-p", PROGRAMS]))?;
    Ok((best("pods_with_informers")?, best("pods_with_kube")?))
}

fn best(program: &str) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        best = best.min(rebuild(program)?);
    }
    Ok(best)
}

/// Compiles the program without incremental state.
fn rebuild(program: &str) -> Result<Duration> {
    forget_increments(&workspace::target()?.join("debug/incremental"), program)?;
    let source = workspace::root()
        .join("xtask/bloat")
        .join(format!("{program}.rs"));
    File::options()
        .write(true)
        .open(&source)?
        .set_modified(SystemTime::now())?;
    let start = Instant::now();
    let status = cargo()
        .args(["build", "--quiet", "-p", PROGRAMS, "--bin", program])
        .status()?;
    if status.success() {
        Ok(start.elapsed())
    } else {
        Err(format!("`{program}` does not compile").into())
    }
}

/// Deletes the incremental state of the program; with it, an unchanged source compiles in no time.
fn forget_increments(folder: &Path, program: &str) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let of_program = name.to_str().and_then(|name| name.strip_prefix(program));
        if of_program.is_some_and(|rest| rest.starts_with('-')) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_in_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"name":"informers"},
            "filenames":["/t/libinformers-1.rlib","/t/libinformers-1.rmeta"]}"#;
        assert_eq!(library_in(message), Some("/t/libinformers-1.rlib".into()));
        assert_eq!(library_in(&message.replace("\"informers\"", "\"listers\"")), None);
        assert_eq!(library_in("not json"), None);
    }
}
