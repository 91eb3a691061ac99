//! Why a run failed.

use std::io;
use std::path::PathBuf;

use informer_gen::crd::{RecordError, TreeError};

use crate::output::OutputError;
use crate::sources::SourceError;

/// Why nothing was generated, or a check failed. Messages say what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file gives no definitions.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cluster gives no definitions.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] crate::cluster::ClusterError),
    /// This program was built without what `--cluster` needs.
    #[cfg(not(feature = "cluster"))]
    #[error(
        "this informer-gen was built without the feature `cluster`; use `kubectl get crd -o yaml | informer-gen crd -f -`"
    )]
    WithoutCluster,
    /// There is no definition at all where it was looked for.
    #[error("no CustomResourceDefinition in {origin}, {}", others(*passed_over))]
    NoDefinition {
        /// Where it was looked for.
        origin: String,
        /// How many objects of other kinds are there.
        passed_over: usize,
    },
    /// A name was asked for that is not there.
    #[error("no definition `{name}` in {origin}: {}", instead(known))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        origin: String,
        /// What is there.
        known: Vec<String>,
    },
    /// A version was asked for that is not served.
    #[error("{name} has no served version `{version}`: {}", instead(known))]
    UnknownVersion {
        /// The definition.
        name: String,
        /// What was asked for.
        version: String,
        /// The served versions.
        known: Vec<String>,
    },
    /// A group was asked for that is not there.
    #[error("no definition of the group `{group}` in {origin}: {}", instead(known))]
    UnknownGroup {
        /// What was asked for.
        group: String,
        /// Where it was looked for.
        origin: String,
        /// What is there.
        known: Vec<String>,
    },
    /// The names and groups leave nothing.
    #[error("none of the named definitions is of the named groups; leave one of the two out")]
    NothingSelected,
    /// A tree cannot be made of the definitions.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The files cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// There is nothing to compare a cluster with.
    #[error("{} cannot be read; `--check --cluster` compares a cluster with code that was generated before, in --out", path.display())]
    NoRecord {
        /// Where the record should be.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record of what the code was generated from is damaged.
    #[error("{}: {problem}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        problem: RecordError,
    },
    /// What was compared is different; the differences have been printed.
    #[error("{what}\n  to write everything anew: {command}")]
    Differs {
        /// What is different.
        what: String,
        /// The command without `--check`.
        command: String,
    },
    /// What the program has to say cannot be written.
    #[error("cannot write to the standard output")]
    Console(#[from] io::Error),
}

fn others(objects: usize) -> String {
    match objects {
        0 => "which is empty".to_owned(),
        1 => "only an object of another kind".to_owned(),
        objects => format!("only {objects} objects of other kinds"),
    }
}

/// The first of what there is instead.
fn instead(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let first: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len() {
        0 => "there is none".to_owned(),
        count if count > SHOWN => format!("there are {} and {} more", first.join(", "), count - SHOWN),
        _ => format!("there is {}", first.join(", ")),
    }
}
