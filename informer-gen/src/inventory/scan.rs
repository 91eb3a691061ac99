//! Finds the kinds in k8s-openapi's sources, and compares them with the table.
//!
//! A file that has both `impl crate::Resource for X` and `impl crate::ListableResource for X` declares a
//! kind; the constants of the first give its names, the folder its path. What is found is counted against
//! known numbers, so that a change in how k8s-openapi writes its files cannot silently drop kinds.

mod declaration;
mod freshness;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use self::declaration::Declaration;
pub(super) use self::declaration::module_path;
pub use self::freshness::{StaleTable, check_fresh};
use super::known::{KINDS, KINDS_IN_ANY, KINDS_IN_EVERY};
use super::{NEWEST, OLDEST, Release, Resource, Watchable};

/// Kinds the server lists but does not watch; nothing in k8s-openapi's sources says so. Group, version, kind.
const LIST_ONLY: [(&str, &str, &str); 1] = [("", "v1", "ComponentStatus")];

/// Error of [`scan`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// A file or folder could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not valid Rust.
    #[error("cannot parse {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The message of the parser.
        source: syn::Error,
    },
    /// A file declares a kind in an unknown form.
    #[error("{}: {problem}", path.display())]
    Declaration {
        /// The file.
        path: PathBuf,
        /// What is missing or new.
        problem: String,
    },
    /// The folders `v1_NN` are not the releases the table covers.
    #[error(
        "{} has the releases {found:?}, the table covers {expected:?}: correct `KINDS` in \
         informer-gen/src/inventory/known.rs",
        path.display()
    )]
    Releases {
        /// The `src` folder.
        path: PathBuf,
        /// The minor versions that were found.
        found: Vec<u8>,
        /// The minor versions that were expected.
        expected: Vec<u8>,
    },
    /// Numbers of kinds are not the known ones.
    #[error(
        "{}; check the added and removed kinds, then correct the numbers in \
         informer-gen/src/inventory/known.rs",
        wrong.join(", ")
    )]
    Counts {
        /// Each number that differs, with the one that was expected.
        wrong: Vec<String>,
    },
    /// One row cannot describe the kind in every release.
    #[error("{api_version} {kind}: {problem}")]
    Inconsistent {
        /// The kind's group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// What differs between releases.
        problem: String,
    },
}

/// Scans the sources of k8s-openapi (the folder with its `Cargo.toml`) and returns the rows of the table,
/// sorted.
///
/// # Errors
/// If the sources differ from what is expected; the error names the file or the number: see [`ScanError`].
pub fn scan(k8s_openapi: &Path) -> Result<Vec<Resource>, ScanError> {
    let src = k8s_openapi.join("src");
    check_releases(&src)?;
    let mut releases = Vec::new();
    let mut counts = Vec::new();
    for (release, expected) in KINDS {
        let declarations = scan_release(&src.join(format!("v1_{}", release.minor)))?;
        counts.push((format!("Kubernetes {release}"), expected, declarations.len()));
        releases.push((release, declarations));
    }
    let resources = merge(releases, NEWEST)?;
    let common = |row: &&Resource| row.since == OLDEST && row.until.is_none();
    let list_only = |row: &&Resource| row.watchable == Watchable::ListOnly;
    let count = |is_wanted: &dyn Fn(&&Resource) -> bool| resources.iter().filter(is_wanted).count();
    counts.push(("any release".to_owned(), KINDS_IN_ANY, resources.len()));
    counts.push(("every release".to_owned(), KINDS_IN_EVERY, count(&common)));
    counts.push((
        "`LIST_ONLY` of scan.rs".to_owned(),
        LIST_ONLY.len(),
        count(&list_only),
    ));
    check_counts(&counts)?;
    Ok(resources)
}

/// Checks what was counted, by name, expected and found. All at once: a new release changes several.
fn check_counts(counts: &[(String, usize, usize)]) -> Result<(), ScanError> {
    let wrong: Vec<String> = counts
        .iter()
        .filter(|(_, expected, found)| expected != found)
        .map(|(what, expected, found)| format!("{found} kinds instead of {expected} in {what}"))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(ScanError::Counts { wrong })
}

fn check_releases(src: &Path) -> Result<(), ScanError> {
    let mut found: Vec<u8> = entries(src)?
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_prefix("v1_")?.parse().ok())
        .collect();
    found.sort_unstable();
    let expected: Vec<u8> = KINDS.iter().map(|(release, _)| release.minor).collect();
    if found == expected {
        return Ok(());
    }
    Err(ScanError::Releases {
        path: src.to_owned(),
        found,
        expected,
    })
}

/// The kinds declared below the folder of one release.
fn scan_release(root: &Path) -> Result<Vec<Declaration>, ScanError> {
    let mut declarations = Vec::new();
    for (path, text) in read_files(root)? {
        declarations.extend(declaration::find(root, &path, &text)?);
    }
    Ok(declarations)
}

/// The path and the text of every Rust file below a folder.
pub(super) fn read_files(root: &Path) -> Result<Vec<(PathBuf, String)>, ScanError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).map_err(|source| ScanError::Read {
                    path: path.clone(),
                    source,
                })?;
                files.push((path, text));
            }
        }
    }
    Ok(files)
}

/// What a folder holds, sorted, so that errors do not depend on the file system.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ScanError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    };
    let mut paths = list().map_err(|source| ScanError::Read {
        path: folder.to_owned(),
        source,
    })?;
    paths.sort();
    Ok(paths)
}

/// Folds the releases, oldest first, into one row per kind.
fn merge(releases: Vec<(Release, Vec<Declaration>)>, newest: Release) -> Result<Vec<Resource>, ScanError> {
    let mut rows: BTreeMap<(String, String, String), (Declaration, Release, Release)> = BTreeMap::new();
    for (release, declarations) in releases {
        for declaration in declarations {
            let key = (
                declaration.group.clone(),
                declaration.version.clone(),
                declaration.kind.clone(),
            );
            let Some((known, _, last)) = rows.get_mut(&key) else {
                rows.insert(key, (declaration, release, release));
                continue;
            };
            if let Some(problem) = conflict(known, &declaration, *last, release) {
                let api_version = format!("{}/{}", declaration.group, declaration.version);
                return Err(ScanError::Inconsistent {
                    api_version,
                    kind: declaration.kind,
                    problem,
                });
            }
            *last = release;
        }
    }
    Ok(rows
        .into_values()
        .map(|(declaration, since, last)| row(declaration, since, last, newest))
        .collect())
}

/// Why `next`, found in `release`, does not continue the row that `known` began and that was last seen in
/// `last`.
fn conflict(known: &Declaration, next: &Declaration, last: Release, release: Release) -> Option<String> {
    if last == release {
        Some(format!(
            "declared twice in {release}: {} and {}",
            known.path, next.path
        ))
    } else if last.minor + 1 != release.minor {
        Some(format!(
            "gone after {last} and back in {release}; a row has one span of releases"
        ))
    } else if known != next {
        Some(format!(
            "not the same in {last} and {release}: {known:?} became {next:?}"
        ))
    } else {
        None
    }
}

fn row(declaration: Declaration, since: Release, last: Release, newest: Release) -> Resource {
    let Declaration {
        group,
        version,
        kind,
        plural,
        scope,
        path,
    } = declaration;
    let watchable = if LIST_ONLY.contains(&(group.as_str(), version.as_str(), kind.as_str())) {
        Watchable::ListOnly
    } else {
        Watchable::Yes
    };
    let until = (last != newest).then_some(last);
    Resource {
        group,
        version,
        kind,
        plural,
        scope,
        since,
        until,
        path,
        watchable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Scope;

    fn declaration(plural: &str, scope: Scope) -> Declaration {
        Declaration {
            group: "example.com".into(),
            version: "v1".into(),
            kind: "Gadget".into(),
            plural: plural.into(),
            scope,
            path: "api::example::v1::Gadget".into(),
        }
    }

    /// Each item is a release and the plural and scope the kind has there.
    fn check_merge(releases: &[(u8, &str, Scope)]) -> Result<(Release, Option<Release>), String> {
        let found = releases
            .iter()
            .map(|&(minor, plural, scope)| (Release { minor }, vec![declaration(plural, scope)]))
            .collect();
        let rows = merge(found, NEWEST).map_err(|error| error.to_string())?;
        Ok((rows[0].since, rows[0].until))
    }

    #[test]
    fn a_kind_in_the_newest_release_has_an_open_end() {
        let span = check_merge(&[(36, "gadgets", Scope::Cluster), (37, "gadgets", Scope::Cluster)]);
        assert_eq!(span, Ok((Release { minor: 36 }, None)));
    }

    #[test]
    fn a_kind_that_left_ends_with_its_last_release() {
        let span = check_merge(&[(34, "gadgets", Scope::Cluster), (35, "gadgets", Scope::Cluster)]);
        assert_eq!(span, Ok((Release { minor: 34 }, Some(Release { minor: 35 }))));
    }

    #[test]
    fn a_kind_that_came_back_is_an_error() {
        let error = check_merge(&[(33, "gadgets", Scope::Cluster), (35, "gadgets", Scope::Cluster)]);
        assert!(error.unwrap_err().contains("gone after 1.33 and back in 1.35"));
    }

    #[test]
    fn a_kind_that_changed_its_scope_is_an_error() {
        let error = check_merge(&[
            (33, "gadgets", Scope::Cluster),
            (34, "gadgets", Scope::Namespaced),
        ]);
        assert!(error.unwrap_err().contains("not the same in 1.33 and 1.34"));
    }

    #[test]
    fn every_number_that_differs_is_named_with_the_place_to_correct_it() {
        let counts = [
            ("Kubernetes 1.36", 88, 88),
            ("Kubernetes 1.37", 93, 95),
            ("any release", 109, 111),
        ];
        let counts = counts.map(|(what, expected, found)| (what.to_owned(), expected, found));
        assert_eq!(
            check_counts(&counts).unwrap_err().to_string(),
            "95 kinds instead of 93 in Kubernetes 1.37, 111 kinds instead of 109 in any release; check the \
             added and removed kinds, then correct the numbers in informer-gen/src/inventory/known.rs"
        );
        assert!(check_counts(&counts[..1]).is_ok());
    }

    #[test]
    fn a_folder_without_the_known_releases_is_named() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = scan(here).expect_err("this crate is not k8s-openapi").to_string();
        assert!(error.contains("has the releases []"), "{error}");
    }
}
