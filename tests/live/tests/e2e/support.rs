//! Shared by the tests: the cluster, a namespace for each test, bounded waits, and comparisons with the
//! server.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use informer_core::{InformerStatus, Object, ReflectorConfig, SharedInformer};
use informer_it::recorder::{Recorder, version_of};
use informer_live::{Cluster, ClusterOptions, WatchList};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::OnceCell;

/// Longer than any operation takes on a busy machine; reached only by a hang.
pub(crate) const BOUND: Duration = Duration::from_secs(180);

/// The time between two checks of a condition.
const CHECK_EVERY: Duration = Duration::from_millis(25);

/// The users of the shared cluster: one for each test that gives and takes rights.
pub(crate) const USERS: [&str; 5] = ["granted", "revoked", "watcher", "nobody", "late"];

/// The pairing under test, as `cargo xtask e2e` names it.
pub(crate) fn watch_list() -> WatchList {
    match std::env::var("INFORMER_LIVE_WATCH_LIST").as_deref() {
        Ok("off") => WatchList::Off,
        _ => WatchList::On,
    }
}

/// Options of a cluster for the pairing under test.
pub(crate) fn options() -> ClusterOptions {
    let mut options = ClusterOptions::default();
    options.watch_list = watch_list();
    options
}

/// The cluster that is shared by all tests that do not disturb it. It ends with the process.
pub(crate) async fn shared() -> &'static Cluster {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    let start = async || {
        let mut options = options();
        options.users = USERS.map(str::to_owned).to_vec();
        Cluster::start(options).await.unwrap()
    };
    SHARED.get_or_init(start).await
}

/// A program of the workspace that tests run as a process.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// The example operator.
    Operator,
    /// `informer-top`.
    Top,
}

impl Program {
    /// Its path, beside the folder of these tests. `cargo test --test e2e` does not build it, so this does;
    /// `cargo xtask e2e` has built it, and says so.
    pub(crate) fn path(self) -> PathBuf {
        static BUILDING: Mutex<()> = Mutex::new(());

        let (folder, option, name) = match self {
            Self::Operator => ("examples", "--example", "operator"),
            Self::Top => ("", "--bin", "informer-top"),
        };
        let this = std::env::current_exe().unwrap();
        let profile = this.parent().and_then(Path::parent).unwrap();
        let program = profile.join(folder).join(name);
        if std::env::var("INFORMER_LIVE_PROGRAMS").as_deref() == Ok("built") {
            return program;
        }
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut build = std::process::Command::new(env!("CARGO"));
        // As `cargo xtask e2e` builds these tests, so that nothing is compiled twice.
        build.args(["build", "--workspace", "--features", "informer-live/e2e"]);
        build.args([option, name, "--target-dir"]);
        build.arg(profile.parent().unwrap());
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(built.success(), "{name} does not build");
        program
    }
}

/// A namespace that no other test knows.
pub(crate) struct Room {
    pub(crate) name: String,
    client: Client,
}

impl Room {
    pub(crate) async fn new(cluster: &Cluster, prefix: &str) -> Self {
        let client = cluster.client();
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some(format!("{prefix}-")),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let api: Api<Namespace> = Api::all(client.clone());
        let made = api.create(&PostParams::default(), &namespace).await.unwrap();
        Self {
            name: made.metadata.name.unwrap(),
            client,
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn items(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client(), &self.name)
    }

    /// Makes a ConfigMap with one value.
    pub(crate) async fn create(&self, name: &str, value: &str) -> ConfigMap {
        let item = item(name, value);
        let made = self.items().create(&PostParams::default(), &item).await.unwrap();
        visible(&self.items(), &made).await;
        made
    }

    /// Changes the value of a ConfigMap.
    pub(crate) async fn update(&self, name: &str, value: &str) -> ConfigMap {
        let patch = Patch::Merge(json!({"data": {"value": value}}));
        let changed = self
            .items()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
        visible(&self.items(), &changed).await;
        changed
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.items().delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// Waits until the server's own cache has a write. An informer's first list may come from that cache and be
/// older than a write that was answered before it; what is left out then comes with the watch.
pub(crate) async fn visible<K>(api: &Api<K>, written: &K)
where
    K: Object + Clone + DeserializeOwned + Debug,
{
    let parameters = ListParams::default()
        .matching(VersionMatch::NotOlderThan)
        .at(&version_of(written));
    eventually(async || {
        let list = api.list(&parameters).await;
        list.map(|_| ()).map_err(|error| error.to_string())
    })
    .await;
}

/// A ConfigMap with one value.
pub(crate) fn item(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

/// The default configuration with short waits after refusals and failures.
pub(crate) fn short_waits() -> ReflectorConfig {
    let mut config = ReflectorConfig::default();
    config.refused_delay = Duration::from_millis(500);
    config.backoff.cap = Duration::from_secs(2);
    config
}

/// Starts an informer and waits until its first state is in.
pub(crate) async fn start<K: Object>(informer: &SharedInformer<K>) {
    informer.start().unwrap();
    let synced = informer.synced_within(BOUND).await;
    synced.unwrap_or_else(|error| panic!("{error}: {:#?}", informer.status()));
}

/// Repeats a check until it succeeds; fails with its last error.
pub(crate) async fn eventually(mut complaint: impl AsyncFnMut() -> Result<(), String>) {
    let start = Instant::now();
    while let Err(why) = complaint().await {
        assert!(start.elapsed() < BOUND, "after {BOUND:?}: {why}");
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

/// Waits until an informer's status is as wanted.
pub(crate) async fn until<K: Object>(
    informer: &SharedInformer<K>,
    wanted: &str,
    is_so: impl Fn(&InformerStatus) -> bool,
) {
    eventually(async || {
        let status = informer.status();
        match is_so(&status) {
            true => Ok(()),
            false => Err(format!("not {wanted}, but {}", status.state)),
        }
    })
    .await;
}

/// Waits until cache and server have the same objects at the same versions, and the recorded events lead
/// there.
pub(crate) async fn agree<K>(informer: &SharedInformer<K>, recorder: &Recorder<K>, server: &Api<K>)
where
    K: Object + Clone + DeserializeOwned + Debug,
{
    eventually(async || {
        let listed = compare(informer, server).await?;
        same("the handler", &recorder.final_state().unwrap(), &listed)
    })
    .await;
}

/// Waits until cache and server have the same objects at the same versions.
pub(crate) async fn cached<K>(informer: &SharedInformer<K>, server: &Api<K>)
where
    K: Object + Clone + DeserializeOwned + Debug,
{
    eventually(async || compare(informer, server).await.map(|_| ())).await;
}

/// Compares the cache with a list, and returns the versions in the list.
async fn compare<K>(informer: &SharedInformer<K>, server: &Api<K>) -> Result<BTreeMap<String, String>, String>
where
    K: Object + Clone + DeserializeOwned + Debug,
{
    let list = server.list(&ListParams::default()).await;
    let listed = versions(list.map_err(|error| error.to_string())?.items.iter());
    let cached = informer.indexer().list();
    same(
        "the cache",
        &versions(cached.iter().map(|object| &**object)),
        &listed,
    )?;
    Ok(listed)
}

/// Versions by key.
fn versions<'a, K: Object>(objects: impl Iterator<Item = &'a K>) -> BTreeMap<String, String> {
    let key = |object: &K| match &object.meta().namespace {
        Some(namespace) => format!(
            "{namespace}/{}",
            object.meta().name.as_deref().unwrap_or_default()
        ),
        None => object.meta().name.clone().unwrap_or_default(),
    };
    objects.map(|object| (key(object), version_of(object))).collect()
}

fn same(what: &str, ours: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> Result<(), String> {
    if ours == there {
        return Ok(());
    }
    let differs = |(key, version): &(&String, &String)| there.get(*key) != Some(*version);
    let more: Vec<_> = ours.iter().filter(differs).take(5).collect();
    let missing: Vec<_> = there
        .keys()
        .filter(|key| !ours.contains_key(*key))
        .take(5)
        .collect();
    Err(format!(
        "{what} has {}, the server {}: not on the server {more:?}, not cached {missing:?}",
        ours.len(),
        there.len()
    ))
}
