//! Every built-in kind that a real server has: one object of it, from its birth to its end, seen through the
//! kind's own accessors, and the same in both formats.
//!
//! A separate test program, because an informer for each of the kinds takes minutes to compile.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod formats;
mod samples;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use informer_gen::inventory::{Release, Resource, Watchable, builtin};
use informer_it::visitor::{Visitor, every_kind};
use informer_live::{Cluster, ClusterOptions, WatchList};
use informers::{
    Lister, NamespaceLister, Object, ObjectKey, ResourceInformer, ResourceVersion, SharedInformer,
    SharedInformerFactory,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Api, Client, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use self::samples::sample;

/// How many kinds are looked at at a time.
const AT_A_TIME: usize = 4;

/// How long one kind may take: longer than anything takes on a machine that is busy with other things.
const BOUND: Duration = Duration::from_secs(180);

/// The namespace of all objects here that need one.
const NAMESPACE: &str = "kinds";

/// The annotation that is added.
const MARK: &str = "example.com/seen";

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_followed_through_its_own_accessor_from_birth_to_end() {
    let cluster = cluster().await;
    let client = cluster.client();
    let release = release(&client).await;
    let served = served(&client).await;
    let mut checks = Checks::default();
    every_kind(&mut checks);
    let there = |check: &Check| check.row.exists_in(release);
    let (here, absent): (Vec<Check>, Vec<Check>) = checks
        .0
        .into_iter()
        .filter(there)
        .partition(|check| served.contains(&full_name(check.row)));

    let outcomes = here.into_iter().map(|check| {
        let (name, outcome) = (full_name(check.row), (check.run)(client.clone()));
        async move {
            let outcome = tokio::time::timeout(BOUND, outcome).await;
            let outcome = outcome.unwrap_or_else(|_| Err(format!("not done within {BOUND:?}")));
            outcome.map_err(|why| format!("{name}: {why}"))
        }
    });
    let outcomes: Vec<_> = futures::stream::iter(outcomes)
        .buffer_unordered(AT_A_TIME)
        .collect()
        .await;
    let failures: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    let absent: Vec<_> = absent.iter().map(|check| full_name(check.row)).collect();
    println!(
        "followed {} kinds; not served: {absent:?}",
        outcomes.len() - failures.len()
    );
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(!outcomes.is_empty(), "the server serves no kind");
    // Alpha versions may be missing; all others must be served.
    let stable: Vec<_> = absent.iter().filter(|name| !name.contains("alpha")).collect();
    assert!(stable.is_empty(), "not served: {stable:?}");
}

/// The check of one kind, not yet begun.
struct Check {
    row: &'static Resource,
    run: Box<dyn FnOnce(Client) -> BoxFuture<'static, Result<(), String>>>,
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add<K>(
        &mut self,
        place: Place,
        accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
        get: impl Fn(&Lister<K>, &str) -> Option<Arc<K>> + Send + Sync + 'static,
    ) where
        K: Object + DeserializeOwned + Serialize + kube::Resource<DynamicType = ()>,
    {
        let is_row = |row: &&Resource| {
            row.group == K::group(&()) && row.version == K::version(&()) && row.kind == K::kind(&())
        };
        let row = builtin().iter().find(is_row).expect("every kind is in the table");
        assert_eq!(row.watchable, Watchable::Yes);
        let run = move |client| check(Setup::new(row, place, client), accessor, get).boxed();
        self.0.push(Check {
            row,
            run: Box::new(run),
        });
    }
}

impl Visitor for Checks {
    fn namespaced<K>(
        &mut self,
        accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
        of_namespace: fn(&Lister<K>, &str) -> NamespaceLister<K>,
    ) where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.add(Place::Namespace, accessor, move |lister, name| {
            of_namespace(lister, NAMESPACE).get(name)
        });
    }

    fn cluster<K>(&mut self, accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>)
    where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.add(Place::Cluster, accessor, |lister, name| lister.get(name));
    }
}

/// Where objects of a kind live.
#[derive(Clone, Copy)]
enum Place {
    Namespace,
    Cluster,
}

/// A cluster that serves what is off by default, too.
async fn cluster() -> Cluster {
    let mut options = ClusterOptions::default();
    if std::env::var("INFORMER_LIVE_WATCH_LIST").as_deref() == Ok("off") {
        options.watch_list = WatchList::Off;
    }
    options.flags = vec!["--runtime-config=api/all=true".to_owned()];
    options.feature_gates = vec!["AllAlpha=true".to_owned(), "AllBeta=true".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(NAMESPACE.to_owned());
    let api: Api<Namespace> = Api::all(cluster.client());
    api.create(&PostParams::default(), &namespace).await.unwrap();
    cluster
}

async fn release(client: &Client) -> Release {
    let version = client.apiserver_version().await.unwrap();
    let digits = version.minor.trim_end_matches('+');
    Release {
        minor: digits.parse().unwrap(),
    }
}

/// What the server serves, as [`full_name`]s.
async fn served(client: &Client) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for group_version in builtin()
        .iter()
        .map(Resource::api_version)
        .collect::<BTreeSet<_>>()
    {
        let list = match group_version.contains('/') {
            true => client.list_api_group_resources(&group_version).await,
            false => client.list_core_api_resources(&group_version).await,
        };
        // A version that is not there is answered with 404.
        for resource in list.into_iter().flat_map(|list| list.resources) {
            names.insert(format!("{group_version} {}", resource.name));
        }
    }
    names
}

fn full_name(row: &Resource) -> String {
    format!("{} {}", row.api_version(), row.plural)
}

/// One kind on the server, and a factory: what needs no type is compiled once.
struct Setup {
    client: Client,
    server: Api<DynamicObject>,
    factory: SharedInformerFactory,
    object: DynamicObject,
}

impl Setup {
    fn new(row: &Resource, place: Place, client: Client) -> Self {
        let (name, body) = sample(row, NAMESPACE);
        let kind = GroupVersionKind::gvk(&row.group, &row.version, &row.kind);
        let kind = ApiResource::from_gvk_with_plural(&kind, &row.plural);
        let mut object = DynamicObject::new(&name, &kind).data(body);
        let builder = SharedInformerFactory::builder(client.clone());
        let own = client.clone();
        let (builder, server) = match place {
            Place::Namespace => {
                object.metadata.namespace = Some(NAMESPACE.to_owned());
                let server = Api::namespaced_with(client, NAMESPACE, &kind);
                (builder.namespaces([NAMESPACE]), server)
            }
            Place::Cluster => (builder, Api::all_with(client, &kind)),
        };
        Self {
            client: own,
            server,
            factory: builder.build().unwrap(),
            object,
        }
    }

    async fn create(&self) -> Result<DynamicObject, String> {
        let made = self.server.create(&PostParams::default(), &self.object).await;
        made.map_err(refused)
    }

    /// Gives the object an annotation.
    async fn change(&self) -> Result<DynamicObject, String> {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {MARK: "yes"}}}));
        let name = self.object.name_any();
        let changed = self.server.patch(&name, &PatchParams::default(), &patch).await;
        changed.map_err(refused)
    }
}

fn refused(error: kube::Error) -> String {
    format!("the server refused it: {error}")
}

/// Follows one object through its kind's accessors: there at the start, changed, deleted.
async fn check<K>(
    setup: Setup,
    accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
    get: impl Fn(&Lister<K>, &str) -> Option<Arc<K>> + Send + Sync,
) -> Result<(), String>
where
    K: Object + DeserializeOwned + Serialize + kube::Resource<DynamicType = ()>,
{
    let made = setup.create().await?;
    let name = made.name_any();
    let resource = accessor(&setup.factory);
    let (informer, lister) = (resource.informer(), resource.lister());
    setup.factory.start();
    let synced = setup.factory.wait_for_sync_within(BOUND).await;
    synced.map_err(|error| error.to_string())?;
    wait(&informer, &made).await?;
    let found = get(&lister, &name).ok_or("it is not in the lister")?;
    is_seen(
        found.meta().uid == made.metadata.uid,
        "another one is in the lister",
    )?;

    let changed = setup.change().await?;
    wait(&informer, &changed).await?;
    let found = get(&lister, &name).ok_or("it was changed, and is not in the lister")?;
    let annotations = found.meta().annotations.as_ref();
    let marked = annotations.is_some_and(|all| all.contains_key(MARK));
    is_seen(marked, "the change is not in the lister")?;

    let namespace = made.metadata.namespace.as_deref();
    let path = format!("{}/{name}", K::url_path(&(), namespace));
    formats::check::<K>(&setup.client, &path).await?;

    delete(&setup.server, &changed).await?;
    let key = ObjectKey::of(&made.metadata).ok_or("it has no name")?;
    while lister.get_key(&key).is_some() {
        // The time of the whole check is bounded.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    setup.factory.shutdown().await;
    Ok(())
}

fn is_seen(seen: bool, otherwise: &str) -> Result<(), String> {
    seen.then_some(()).ok_or_else(|| otherwise.to_owned())
}

/// Waits until the cache is not older than an object. (A first list may come from the server's cache and be
/// older.)
async fn wait<K: Object>(informer: &SharedInformer<K>, object: &DynamicObject) -> Result<(), String> {
    let version = ResourceVersion::of(&object.metadata).ok_or("it has no version")?;
    let waited = informer.wait_until_within(&version, BOUND).await;
    waited.map(|_| ()).map_err(|error| error.to_string())
}

/// Deletes an object, and does what the controllers would do that are not here.
async fn delete(server: &Api<DynamicObject>, object: &DynamicObject) -> Result<(), String> {
    let (name, text) = (object.name_any(), |error: kube::Error| error.to_string());
    let parameters = DeleteParams::background().grace_period(0);
    server.delete(&name, &parameters).await.map_err(text)?;
    let left = server.get_opt(&name).await.map_err(text)?;
    let Some(left) = left.filter(|left| left.uid() == object.uid()) else {
        return Ok(());
    };
    if left.data["spec"]["finalizers"].is_array() {
        let mut finished = left.clone();
        finished.data["spec"]["finalizers"] = json!([]);
        let _: DynamicObject = server
            .replace_subresource("finalize", &name, &PostParams::default(), &finished)
            .await
            .map_err(text)?;
    } else if !left.finalizers().is_empty() {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let patched = server.patch(&name, &PatchParams::default(), &patch).await;
        // The server may have finished by itself meanwhile.
        patched.map(|_| ()).or_else(|error| {
            if is_not_found(&error) {
                Ok(())
            } else {
                Err(text(error))
            }
        })?;
    }
    Ok(())
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
