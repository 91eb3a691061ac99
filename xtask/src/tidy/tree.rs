//! The text files of the workspace, read once and shared by all checks.

use std::path::{Path, PathBuf};

use super::lexed::Lexed;
use crate::Result;

/// Endings of files that are text of ours. Recorded inputs (a fuzz corpus, say) have others.
const TEXT: [&str; 8] = ["rs", "md", "toml", "txt", "yml", "yaml", "json", "sh"];
/// Folders that hold nothing a person wrote.
const SKIPPED: [&str; 5] = [".git", "target", "corpus", "artifacts", "node_modules"];

/// The files of the workspace.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) files: Vec<File>,
}

/// One text file.
pub(super) struct File {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The tokens, if it is a Rust file; an error if it cannot be split into tokens.
    pub(super) lexed: Option<Result<Lexed, String>>,
}

impl File {
    pub(super) fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let lexed = path
            .extension()
            .is_some_and(|extension| extension == "rs")
            .then(|| Lexed::new(&text));
        Self { path, text, lexed }
    }

    /// Written by `cargo xtask codegen`: nobody reads it for its length.
    pub(super) fn is_generated(&self) -> bool {
        self.text.lines().take(3).any(|line| line.contains("@generated"))
    }

    pub(super) fn rust(&self) -> Option<&Lexed> {
        self.lexed.as_ref()?.as_ref().ok()
    }
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    if !is_skipped(&path) {
                        folders.push(path);
                    }
                } else if is_text(&path) {
                    let text = std::fs::read_to_string(&path)
                        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                    files.push(File::new(path.strip_prefix(root)?, text));
                }
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    pub(super) fn file(&self, path: &Path) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn rust_files(&self) -> impl Iterator<Item = (&File, &Lexed)> {
        self.files.iter().filter_map(|file| Some((file, file.rust()?)))
    }
}

fn is_skipped(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    SKIPPED.contains(&name.as_ref()) || name.starts_with("target-")
}

fn is_text(path: &Path) -> bool {
    // The CI script has no ending.
    let in_ci = path
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name == ".ci");
    let extension = path.extension().and_then(|extension| extension.to_str());
    in_ci || extension.is_some_and(|extension| TEXT.contains(&extension))
}
