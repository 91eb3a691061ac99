//! Compares generated files with a folder: decides which to write and remove before any is changed.

mod apply;
mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use informer_gen::crd::is_marked;

/// The generated file that users may maintain themselves, by removing its first line: a manifest may need
/// other versions or paths.
pub(crate) const MANIFEST: &str = "Cargo.toml";

/// Error of writing generated files. Nothing was written, unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A file exists where a folder is needed, or the reverse.
    #[error("{} is {found}, but must be {wanted}; choose another --out", path.display())]
    InTheWay {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// Files that this program did not write exist at the paths of generated files.
    #[error(
        "cannot overwrite files that this program did not write: {}\n  move or delete them, or choose \
         another --out",
        list(paths)
    )]
    Foreign {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A temporary file cannot be moved to its path, or a stale file cannot be removed. Some files were
    /// changed.
    #[error(
        "cannot {action} {} after {done} of {all} files; run the same command again",
        path.display()
    )]
    Unfinished {
        /// The action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The number of finished files.
        done: usize,
        /// The number of all files.
        all: usize,
        /// The cause.
        source: io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// The changes to a folder.
#[derive(Debug)]
pub(crate) struct Plan {
    root: PathBuf,
    /// In the order of paths.
    pub(crate) changes: Vec<Change>,
    /// The number of files that are up to date.
    pub(crate) unchanged: usize,
    /// Files that were generated once and are now maintained by the user.
    pub(crate) kept: Vec<PathBuf>,
}

/// A file that is not up to date.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    pub(crate) kind: ChangeKind,
}

/// How a file has to change.
#[derive(Debug)]
pub(crate) enum ChangeKind {
    Missing {
        text: String,
    },
    Differs {
        text: String,
        /// The first line that differs, counted from 1.
        line: usize,
        found: String,
        expected: String,
    },
    /// It has the marker, but nothing generates it.
    LeftOver,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            ChangeKind::Missing { .. } => write!(f, "missing: {path}"),
            ChangeKind::Differs {
                line,
                found,
                expected,
                ..
            } => write!(f, "differs: {path}:{line} is `{found}`, not `{expected}`"),
            ChangeKind::LeftOver => write!(f, "stale: {path}"),
        }
    }
}

impl Plan {
    /// Compares `files`, text by path below `root`, with the folder. Stale files are searched below `tree`, a
    /// folder in `root`.
    pub(crate) fn new(
        root: &Path,
        files: &BTreeMap<String, String>,
        tree: &str,
    ) -> Result<Self, OutputError> {
        let mut plan = Self::compare(root, files)?;
        let generated: BTreeSet<PathBuf> = files.keys().map(|name| root.join(name)).collect();
        let left_over = sweep::marked(&root.join(tree))?.into_iter();
        let left_over = left_over.filter(|path| !generated.contains(path));
        plan.changes.extend(left_over.map(|path| Change {
            path,
            kind: ChangeKind::LeftOver,
        }));
        plan.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(plan)
    }

    /// The change to one file. Other generated files beside it are not touched.
    pub(crate) fn of_file(path: &Path, text: &str) -> Result<Self, OutputError> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let root = path.parent().unwrap_or(Path::new(""));
        Self::compare(root, &BTreeMap::from([(name, text.to_owned())]))
    }

    /// The changes to these files alone.
    fn compare(root: &Path, files: &BTreeMap<String, String>) -> Result<Self, OutputError> {
        expect_folder_or_nothing(root)?;
        let mut plan = Self {
            root: root.to_owned(),
            changes: Vec::new(),
            unchanged: 0,
            kept: Vec::new(),
        };
        let mut foreign = Vec::new();
        for (name, text) in files {
            let path = root.join(name);
            let Some(present) = read(&path)? else {
                let kind = ChangeKind::Missing { text: text.clone() };
                plan.changes.push(Change { path, kind });
                continue;
            };
            if is_same(&present, text) {
                plan.unchanged += 1;
            } else if is_marked(&first_line(&present)) {
                let kind = differs(&present, text);
                plan.changes.push(Change { path, kind });
            } else if name == MANIFEST {
                plan.kept.push(path);
            } else {
                foreign.push(path);
            }
        }
        if !foreign.is_empty() {
            return Err(OutputError::Foreign { paths: foreign });
        }
        Ok(plan)
    }
}

fn expect_folder_or_nothing(root: &Path) -> Result<(), OutputError> {
    match std::fs::metadata(root) {
        Ok(found) if !found.is_dir() => Err(OutputError::InTheWay {
            path: root.to_owned(),
            found: "a file",
            wanted: "a folder",
        }),
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(OutputError::Read {
            path: root.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// The content of a file, if it exists.
fn read(path: &Path) -> Result<Option<Vec<u8>>, OutputError> {
    match std::fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(OutputError::InTheWay {
            path: path.parent().unwrap_or(path).to_owned(),
            found: "a file",
            wanted: "a folder",
        }),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(OutputError::InTheWay {
            path: path.to_owned(),
            found: "a folder",
            wanted: "a file",
        }),
        Err(source) => Err(OutputError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Whether a file has this text, also with the line ends of Windows, as git may check it out.
fn is_same(present: &[u8], text: &str) -> bool {
    let is_return = |index: usize| present.get(index..index + 2) == Some(b"\r\n");
    let bytes = present.iter().enumerate();
    let bytes = bytes.filter_map(|(index, byte)| (!is_return(index)).then_some(*byte));
    bytes.eq(text.bytes())
}

fn first_line(content: &[u8]) -> String {
    let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).into_owned()
}

/// The first difference of two texts.
fn differs(found: &[u8], text: &str) -> ChangeKind {
    let found = String::from_utf8_lossy(found);
    let same = found
        .lines()
        .zip(text.lines())
        .take_while(|(one, other)| one == other)
        .count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("the end").trim().to_owned();
    ChangeKind::Differs {
        line: same + 1,
        found: line(&found),
        expected: line(text),
        text: text.to_owned(),
    }
}
