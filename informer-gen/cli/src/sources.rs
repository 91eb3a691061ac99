//! Definitions from files, folders and the standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use informer_gen::crd::{self, ReadError, Reading};

/// No file is larger: the largest bundles of definitions have a few MiB.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// How deep folders are searched.
pub const MAX_DEPTH: usize = 16;
/// How many files are read at most.
pub const MAX_FILES: usize = 10_000;

/// Why a source gives no definitions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file or folder is not there or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder has nothing that could be a definition.
    #[error("no *.yaml, *.yml or *.json file in the folder {}; name the file if its name ends otherwise", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file is too large.
    #[error("{} has more than {MAX_FILE_BYTES} bytes; give the definitions a file of their own", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A folder is too large.
    #[error("more than {MAX_FILES} files, or folders more than {MAX_DEPTH} deep, in {}; name a smaller folder", path.display())]
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
    /// A file is no YAML, or a definition in it is not sound.
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

/// The file itself, or the files of a folder whose names say that they may be manifests, sorted.
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
            // Tools keep their own things in hidden folders.
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            // A link to a file is followed, as a mounted config map is full of them; one to a folder may lead in circles.
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
