//! The real server of the rows that need one, and the objects in it.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use informer_live::{Binaries, Cluster, ClusterOptions};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::io::AsyncReadExt as _;

use crate::Result;
use crate::arguments::Arguments;
use crate::controllers::Library;

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
