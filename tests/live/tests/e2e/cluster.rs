//! The cluster itself: it starts, obeys its options, and leaves nothing behind.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use informer_live::{Cluster, ClusterError};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

use crate::support::{eventually, options};

fn answers(url: &http::Uri) -> bool {
    TcpStream::connect(("127.0.0.1", url.port_u16().unwrap())).is_ok()
}

#[tokio::test]
async fn a_cluster_starts_restarts_and_leaves_nothing() {
    let mut cluster = Cluster::start(options()).await.unwrap();
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
    let cluster = Cluster::start(options()).await.unwrap();
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
    let cluster = Cluster::start(options()).await.unwrap();
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
async fn a_server_that_cannot_start_shows_the_end_of_its_log() {
    let mut options = options();
    options.flags = vec!["--no-such-flag".to_owned()];
    let error = Cluster::start(options).await.err().unwrap().to_string();
    assert!(
        error.contains("kube-apiserver ended by itself") && error.contains("no-such-flag"),
        "{error}"
    );
}

/// The prefix of the line in which the process under test prints where its cluster is.
const MARK: &str = "cluster: ";

/// Set in the process under test, which is this program, started by its own test.
const UNDER_TEST: &str = "INFORMER_LIVE_UNDER_TEST";

/// Runs in the process under test, which never ends by itself.
#[expect(clippy::print_stdout, reason = "the process that will kill it reads this")]
async fn hold_a_cluster() {
    let cluster = Cluster::start(options()).await.unwrap();
    println!(
        "\n{MARK}{} {} {}",
        cluster.url(),
        cluster.etcd_url(),
        cluster.folder().display()
    );
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_cluster_is_gone_when_its_process_was_killed() {
    if std::env::var_os(UNDER_TEST).is_some() {
        return hold_a_cluster().await;
    }
    let this = "cluster::a_cluster_is_gone_when_its_process_was_killed";
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this, "--nocapture"])
        .env(UNDER_TEST, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix(MARK).map(str::to_owned));
    let line = line.expect("it prints where its cluster is");
    let parts: Vec<&str> = line.split(' ').collect();
    let (urls, folder) = (
        [parts[0].parse().unwrap(), parts[1].parse().unwrap()],
        Path::new(parts[2]),
    );
    assert!(urls.iter().all(answers) && folder.exists());

    // As `kill -9` does.
    process.kill().unwrap();
    process.wait().unwrap();
    eventually(async || match urls.iter().any(answers) || folder.exists() {
        true => Err("something is left".to_owned()),
        false => Ok(()),
    })
    .await;
}
