//! The size of generated code: lines, types, and the longest name, for each project in a folder of CRDs; on
//! request also the time of `cargo check`.
//!
//! It takes the program as an argument, so that two versions can be compared.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::workspace::{self, cargo};
use crate::{Result, process};

/// The size of the code of one project.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) lines: usize,
    pub(super) comments: usize,
    pub(super) types: usize,
    pub(super) longest: usize,
}

/// What to measure besides the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// How long `cargo check` takes for the crate alone, its dependencies being built: the best of three.
    Check,
    /// Nothing.
    None,
}

/// Generates a crate for each project and prints its size, as rows of a Markdown table.
pub(crate) fn measure(program: &str, folder: &str, times: Times) -> Result<()> {
    let folder = workspace::root().join(folder);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    folders.retain(|folder| folder.join("crds").is_dir());
    folders.sort();
    let place = workspace::target()?.join("crd-measure");
    let _absent = std::fs::remove_dir_all(&place);
    println!(
        "| project | lines | of them comments | types | longest name | check |\n|---|---|---|---|---|---|"
    );
    for folder in folders {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let out = place.join(&name);
        let mut command = Command::new(program);
        command.arg("crd").arg("-f").arg(folder.join("crds"));
        command
            .args(["--crate", &format!("measured-{name}"), "--out"])
            .arg(&out);
        command
            .arg("--informers-path")
            .arg(workspace::root().join("informers"));
        process::run_and_read(&mut command)?;
        let mut size = Size::default();
        size.add_folder(&out.join("src"))?;
        let Size {
            lines,
            comments,
            types,
            longest,
        } = size;
        let check = match times {
            Times::Check => format!("{:.1} s", check(&out)?.as_secs_f64()),
            Times::None => String::new(),
        };
        println!("| {name} | {lines} | {comments} | {types} | {longest} | {check} |");
    }
    Ok(())
}

/// The time of `cargo check` for a generated crate without its dependencies, which the first of four runs
/// builds.
fn check(folder: &Path) -> Result<Duration> {
    let mut manifest = std::fs::read_to_string(folder.join("Cargo.toml"))?;
    manifest.push_str("\n[workspace]\n");
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::copy(workspace::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let run = || -> Result<Duration> {
        let mut command = cargo();
        command
            .args(["check", "--quiet", "--offline", "--manifest-path"])
            .arg(folder.join("Cargo.toml"))
            .env("CARGO_INCREMENTAL", "0")
            .env(
                "CARGO_TARGET_DIR",
                workspace::target()?.join("crd-measure-target"),
            );
        let start = Instant::now();
        process::run(&mut command)?;
        Ok(start.elapsed())
    };
    run()?;
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let root = folder.join("src/lib.rs");
        std::fs::File::options()
            .append(true)
            .open(root)?
            .set_modified(SystemTime::now())?;
        best = best.min(run()?);
    }
    Ok(best)
}

impl Size {
    pub(super) fn add_folder(&mut self, folder: &Path) -> Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.add_folder(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add(&std::fs::read_to_string(&path)?);
            }
        }
        Ok(())
    }

    pub(super) fn add(&mut self, text: &str) {
        for line in text.lines() {
            self.lines += 1;
            self.comments += usize::from(line.trim_start().starts_with("//"));
            let declared = ["pub struct ", "pub enum "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            if let Some(rest) = declared {
                let name = rest.split(|letter: char| !letter.is_alphanumeric()).next();
                self.types += 1;
                self.longest = self.longest.max(name.map_or(0, str::len));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_comments_and_types_are_counted() {
        let mut size = Size::default();
        size.add("//! Doc.\n\n/// Doc.\npub struct Foo {\n    // Why.\n    pub a: u8,\n}\npub enum Ab {\n");
        let expected = Size {
            lines: 8,
            comments: 3,
            types: 2,
            longest: 3,
        };
        assert_eq!(size, expected);
    }
}
