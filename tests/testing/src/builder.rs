//! Settings of a server before it starts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::clock::{Clock, RunningClock};
use crate::encode::MediaTypes;
use crate::list::WatchCache;
use crate::request::WatchList;
use crate::server::ApiServer;
use crate::shared::{Settings, Shared};
use crate::state::{GarbageCollection, State};
use crate::storage::Storage;
use crate::version::VersionFormat;
use crate::watch::ExpiredWatch;

/// The environment variable that makes servers speak JSON only, if its value is `json`.
pub const FORMAT: &str = "INFORMER_TESTING_FORMAT";

fn media_types() -> MediaTypes {
    match std::env::var(FORMAT) {
        Ok(format) if format == "json" => MediaTypes::JsonOnly,
        _ => MediaTypes::All,
    }
}

/// Configures an [`ApiServer`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    settings: Settings,
    seed: u64,
    clock: Clock,
    versions: VersionFormat,
    first_revision: u64,
    history: usize,
    garbage: GarbageCollection,
    pub(crate) crds: Vec<Value>,
}

impl Default for Builder {
    fn default() -> Self {
        let settings = Settings {
            media_types: media_types(),
            watch_cache: WatchCache::On,
            watch_list: WatchList::On,
            expired_watch: ExpiredWatch::InStream,
            bookmark_interval: Duration::from_secs(60),
            min_request_timeout: Duration::from_secs(1800),
            watch_buffer: 10_000,
        };
        Self {
            settings,
            seed: 0,
            clock: Clock::Wall,
            versions: VersionFormat::Numeric,
            first_revision: 100,
            history: 100_000,
            garbage: GarbageCollection::Off,
            crds: Vec::new(),
        }
    }
}

impl Builder {
    /// Sets the seed of UIDs, generated names and default watch timeouts. Default: 0. Two servers with the
    /// same seed and requests give the same responses.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the source of timestamps in objects.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the format of resourceVersions.
    pub fn versions(mut self, versions: VersionFormat) -> Self {
        self.versions = versions;
        self
    }

    /// Sets the revision before the first write. Default: 100. The four default namespaces are the first
    /// writes.
    pub fn first_revision(mut self, revision: u64) -> Self {
        self.first_revision = revision;
        self
    }

    /// Sets how many changes the history keeps. Default: 100,000. Older ones are compacted; a list or watch
    /// that needs them gets 410.
    pub fn history(mut self, changes: usize) -> Self {
        self.history = changes;
        self
    }

    /// Sets the encodings that the server speaks. Default: all of them, or only JSON if the environment
    /// variable [`INFORMER_TESTING_FORMAT`](FORMAT) is `json`, so that a whole suite can run in both.
    pub fn media_types(mut self, media_types: MediaTypes) -> Self {
        self.settings.media_types = media_types;
        self
    }

    /// Sets whether lists at `resourceVersion=0` ignore their limit.
    pub fn watch_cache(mut self, cache: WatchCache) -> Self {
        self.settings.watch_cache = cache;
        self
    }

    /// Sets whether `sendInitialEvents` is supported.
    pub fn watch_list(mut self, watch_list: WatchList) -> Self {
        self.settings.watch_list = watch_list;
        self
    }

    /// Sets how a watch from a compacted revision is refused.
    pub fn expired_watch(mut self, form: ExpiredWatch) -> Self {
        self.settings.expired_watch = form;
        self
    }

    /// Sets the interval of bookmarks, by tokio's clock. Default: 60 seconds. Another bookmark is sent two
    /// seconds before a watch times out.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.settings.bookmark_interval = interval;
        self
    }

    /// Sets the minimum duration of a watch without `timeoutSeconds`. Default: 30 minutes. The maximum is
    /// twice as long.
    pub fn min_request_timeout(mut self, timeout: Duration) -> Self {
        self.settings.min_request_timeout = timeout;
        self
    }

    /// Sets how many changes a watch may lag before the server closes it. Default: 10,000.
    pub fn watch_buffer(mut self, changes: usize) -> Self {
        self.settings.watch_buffer = changes;
        self
    }

    /// Deletes objects whose owners are deleted, as the garbage collector of a cluster does. Default: off.
    ///
    /// An owner is found by the UID, kind and name in `ownerReferences`, in the namespace of the dependent or
    /// cluster-wide. An object without a living owner is deleted; one with another living owner loses the
    /// references to the others. The policies `Foreground` (with `blockOwnerDeletion`), `Background` and
    /// `Orphan` work as on a cluster, except that objects which own each other wait for each other in the
    /// foreground.
    ///
    /// Unlike on a cluster, everything is collected within the write that made it garbage, so a test needs no
    /// wait. Each write that may leave garbage reads the metadata of all objects.
    ///
    /// ```
    /// use informer_testing::ApiServer;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use serde_json::json;
    ///
    /// let server = ApiServer::builder().garbage_collection().start();
    /// let owner = server.create(&json!({
    ///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "owner" },
    /// }))?;
    /// server.create(&json!({
    ///     "apiVersion": "v1", "kind": "Secret",
    ///     "metadata": { "name": "owned", "ownerReferences": [{
    ///         "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    ///     }] },
    /// }))?;
    /// server.delete(&owner)?;
    /// assert!(server.objects::<Secret>().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn garbage_collection(mut self) -> Self {
        self.garbage = GarbageCollection::On;
        self
    }

    /// Starts the server in this process, without sockets.
    pub fn start(self) -> ApiServer {
        let clock = RunningClock::start(self.clock);
        let storage = Storage::new(self.first_revision.max(1), self.history);
        let mut state = State::new(storage, self.seed, clock, self.versions);
        state.garbage = self.garbage;
        let server = ApiServer::new(Arc::new(Shared::new(self.settings, state)));
        for crd in &self.crds {
            // A trial server accepted it when it was added to this builder.
            let _created = server.create(crd);
        }
        server
    }

    /// Starts the server, and also listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// If no port can be opened.
    pub async fn start_http(self) -> io::Result<ApiServer> {
        let mut server = self.start();
        server.serve_http().await?;
        Ok(server)
    }
}
