//! What can go wrong with a cluster.

use std::time::Duration;

use crate::binaries::BinariesError;

/// Why a cluster did not start, or did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The programs are not there.
    #[error("no kube-apiserver and etcd to start")]
    Binaries(#[from] BinariesError),
    /// This etcd cannot serve a server with watch lists.
    #[error(
        "etcd {version} is older than 3.6: without its progress notifications on request a watch list never says that it is \
         complete. Use a newer etcd, or turn watch lists off"
    )]
    EtcdTooOld {
        /// What `etcd --version` said.
        version: String,
    },
    /// One of the programs ended by itself.
    #[error("{program} ended by itself with {status}; its last words:\n{last_words}")]
    Exited {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
        /// The end of its log.
        last_words: String,
    },
    /// One of the programs did not become ready in time.
    #[error("{program} was not ready within {waited:?} ({answer}); the last lines of its log:\n{last_words}")]
    NotReady {
        /// Its name.
        program: String,
        /// How long it was waited for.
        waited: Duration,
        /// What it answered last.
        answer: String,
        /// The end of its log.
        last_words: String,
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
