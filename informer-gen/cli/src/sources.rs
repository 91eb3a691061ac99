//! Reads definitions from files, folders and the standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use informer_gen::crd::{self, ReadError, Reading};

/// The largest file that is read. Large bundles of definitions have a few MiB.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// The most levels of folders that are searched.
pub const MAX_DEPTH: usize = 16;
/// The most files that are read.
pub const MAX_FILES: usize = 10_000;

/// Error of reading definitions from a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file or folder is missing or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A folder contains no file with a known extension.
    #[error(
        "no *.yaml, *.yml or *.json file in the folder {}; name files with another extension one by one",
        path.display()
    )]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file is too large.
    #[error("{} has more than {MAX_FILE_BYTES} bytes; move the definitions to a separate \
        file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A folder is too large.
    #[error(
        "more than {MAX_FILES} files, or more than {MAX_DEPTH} levels of folders, in {}; name a smaller \
         folder",
        path.display()
    )]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
    /// A file is not text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file is not valid YAML, or contains an invalid definition.
    #[error(transparent)]
    Content(#[from] ReadError),
}

/// Reads every source; `-` is `input`.
pub(crate) fn read(sources: &[PathBuf], input: &mut dyn Read) -> Result<Reading, SourceError> {
    let mut all = Reading::default();
    for source in sources {
        if source.as_os_str() == "-" {
            let origin = Path::new("the standard input");
            all.extend(content(origin, input)?);
            continue;
        }
        for path in files(source)? {
            let mut file = File::open(&path).map_err(|source| unreadable(&path, source))?;
            all.extend(content(&path, &mut file)?);
        }
    }
    Ok(all)
}

fn content(path: &Path, input: &mut dyn Read) -> Result<Reading, SourceError> {
    let mut bytes = Vec::new();
    let limited = input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    limited.map_err(|source| unreadable(path, source))?;
    let path = path.to_owned();
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SourceError::TooLarge { path });
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(SourceError::NotText { path });
    };
    Ok(crd::read(&path.display().to_string(), &text)?)
}

/// The file itself, or the files of a folder with a known extension, sorted.
fn files(source: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let metadata = std::fs::metadata(source).map_err(|error| unreadable(source, error))?;
    if !metadata.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let too_many = || SourceError::TooMany {
        path: source.to_owned(),
    };
    let mut files = Vec::new();
    let mut folders = vec![(source.to_owned(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        if depth > MAX_DEPTH {
            return Err(too_many());
        }
        for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))? {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            // Hidden folders belong to tools.
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            // A link to a file is followed, because mounted config maps consist of them. A link to a folder
            // may be a cycle.
            if kind.is_dir() {
                folders.push((path, depth + 1));
            } else if is_manifest(&path) && path.is_file() {
                files.push(path);
            }
            if files.len() > MAX_FILES {
                return Err(too_many());
            }
        }
    }
    if files.is_empty() {
        return Err(SourceError::EmptyFolder {
            path: source.to_owned(),
        });
    }
    files.sort();
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "json"))
}

fn unreadable(path: &Path, source: io::Error) -> SourceError {
    SourceError::Read {
        path: path.to_owned(),
        source,
    }
}
