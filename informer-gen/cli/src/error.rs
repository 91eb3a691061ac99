//! Errors of a run.

use std::io;
use std::path::PathBuf;

use informer_gen::crd::{RecordError, TreeError};

use crate::output::OutputError;
use crate::sources::SourceError;

/// Error of a run: nothing was generated, or a check failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Definitions cannot be read from files.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Definitions cannot be read from the cluster.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] crate::cluster::ClusterError),
    /// This program was built without the feature `cluster`.
    #[cfg(not(feature = "cluster"))]
    #[error(
        "this informer-gen was built without the feature `cluster`; \
         use `kubectl get crd -o yaml | informer-gen crd -f -`"
    )]
    WithoutCluster,
    /// The sources contain no definition.
    #[error("no CustomResourceDefinition in {origin}, {}", others(*passed_over, *not_objects))]
    NoDefinition {
        /// The sources.
        origin: String,
        /// The number of objects of other kinds.
        passed_over: usize,
        /// The number of documents that are no objects.
        not_objects: usize,
    },
    /// The folder of a module is the root of a crate, which has no use for a `mod.rs`.
    #[error(
        "--out {} is the root of a crate, because it has a {file}; choose a folder below it, such as \
         --out {}",
        path.display(),
        path.join("generated").display()
    )]
    CrateRoot {
        /// The folder.
        path: PathBuf,
        /// The root file of the crate.
        file: &'static str,
    },
    /// The options do not go with an output of one file.
    #[error(
        "{problem}, and --out {} is one file; choose a folder, such as --out src/generated",
        out.display()
    )]
    OneFile {
        /// The output.
        out: PathBuf,
        /// The problem.
        problem: &'static str,
    },
    /// A selected definition does not exist.
    #[error("no definition `{name}` in {origin}: {}", instead(known))]
    UnknownName {
        /// The selected name.
        name: String,
        /// The sources.
        origin: String,
        /// The existing ones.
        known: Vec<String>,
    },
    /// A selected version is not served.
    #[error("{name} has no served version `{version}`: {}", instead(known))]
    UnknownVersion {
        /// The definition.
        name: String,
        /// The selected name.
        version: String,
        /// The served versions.
        known: Vec<String>,
    },
    /// A selected group does not exist.
    #[error("no definition of the group `{group}` in {origin}: {}", instead(known))]
    UnknownGroup {
        /// The selected name.
        group: String,
        /// The sources.
        origin: String,
        /// The existing ones.
        known: Vec<String>,
    },
    /// No definition matches both the names and the groups.
    #[error("no definition matches both the names and the groups; remove one of the two")]
    NothingSelected,
    /// The tree cannot be generated.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The files cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The record for the comparison with a cluster is missing.
    #[error(
        "cannot read {}; `--check --cluster` compares a cluster with the code generated in --out",
        path.display()
    )]
    NoRecord {
        /// The path of the record.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The record is damaged.
    #[error("{}: {problem}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// The problem.
        problem: RecordError,
    },
    /// A check found differences, which have been printed.
    #[error("{what}\n  to generate again: {command}")]
    Differs {
        /// What differs.
        what: String,
        /// The command without `--check`.
        command: String,
    },
    /// The output cannot be written.
    #[error("cannot write to the standard output")]
    Console(#[from] io::Error),
}

fn others(objects: usize, not_objects: usize) -> String {
    let objects = match objects {
        0 => None,
        1 => Some("one object of another kind".to_owned()),
        objects => Some(format!("{objects} objects of other kinds")),
    };
    let not_objects = match not_objects {
        0 => None,
        1 => Some("one document that is no object (an array or plain text)".to_owned()),
        documents => Some(format!(
            "{documents} documents that are no objects (arrays or plain text)"
        )),
    };
    match (objects, not_objects) {
        (None, None) => "which is empty".to_owned(),
        (Some(found), None) | (None, Some(found)) => format!("only {found}"),
        (Some(objects), Some(others)) => format!("only {objects} and {others}"),
    }
}

/// The first existing names.
fn instead(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let first: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len() {
        0 => "none exists".to_owned(),
        count if count > SHOWN => format!("found {} and {} more", first.join(", "), count - SHOWN),
        _ => format!("found {}", first.join(", ")),
    }
}
