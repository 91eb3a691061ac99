//! Finds the files that this program wrote before.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use informer_gen::crd::{RECORD, is_marked};

use super::OutputError;

/// A kind's file is in the folder of its version, in the folder of its group. No generated file is deeper.
const DEPTH: usize = 3;

/// The marker is within this many bytes.
const MARKER_BYTES: u64 = 256;

/// The paths of all files with the marker below `root`, which may be missing. Other generated trees below it
/// and links are skipped.
pub(super) fn marked(root: &Path) -> Result<Vec<PathBuf>, OutputError> {
    let mut files = Vec::new();
    let mut folders = vec![(root.to_owned(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        let read = |source| OutputError::Read {
            path: folder.clone(),
            source,
        };
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(read)?,
        };
        for entry in entries {
            let entry = entry.map_err(read)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(read)?);
            if kind.is_dir() && depth < DEPTH && !is_marked_file(&path.join(RECORD)) {
                folders.push((path, depth + 1));
            } else if kind.is_file() && is_marked_file(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// Whether a file begins with the marker. An unreadable file counts as not generated.
fn is_marked_file(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = Vec::new();
    let read = BufReader::new(file.take(MARKER_BYTES)).read_until(b'\n', &mut line);
    read.is_ok() && is_marked(&String::from_utf8_lossy(&line))
}
