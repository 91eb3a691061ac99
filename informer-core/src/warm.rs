//! Warm start: the cache of an earlier run, saved in a file, is used until the server has confirmed or
//! replaced it.
//!
//! [`WarmFile`] is the file of one scope: it loads and saves. [`WarmStart`] has the options. A file is used
//! only if every part of its identity is that of this informer: see [`Identity`].

mod cluster;
mod format;
#[cfg(all(test, not(feature = "__model")))]
mod format_tests;
mod identity;
mod options;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::SourceObject;
use crate::store::Snapshot;
use crate::sync::{LogLimit, Mutex, Offload, offload};

pub(crate) use cluster::Cluster;
pub(crate) use format::Continuation;
use format::{Header, Limits, ReadObjects, Refused};
pub(crate) use identity::Identity;
pub use options::WarmStart;

/// How objects of one kind are written to a file and read from it.
pub(crate) struct Codec<K> {
    write: fn(&K, &mut dyn io::Write) -> Result<(), serde_json::Error>,
    read: ReadObjects<K>,
}

impl<K> Clone for Codec<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Codec<K> {}

impl<K: Serialize + DeserializeOwned> Codec<K> {
    pub(crate) fn json() -> Self {
        Self {
            write: |object, output| serde_json::to_writer(output, object),
            read: format::read_objects,
        }
    }
}

/// The saved state of one scope.
pub(crate) struct Saved<K> {
    pub(crate) version: ResourceVersion,
    pub(crate) continuation: Continuation,
    pub(crate) objects: Vec<SourceObject<K>>,
}

/// The file of one scope of one informer.
pub(crate) struct WarmFile<K> {
    options: WarmStart,
    codec: Codec<K>,
    identity: Identity,
    scope: Scope,
    cluster: Cluster,
    offload: Offload,
    /// The version that the file has, so that an unchanged state is not written again.
    written: Mutex<Option<(ResourceVersion, Continuation)>>,
    log: Mutex<LogLimit>,
}

impl<K: Object> WarmFile<K> {
    pub(crate) fn new(
        options: WarmStart,
        codec: Codec<K>,
        identity: Identity,
        scope: Scope,
        cluster: Cluster,
        offload: Offload,
    ) -> Self {
        Self {
            options,
            codec,
            identity,
            scope,
            cluster,
            offload,
            written: Mutex::new(None),
            log: Mutex::new(LogLimit::default()),
        }
    }

    /// How long a watch from the saved version may be silent before the whole state is read instead.
    pub(crate) fn confirm_within(&self) -> Duration {
        self.options.confirm_within
    }

    /// Reads the file. `None` starts cold: the file does not exist, or it was refused, which is logged.
    pub(crate) async fn load(self: &Arc<Self>) -> Option<Saved<K>> {
        let path = self.path();
        if !path.exists() {
            tracing::debug!(
                resource = self.identity.resource, scope = %self.scope, path = %path.display(),
                "found no saved cache; starting cold"
            );
            return None;
        }
        let cluster = self.cluster.identify().await;
        let file = self.clone();
        let read = move || file.read(cluster);
        let outcome = match self.offload {
            Offload::Inline => read(),
            Offload::BlockingPool => offload::run(read).await,
        };
        match outcome {
            Ok((saved, age)) => {
                *self.written.lock() = Some((saved.version.clone(), saved.continuation));
                tracing::info!(
                    resource = self.identity.resource, scope = %self.scope, objects = saved.objects.len(),
                    rv = %saved.version, age_seconds = age.as_secs(),
                    "read a saved cache; it is synced when the server has confirmed it"
                );
                Some(saved)
            }
            Err(reason) => {
                tracing::warn!(
                    resource = self.identity.resource, scope = %self.scope, path = %path.display(), %reason,
                    "refused a saved cache; starting cold"
                );
                None
            }
        }
    }

    fn read(&self, cluster: Option<String>) -> Result<(Saved<K>, Duration), Refused> {
        let Some(cluster) = cluster else {
            return Err(Refused::UnknownCluster);
        };
        let limits = Limits {
            bytes: self.options.max_bytes,
            age: self.options.max_age,
        };
        let bytes = format::read_file(&self.path(), limits.bytes)?;
        let (header, body) = format::verify(&bytes)?;
        header.identity.check(&self.identity.of_cluster(cluster))?;
        let age = header.age(SystemTime::now(), &limits)?;
        let objects = format::read_body(body, &header, &limits, self.codec.read)?;
        let version = ResourceVersion::new(&header.version);
        if !version.is_acceptable() {
            return Err(Refused::Damaged("its version is invalid"));
        }
        let saved = Saved {
            version,
            continuation: header.continuation,
            objects,
        };
        Ok((saved, age))
    }

    /// Writes the scope's part of a snapshot, if it differs from what the file has. A failure is logged: the
    /// file is optional.
    pub(crate) async fn save(self: &Arc<Self>, snapshot: Snapshot<K>, continuation: Continuation) {
        let Some(version) = snapshot.versions().get(&self.scope).cloned() else {
            return;
        };
        let state = (version, continuation);
        if self.written.lock().as_ref() == Some(&state) {
            return;
        }
        let Some(cluster) = self.cluster.identify().await else {
            self.failed(&Refused::UnknownCluster);
            return;
        };
        let (version, file) = (state.0.clone(), self.clone());
        let write = move || file.write(&snapshot, cluster, &version, continuation);
        let outcome = match self.offload {
            Offload::Inline => write(),
            Offload::BlockingPool => offload::run(write).await,
        };
        match outcome {
            Ok(bytes) => {
                tracing::debug!(
                    resource = self.identity.resource, scope = %self.scope, rv = %state.0, bytes,
                    "saved the cache"
                );
                *self.written.lock() = Some(state);
            }
            Err(reason) => self.failed(&reason),
        }
    }

    fn failed(&self, reason: &Refused) {
        if let Some(suppressed) = self.log.lock().repetition(Instant::now()) {
            tracing::warn!(
                resource = self.identity.resource, scope = %self.scope, path = %self.path().display(),
                %reason, suppressed, "could not save the cache; the next start may be cold"
            );
        }
    }

    fn write(
        &self,
        snapshot: &Snapshot<K>,
        cluster: String,
        version: &ResourceVersion,
        continuation: Continuation,
    ) -> Result<u64, Refused> {
        let within = match &self.scope {
            Scope::Namespace(namespace) => Some(&**namespace),
            Scope::All => None,
        };
        let entries = || match within {
            Some(namespace) => snapshot.namespace(namespace),
            None => snapshot.iter(),
        };
        let header = Header {
            identity: self.identity.of_cluster(cluster),
            version: version.to_string(),
            saved_at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
            objects: snapshot.keys_within(within).count() as u64,
            continuation,
        };
        format::write_file(&self.path(), &header, self.options.max_bytes, |output| {
            for (_, object) in entries() {
                (self.codec.write)(&object, output)?;
                output.write_all(b"\n")?;
            }
            Ok(())
        })
    }

    fn path(&self) -> PathBuf {
        self.options.directory.join(self.identity.file_name())
    }
}
