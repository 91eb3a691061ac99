//! Generated files and folders, written or compared as a whole, so that a file nothing generates is found.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use crate::Result;

/// The text of every generated file.
pub(super) struct Output {
    /// Folders that hold generated files only. Paths are relative to the root, with `/`.
    pub(super) folders: Vec<String>,
    /// Text by path; some files are outside those folders.
    pub(super) files: BTreeMap<String, String>,
}

/// A file that differs from its generated text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    /// Its text differs.
    Edited {
        path: String,
        /// The first line that differs, counted from 1.
        line: usize,
        found: String,
        expected: String,
    },
    /// It does not exist.
    Missing { path: String },
    /// It is in a generated folder, but nothing generates it.
    Orphan { path: String },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited {
                path,
                line,
                found,
                expected,
            } => write!(f, "{path}:{line} is `{found}`, not `{expected}`"),
            Self::Missing { path } => write!(f, "{path} is missing"),
            Self::Orphan { path } => write!(f, "nothing generates {path}; delete it"),
        }
    }
}

impl Output {
    /// Deletes the folders, then writes every file. An up-to-date file outside the folders is not touched.
    pub(super) fn write(&self, root: &Path) -> Result<()> {
        for folder in &self.folders {
            match std::fs::remove_dir_all(root.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("cannot delete {folder}: {error}").into());
                }
                _ => {}
            }
        }
        for (path, text) in &self.files {
            let target = root.join(path);
            if std::fs::read_to_string(&target).is_ok_and(|present| present == *text) {
                continue;
            }
            if let Some(folder) = target.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&target, text).map_err(|error| format!("cannot write {path}: {error}"))?;
        }
        Ok(())
    }

    /// Every file that [`write`](Self::write) would change, add or delete.
    pub(super) fn differences(&self, root: &Path) -> Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for (path, text) in &self.files {
            match std::fs::read_to_string(root.join(path)) {
                Ok(present) if present == *text => {}
                Ok(present) => differences.push(edited(path, &present, text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    differences.push(Difference::Missing { path: path.clone() });
                }
                Err(error) => return Err(format!("cannot read {path}: {error}").into()),
            }
        }
        for folder in &self.folders {
            let orphans = files_below(root, folder)?.into_iter();
            let orphans = orphans.filter(|path| !self.files.contains_key(path));
            differences.extend(orphans.map(|path| Difference::Orphan { path }));
        }
        differences.sort();
        Ok(differences)
    }
}

fn edited(path: &str, found: &str, expected: &str) -> Difference {
    let same = found
        .lines()
        .zip(expected.lines())
        .take_while(|(one, other)| one == other)
        .count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("the end").trim().to_owned();
    Difference::Edited {
        path: path.to_owned(),
        line: same + 1,
        found: line(found),
        expected: line(expected),
    }
}

/// The paths, from the root, of all files below a folder, which may be missing.
fn files_below(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(root.join(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().display());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A temporary folder of one test, deleted on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-codegen-{}-{test}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn output() -> Output {
        let file = |path: &str| (path.to_owned(), format!("one\ntwo of {path}\n"));
        Output {
            folders: vec!["a/generated".to_owned()],
            files: ["a/build.rs", "a/generated/b.rs", "a/generated.rs"]
                .map(file)
                .into(),
        }
    }

    /// Checks the differences after `change` to a fresh tree, and that writing again removes them.
    fn check(test: &str, change: impl FnOnce(&Scratch), expected: &[&str]) {
        let scratch = Scratch::new(test);
        output().write(&scratch.0).unwrap();
        assert_eq!(output().differences(&scratch.0).unwrap(), []);
        change(&scratch);
        let found = output().differences(&scratch.0).unwrap();
        let found: Vec<String> = found.iter().map(Difference::to_string).collect();
        assert_eq!(found, expected);
        output().write(&scratch.0).unwrap();
        assert_eq!(output().differences(&scratch.0).unwrap(), []);
    }

    #[test]
    fn a_manual_edit_is_reported_with_its_line() {
        check(
            "edit",
            |tree| tree.write("a/generated/b.rs", "one\nTWO\n"),
            &["a/generated/b.rs:2 is `TWO`, not `two of a/generated/b.rs`"],
        );
        check(
            "cut",
            |tree| tree.write("a/build.rs", "one\n"),
            &["a/build.rs:2 is `the end`, not `two of a/build.rs`"],
        );
    }

    #[test]
    fn a_file_that_nothing_generates_is_reported_and_deleted() {
        check(
            "orphan",
            |tree| tree.write("a/generated/deep/old.rs", "x\n"),
            &["nothing generates a/generated/deep/old.rs; delete it"],
        );
    }

    #[test]
    fn a_missing_file_is_reported() {
        check(
            "missing",
            |tree| std::fs::remove_dir_all(tree.0.join("a/generated")).unwrap(),
            &["a/generated/b.rs is missing"],
        );
    }

    #[test]
    fn files_outside_generated_folders_are_ignored() {
        check("beside", |tree| tree.write("a/lib.rs", "x\n"), &[]);
    }
}
