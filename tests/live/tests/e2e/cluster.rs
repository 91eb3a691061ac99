//! The cluster itself: that it starts, does what it is told, and leaves nothing.

use std::net::TcpStream;
use std::time::Duration;

use informer_live::{Cluster, ClusterError, ClusterOptions};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

fn answers(url: &http::Uri) -> bool {
    TcpStream::connect(("127.0.0.1", url.port_u16().unwrap())).is_ok()
}

#[tokio::test]
async fn a_cluster_starts_restarts_and_leaves_nothing() {
    let mut cluster = Cluster::start(ClusterOptions::default()).await.unwrap();
    let version = cluster.client().apiserver_version().await.unwrap();
    assert_eq!(version.major, "1", "the build sets the version");

    cluster.restart().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    assert!(namespaces.get_opt("kube-system").await.unwrap().is_some());
    assert!(cluster.compact().await.unwrap() > 0);

    let (url, etcd, folder) = (cluster.url(), cluster.etcd_url(), cluster.folder().to_owned());
    assert!(answers(&url) && answers(&etcd) && folder.exists());
    cluster.stop();
    assert!(!answers(&url) && !answers(&etcd) && !folder.exists());
}

#[tokio::test]
async fn a_paused_server_is_silent_and_goes_on_where_it_was() {
    let cluster = Cluster::start(ClusterOptions::default()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    cluster.pause().unwrap();
    let parameters = ListParams::default();
    let mut list = std::pin::pin!(namespaces.list(&parameters));
    let silent = tokio::time::timeout(Duration::from_secs(1), &mut list).await;
    assert!(silent.is_err(), "a stopped process answered");
    cluster.resume().unwrap();
    assert!(!list.await.unwrap().items.is_empty());
}

#[tokio::test]
async fn users_without_rights_are_refused_and_unknown_ones_do_not_exist() {
    let cluster = Cluster::start(ClusterOptions::default()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(cluster.client_as("alice").unwrap());
    let refused = namespaces.list(&ListParams::default()).await.unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 403),
        "{refused}"
    );
    assert!(matches!(
        cluster.client_as("mallory"),
        Err(ClusterError::NoSuchUser(_))
    ));
}

#[tokio::test]
async fn a_server_that_cannot_start_shows_its_last_words() {
    let mut options = ClusterOptions::default();
    options.flags = vec!["--no-such-flag".to_owned()];
    let error = Cluster::start(options).await.err().unwrap().to_string();
    assert!(
        error.contains("kube-apiserver ended by itself") && error.contains("no-such-flag"),
        "{error}"
    );
}
