//! The real server of the rows that need one, and the objects in it.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use informer_live::{Binaries, Cluster, ClusterOptions};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::template::PodSize;
use crate::{Result, typical};

/// How many requests create objects at a time.
const REQUESTS: usize = 16;

/// Runs a kube-apiserver with its etcd until the standard input ends. Prints the path of its kubeconfig.
pub(crate) async fn run() -> Result<()> {
    let mut options = ClusterOptions::default();
    options.binaries = Some(Binaries::find_or_build(&mut |_| {})?);
    let cluster = Cluster::start(options).await?;
    println!("{}", cluster.kubeconfig()?.display());
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// Creates `--namespace` with `--objects` ConfigMaps.
pub(crate) async fn fill(options: &Arguments) -> Result<()> {
    let (namespace, objects): (String, usize) = (options.get("namespace")?, options.get("objects")?);
    let client = client(Library::Informers).await?;
    create_namespace(&client, &namespace).await?;
    let config_maps = Api::<ConfigMap>::namespaced(client, &namespace);
    stream::iter(0..objects)
        .map(|number| create(&config_maps, format!("object-{number:05}")))
        .buffer_unordered(REQUESTS)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(())
}

/// Creates `--namespace` with `--objects` Pods that look as if they were running; `--pod` says which.
pub(crate) async fn fill_pods(options: &Arguments) -> Result<()> {
    let (namespace, objects): (String, usize) = (options.get("namespace")?, options.get("objects")?);
    let size: PodSize = options.get("pod")?;
    let client = client(Library::Informers).await?;
    create_namespace(&client, &namespace).await?;
    let api = Api::<Pod>::namespaced(client, &namespace);
    stream::iter(0..objects)
        .map(|number| create_pod(&api, &namespace, size, number))
        .buffer_unordered(REQUESTS)
        .try_for_each(async |()| Ok(()))
        .await
}

/// The requests have the names of those who send them in a cluster: the server makes `managedFields` of them.
async fn create_pod(api: &Api<Pod>, namespace: &str, size: PodSize, number: usize) -> Result<()> {
    let mut pod: Pod = serde_json::from_str(&size.json(number))?;
    let annotations = pod.metadata.annotations.unwrap_or_default();
    let (network, annotations): (BTreeMap<_, _>, BTreeMap<_, _>) = annotations
        .into_iter()
        .partition(|(name, _)| name.starts_with(typical::NETWORK));
    // The server sets the rest, and its managers of fields.
    pod.metadata = ObjectMeta {
        name: pod.metadata.name,
        namespace: Some(namespace.to_owned()),
        labels: pod.metadata.labels,
        annotations: Some(annotations),
        owner_references: pod.metadata.owner_references,
        ..ObjectMeta::default()
    };
    let mut created = api.create(&sent_by(typical::CONTROLLER), &pod).await?;
    // Creation ignores the status.
    created.status = pod.status;
    let name = created.metadata.name.clone().unwrap_or_default();
    api.replace_status(&name, &sent_by(typical::KUBELET), &created)
        .await?;
    if !network.is_empty() {
        let patch = json!({"metadata": {"annotations": network}});
        let sent_by = PatchParams {
            field_manager: Some(typical::CALICO.to_owned()),
            ..PatchParams::default()
        };
        api.patch_status(&name, &sent_by, &Patch::Merge(patch)).await?;
    }
    Ok(())
}

fn sent_by(manager: &str) -> PostParams {
    PostParams {
        field_manager: Some(manager.to_owned()),
        ..PostParams::default()
    }
}

/// The client of `$KUBECONFIG`, as users of the library create it.
pub(crate) async fn client(library: Library) -> Result<Client> {
    Ok(match library {
        Library::Informers => informers::client::try_default().await?,
        Library::Kube => Client::try_default().await?,
    })
}

pub(crate) async fn create_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = Namespace {
        metadata: named(name),
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(())
}

pub(crate) async fn create(config_maps: &Api<ConfigMap>, name: String) -> Result<ConfigMap> {
    let config_map = ConfigMap {
        metadata: named(&name),
        ..ConfigMap::default()
    };
    Ok(config_maps.create(&PostParams::default(), &config_map).await?)
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}
