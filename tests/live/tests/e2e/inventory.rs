//! Every built-in kind that the server has: one object of it, from its birth to its end.

mod samples;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use informer_core::{Object, ObjectKey, ResourceVersion, SharedInformer};
use informer_gen::inventory::{Release, Resource, Scope, Watchable, builtin};
use informer_live::{Cluster, Story};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use self::samples::sample;
use crate::support::{BOUND, Room, options};

/// How many kinds are looked at at a time.
const AT_A_TIME: usize = 4;

/// How long one kind may take.
const ONE_KIND: Duration = BOUND;

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_followed_from_birth_to_end() {
    let cluster = cluster().await;
    let room = Room::new(&cluster, "inventory").await;
    let release = release(&cluster.client()).await;
    let served = served(&cluster.client()).await;
    let rows = builtin().iter().filter(|row| row.exists_in(release));
    let (here, absent): (Vec<_>, Vec<_>) = rows.partition(|row| served.contains(&full_name(row)));

    let checks = here.iter().map(|row| async {
        let outcome = tokio::time::timeout(ONE_KIND, check_row(&room, row)).await;
        let outcome = outcome.unwrap_or_else(|_| Err(format!("not done within {ONE_KIND:?}")));
        outcome.map_err(|why| format!("{}: {why}", full_name(row)))
    });
    let outcomes: Vec<_> = futures::stream::iter(checks)
        .buffer_unordered(AT_A_TIME)
        .collect()
        .await;
    let failures: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    let skipped: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().ok()?.as_ref())
        .collect();
    let count = outcomes.len() - failures.len() - skipped.len();
    println!(
        "followed {count} kinds; not served: {:?}; skipped: {skipped:#?}",
        names(&absent)
    );
    assert!(failures.is_empty(), "{failures:#?}");
    // Alpha comes and goes; all else is served, or the server was not asked well.
    let stable: Vec<_> = absent
        .into_iter()
        .filter(|row| !row.version.contains("alpha"))
        .collect();
    assert!(stable.is_empty(), "not served: {:?}", names(&stable));
}

/// A cluster that serves what is off by default, too.
async fn cluster() -> Cluster {
    let mut options = options();
    options.flags = vec!["--runtime-config=api/all=true".to_owned()];
    options.feature_gates = vec!["AllAlpha=true".to_owned(), "AllBeta=true".to_owned()];
    Cluster::start(options).await.unwrap()
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

fn names(rows: &[&Resource]) -> Vec<String> {
    rows.iter().map(|row| full_name(row)).collect()
}

/// Checks one kind; `Ok` with a reason if there is nothing to check.
async fn check_row(room: &Room, row: &Resource) -> Result<Option<String>, String> {
    if row.watchable == Watchable::ListOnly {
        return Ok(Some(format!("{}: cannot be watched", full_name(row))));
    }
    let (name, body) = sample(row, &room.name);
    let kind = api_resource(row);
    let builder = SharedInformer::<DynamicObject>::builder_with(room.client(), kind.clone());
    let (informer, server) = match row.scope {
        Scope::Namespaced => (
            builder.namespace(&room.name).build(),
            Api::namespaced_with(room.client(), &room.name, &kind),
        ),
        Scope::Cluster => (builder.build(), Api::all_with(room.client(), &kind)),
    };
    let mut object = DynamicObject::new(&name, &kind).data(body);
    object.metadata.namespace = (row.scope == Scope::Namespaced).then(|| room.name.clone());
    check(informer.unwrap(), &server, &object).await.map(|()| None)
}

fn api_resource(row: &Resource) -> ApiResource {
    let kind = GroupVersionKind::gvk(&row.group, &row.version, &row.kind);
    ApiResource::from_gvk_with_plural(&kind, &row.plural)
}

/// Follows one object through an informer of whatever type: there at the start, changed, deleted.
async fn check<K: Object>(
    informer: SharedInformer<K>,
    server: &Api<DynamicObject>,
    object: &DynamicObject,
) -> Result<(), String> {
    let refused = |error: kube::Error| format!("the server refused it: {error}");
    let made = server
        .create(&PostParams::default(), object)
        .await
        .map_err(refused)?;
    let key = ObjectKey::of(&made.metadata).ok_or("it has no name")?;
    let (story, _) = Story::of(&informer).map_err(|error| error.to_string())?;
    informer.start().map_err(|error| error.to_string())?;
    informer
        .synced_within(BOUND)
        .await
        .map_err(|error| error.to_string())?;
    read(&informer, &made).await?;

    let patch = Patch::Merge(json!({"metadata": {"annotations": {MARK: "yes"}}}));
    let changed = server
        .patch(key.name(), &PatchParams::default(), &patch)
        .await
        .map_err(refused)?;
    let cached = read(&informer, &changed).await?;
    if !cached
        .meta()
        .annotations
        .as_ref()
        .is_some_and(|all| all.contains_key(MARK))
    {
        return Err("the change is not in the cache".to_owned());
    }

    delete(server, &changed).await?;
    while informer.indexer().get(&key).is_some() {
        // The time of the whole check is bounded.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    story.believed()?;
    informer.shutdown().await;
    Ok(())
}

/// The annotation that is added.
const MARK: &str = "example.com/seen";

/// What the cache has of an object, not older than given. (A first list may be older; see `support::visible`.)
async fn read<K: Object>(informer: &SharedInformer<K>, object: &DynamicObject) -> Result<Arc<K>, String> {
    let version = ResourceVersion::of(&object.metadata).ok_or("it has no version")?;
    let waited = informer.wait_until_within(&version, BOUND).await;
    waited.map_err(|error| error.to_string())?;
    let key = ObjectKey::of(&object.metadata).ok_or("it has no name")?;
    let cached = informer.indexer().get(&key).ok_or("it is not in the cache")?;
    match cached.meta().uid == object.metadata.uid {
        true => Ok(cached),
        false => Err("another one is in the cache".to_owned()),
    }
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
