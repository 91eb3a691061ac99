//! What can go wrong with a cluster.

use std::time::Duration;

use crate::binaries::BinariesError;

/// Why an operation of a cluster failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The programs are not there.
    #[error("no kube-apiserver and etcd to start")]
    Binaries(#[from] BinariesError),
    /// This etcd cannot serve a server with watch lists.
    #[error(
        "etcd {version} is older than 3.6: without its progress notifications on request a watch list never \
         reports that it is complete. Use a newer etcd, or turn watch lists off"
    )]
    EtcdTooOld {
        /// The version that `etcd --version` printed.
        version: String,
    },
    /// One of the programs ended by itself.
    #[error("{program} ended by itself with {status}; the end of its log:\n{log_tail}")]
    Exited {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
        /// The end of its log.
        log_tail: String,
    },
    /// One of the programs did not become ready in time.
    #[error("{program} was not ready within {waited:?} ({answer}); the last lines of its log:\n{log_tail}")]
    NotReady {
        /// Its name.
        program: String,
        /// How long it was waited for.
        waited: Duration,
        /// What it answered last.
        answer: String,
        /// The end of its log.
        log_tail: String,
    },
    /// A user that was not among [`ClusterOptions::users`](super::ClusterOptions::users).
    #[error("the cluster was started without a user {0:?}")]
    NoSuchUser(String),
    /// Certificates could not be made.
    #[error("cannot make certificates")]
    Certificates(#[from] rcgen::Error),
    /// A client could not be made, or its request failed.
    #[error("cannot talk to the server")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file or a process could not be handled.
    #[error("cannot handle the files or processes of the cluster")]
    Io(#[from] std::io::Error),
}

impl ClusterError {
    pub(super) fn client(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Client(error.into())
    }
}
