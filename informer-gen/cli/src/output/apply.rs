//! Applies a plan: writes every file to a temporary path, then moves all of them.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{ChangeKind, OutputError, Plan};

impl Plan {
    /// Writes, replaces and removes files. After an error nothing has changed, unless the file system failed
    /// between two moves; the error says so.
    pub(crate) fn apply(&self) -> Result<(), OutputError> {
        let mut folders = NewFolders(Vec::new());
        let mut staged = Vec::new();
        for change in &self.changes {
            let text = match &change.kind {
                ChangeKind::Missing { text } | ChangeKind::Differs { text, .. } => text,
                ChangeKind::LeftOver => continue,
            };
            let folder = change.path.parent().unwrap_or(&self.root);
            let file = folders
                .make(folder)
                .and_then(|()| stage(folder, text))
                .map_err(|source| OutputError::Write {
                    path: change.path.clone(),
                    source,
                })?;
            staged.push((file, &change.path));
        }
        folders.keep();
        self.finish(staged)
    }

    fn finish(&self, staged: Vec<(NamedTempFile, &PathBuf)>) -> Result<(), OutputError> {
        let all = self.changes.len();
        let unfinished = |action, path: &Path, done, source| OutputError::Unfinished {
            action,
            path: path.to_owned(),
            done,
            all,
            source,
        };
        let mut done = 0;
        for (file, path) in staged {
            file.persist(path)
                .map_err(|failed| unfinished("write", path, done, failed.error))?;
            done += 1;
        }
        for change in &self.changes {
            if matches!(change.kind, ChangeKind::LeftOver) {
                std::fs::remove_file(&change.path)
                    .map_err(|source| unfinished("remove", &change.path, done, source))?;
                done += 1;
                self.remove_empty_above(&change.path);
            }
        }
        Ok(())
    }

    /// Removes empty folders up to the root. A folder that cannot be removed is ignored.
    fn remove_empty_above(&self, path: &Path) {
        let folders = path.ancestors().skip(1);
        for folder in folders.take_while(|&folder| folder != self.root && folder.starts_with(&self.root)) {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

/// A temporary file with this text beside its path, deleted on drop unless it was moved.
fn stage(folder: &Path, text: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".informer-gen-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The usual permissions, limited by the user's umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// The created folders, removed on drop unless they are kept.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Creates a folder and its parents.
    fn make(&mut self, folder: &Path) -> io::Result<()> {
        // The parent of a relative path of one part is the empty path: the current folder.
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.make(above)?;
        }
        std::fs::create_dir(folder)?;
        self.0.push(folder.to_owned());
        Ok(())
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Files that others created meanwhile are kept.
            let _not_empty = std::fs::remove_dir(folder);
        }
    }
}
