//! The options of a warm start.

use std::path::PathBuf;
use std::time::Duration;

/// Saves the cache of an informer in a file, and starts the next run of the program from it.
///
/// Set it with [`SharedInformerBuilder::warm_start`](crate::SharedInformerBuilder::warm_start). The next run
/// reads the file before its first request:
///
/// - Readers and handlers have the saved objects at once. `status().freshness` is
///   [`Freshness::Warm`](crate::store::Freshness::Warm), and `has_synced` stays false.
/// - The first request is a watch from the saved version, so the server sends only what changed. When its
///   first event or bookmark arrives, the server has confirmed the saved version, and the informer is synced.
/// - If the version has expired, or nothing arrives within [`confirm_within`](Self::confirm_within), the
///   whole state is read. Objects that were deleted while the program was down are delivered to handlers as
///   [`Deleted::Missed`](crate::Deleted::Missed).
///
/// The file is written at intervals and at the end of [`shutdown`](crate::SharedInformer::shutdown), on
/// threads for long work: to a temporary file that replaces the old one when it is complete. It has a
/// checksum, and the identity of what it contains. A file that is damaged, too old, too large, or of another
/// cluster, kind, scope, selector or program is refused with a log line, and the informer starts cold.
///
/// Secrets are not saved, unless [`include_secrets`](Self::include_secrets) allows it. Files are readable by
/// their owner only; other kinds may hold confidential values too, so choose the directory accordingly.
///
/// ```no_run
/// # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use informer_core::{SharedInformer, WarmStart};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let pods = SharedInformer::<Pod>::builder(client)
///     .warm_start(WarmStart::directory("/var/cache/app").cluster("production"))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct WarmStart {
    pub(super) directory: PathBuf,
    pub(super) cluster: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) every: Duration,
    pub(super) max_age: Duration,
    pub(super) max_bytes: u64,
    pub(super) confirm_within: Duration,
    pub(super) secrets: Secrets,
}

/// Whether Secrets are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    Excluded,
    Included,
}

/// The shortest interval between two saves.
const SHORTEST: Duration = Duration::from_secs(10);

impl WarmStart {
    pub(crate) fn interval(&self) -> Duration {
        self.every
    }

    /// Saves into a directory, which is created if it does not exist. Informers may share it: each has one
    /// file per scope, named after its resource. Two processes must not share it.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self {
            directory: path.into(),
            cluster: None,
            revision: None,
            every: Duration::from_secs(300),
            max_age: Duration::from_secs(24 * 60 * 60),
            max_bytes: 1024 * 1024 * 1024,
            confirm_within: Duration::from_secs(2),
            secrets: Secrets::Excluded,
        }
    }

    /// Sets a name for the cluster. A file of another name is refused.
    ///
    /// Default: the UID of the namespace `kube-system`, which is read from the server before the file is
    /// used. That needs the permission to `get` this namespace, and the server must be reachable. With a
    /// name, no request comes first. Custom sources need a name.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Sets a text that changes whenever saved objects must not be used any more, because their type or a
    /// transform has changed. A file of another revision is refused.
    ///
    /// Default: size and modification time of the program's file, so that every new build starts cold.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// Sets the interval of saves. Default: 5 minutes. At least 10 seconds. An unchanged cache is not saved
    /// again.
    #[must_use]
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval.max(SHORTEST);
        self
    }

    /// Sets the age past which a file is refused. Default: 24 hours.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Sets the largest file, in bytes after compression, that is written or read. Default: 1 GiB. A larger
    /// cache is not saved. While a file is read, it is in memory as a whole; its decompressed contents may
    /// have 32 times this size.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how long the watch from the saved version may be silent before the whole state is read instead.
    /// Default: 2 seconds. A server sends bookmarks about once a minute, so a kind without changes is read
    /// as a whole, and one with many changes is not.
    #[must_use]
    pub fn confirm_within(mut self, time: Duration) -> Self {
        self.confirm_within = time;
        self
    }

    /// Saves Secrets too. Default: an informer of Secrets is not saved, and logs a warning.
    #[must_use]
    pub fn include_secrets(mut self) -> Self {
        self.secrets = Secrets::Included;
        self
    }

    /// Whether the objects of this resource may be saved.
    pub(crate) fn allows(&self, resource: &str) -> bool {
        // A projection of Secrets has its type behind the resource: `secrets (TokenOnly)`.
        let is_secrets = resource == "secrets" || resource.starts_with("secrets (");
        !is_secrets || self.secrets == Secrets::Included
    }

    pub(crate) fn cluster_name(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    pub(crate) fn revision_text(&self) -> Option<&str> {
        self.revision.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_excluded_unless_they_are_included() {
        let options = WarmStart::directory("/tmp");
        for (resource, expected) in [
            ("secrets", false),
            ("secrets (TokenOnly)", false),
            ("secretstores.external-secrets.io", true),
            ("configmaps", true),
        ] {
            assert_eq!(options.allows(resource), expected, "{resource}");
            assert!(options.clone().include_secrets().allows(resource), "{resource}");
        }
    }

    #[test]
    fn saves_are_at_least_ten_seconds_apart() {
        let options = WarmStart::directory("/tmp").every(Duration::ZERO);
        assert_eq!(options.every, SHORTEST);
    }
}
