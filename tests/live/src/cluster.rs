//! A kube-apiserver with its own etcd: start, restart, stop.

mod access;
mod backup;
mod error;
mod etcd;
mod guard;
mod replica;
mod server;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;

pub use self::backup::Backup;
pub use self::error::ClusterError;
pub use self::replica::Replica;

use self::access::Access;
use self::guard::Guard;
use self::server::Server;
use crate::binaries::Binaries;

/// The user who may do everything.
pub const ADMIN: &str = "admin";

/// The time between two readiness checks.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// How often a cluster is started again because another process took its port.
const TRIES: usize = 3;

/// How a cluster is made. The default is one as Kubernetes ships it: watch lists on, a free port, users
/// without rights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// Whether the server streams initial states. Default: on.
    pub watch_list: WatchList,
    /// Further flags of kube-apiserver, each as `--flag=value`. Default: none. For feature gates use
    /// [`feature_gates`](Self::feature_gates): kube-apiserver uses the last `--feature-gates` only.
    pub flags: Vec<String>,
    /// Further feature gates, each as `Name=true`. Default: none.
    pub feature_gates: Vec<String>,
    /// The port of kube-apiserver. Default: a free one.
    pub port: Option<u16>,
    /// Users without any right, beside [`ADMIN`]. Default: `alice` and `bob`.
    pub users: Vec<String>,
    /// Where data, keys and logs are. Removed when the cluster ends. Default: a new temporary folder.
    pub folder: Option<PathBuf>,
    /// How long each of the two programs may take until it is ready. Default: 3 minutes, for machines that
    /// are busy.
    pub ready_within: Duration,
    /// The programs to start. Default: what [`Binaries::find`] finds.
    pub binaries: Option<Binaries>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            watch_list: WatchList::On,
            flags: Vec::new(),
            feature_gates: Vec::new(),
            port: None,
            users: vec!["alice".to_owned(), "bob".to_owned()],
            folder: None,
            ready_within: Duration::from_secs(180),
            binaries: None,
        }
    }
}

/// Whether a server streams the initial state through a watch (the feature gate `WatchList`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchList {
    /// As since Kubernetes 1.34.
    On,
    /// As before.
    Off,
}

/// A service account that is in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, which the server compares.
    pub uid: String,
}

/// A kube-apiserver and its etcd, both on 127.0.0.1, with RBAC enabled and their own data.
///
/// They end with this value. If this process ends without dropping it, for example by `kill -9`, a supervisor
/// process ends them and removes their data. A client belongs to the runtime in which it was created, so one
/// cluster can serve tests with different runtimes.
pub struct Cluster {
    options: ClusterOptions,
    folder: PathBuf,
    access: Access,
    port: u16,
    etcd_port: u16,
    etcd: Server,
    apiserver: Server,
    /// Last, because its drop removes the folder of the others.
    guard: Guard,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready; the wait is bounded by [`ClusterOptions::ready_within`].
    pub async fn start(options: ClusterOptions) -> Result<Self, ClusterError> {
        let mut tries = 1;
        loop {
            let mut cluster = Self::prepare(options.clone())?;
            match cluster.revive().await {
                Ok(()) => return Ok(cluster),
                Err(error) if tries == TRIES || !lost_its_port(&error) => return Err(error),
                Err(_) => tries += 1,
            }
        }
    }

    /// Everything but the processes.
    fn prepare(options: ClusterOptions) -> Result<Self, ClusterError> {
        let binaries = match &options.binaries {
            Some(binaries) => binaries.clone(),
            None => Binaries::find()?,
        };
        if options.watch_list == WatchList::On && !binaries.etcd_version()?.reports_progress() {
            return Err(ClusterError::EtcdTooOld {
                version: binaries.etcd_version()?.to_string(),
            });
        }
        let folder = match &options.folder {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                folder.canonicalize()?
            }
            // The guard removes it.
            None => tempfile::Builder::new()
                .prefix("informer-live-")
                .tempdir()?
                .keep(),
        };
        let guard = Guard::new(&folder)?;
        let access = Access::new(&folder, &options.users)?;
        let [etcd_port, free] = free_ports()?;
        let port = options.port.unwrap_or(free);
        let etcd = Server::new(
            binaries.etcd(),
            etcd_flags(&folder, etcd_port),
            folder.join("etcd.log"),
        );
        let apiserver = Server::new(
            binaries.kube_apiserver(),
            apiserver_flags(&options, &access, port, etcd_port),
            folder.join("kube-apiserver.log"),
        );
        Ok(Self {
            options,
            folder,
            access,
            port,
            etcd_port,
            etcd,
            apiserver,
            guard,
        })
    }

    /// Creates a client of the admin with [`informer_core::client::from_config`]. It works as long as the
    /// runtime in which it was created.
    pub fn client(&self) -> Client {
        self.client_as(ADMIN)
            .expect("every cluster has an admin and a sound certificate")
    }

    /// A client of one of [`ClusterOptions::users`].
    pub fn client_as(&self, user: &str) -> Result<Client, ClusterError> {
        informer_core::client::from_config(self.config_as(user)?).map_err(ClusterError::client)
    }

    /// Returns the configuration of such a client, for example to change its address to that of a proxy.
    pub fn config_as(&self, user: &str) -> Result<kube::Config, ClusterError> {
        self.access.config(user, &self.url())
    }

    /// A token of a service account that expires when `lifetime` has passed.
    pub fn service_account_token(&self, account: &ServiceAccount, lifetime: Duration) -> String {
        self.access.service_account_token(account, lifetime)
    }

    /// Returns the path of a kubeconfig of the admin. It exists as long as the cluster.
    pub fn kubeconfig(&self) -> Result<PathBuf, ClusterError> {
        self.kubeconfig_as(ADMIN)
    }

    /// The path of a kubeconfig of one of [`ClusterOptions::users`].
    pub fn kubeconfig_as(&self, user: &str) -> Result<PathBuf, ClusterError> {
        self.access.kubeconfig(user, &self.url())
    }

    /// Where kube-apiserver listens, as `https://127.0.0.1:<port>/`.
    pub fn url(&self) -> http::Uri {
        uri("https", self.port)
    }

    /// Where etcd listens, as `http://127.0.0.1:<port>/`.
    pub fn etcd_url(&self) -> http::Uri {
        uri("http", self.etcd_port)
    }

    /// Where the data, the keys and the logs are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Suspends kube-apiserver (`SIGSTOP`): connections stay open and silent, new ones wait.
    pub fn pause(&self) -> Result<(), ClusterError> {
        Ok(self.apiserver.pause()?)
    }

    /// Resumes it after [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), ClusterError> {
        Ok(self.apiserver.resume()?)
    }

    /// Kills both programs as `kill -9` does. Their data stays for [`revive`](Self::revive).
    pub fn kill(&mut self) {
        self.apiserver.kill(&self.guard);
        self.etcd.kill(&self.guard);
    }

    /// Starts what does not run, on the same data and ports, and waits until it is ready; the wait is bounded
    /// by [`ClusterOptions::ready_within`] for each of the programs.
    pub async fn revive(&mut self) -> Result<(), ClusterError> {
        self.etcd.start(&self.guard)?;
        let etcd = etcd::Etcd::new(&self.etcd_url())?;
        wait_until_ready(&mut self.etcd, self.options.ready_within, async || {
            etcd.revision()
                .await
                .map(|_| ())
                .map_err(|error| error.to_string())
        })
        .await?;
        self.apiserver.start(&self.guard)?;
        let client = self.client();
        wait_until_ready(&mut self.apiserver, self.options.ready_within, async || {
            is_ready(&client).await
        })
        .await
    }

    /// [`kill`](Self::kill), then [`revive`](Self::revive).
    pub async fn restart(&mut self) -> Result<(), ClusterError> {
        self.kill();
        self.revive().await
    }

    /// Kills kube-apiserver only, and starts it again: etcd keeps running, with its history.
    pub async fn restart_apiserver(&mut self) -> Result<(), ClusterError> {
        self.apiserver.kill(&self.guard);
        self.revive().await
    }

    /// Compacts the history in etcd, and returns the revision: older ones can no longer be read or watched
    /// there. kube-apiserver still answers from its own caches what these hold.
    pub async fn compact(&self) -> Result<u64, ClusterError> {
        let etcd = etcd::Etcd::new(&self.etcd_url())?;
        let revision = etcd.revision().await?;
        etcd.compact(revision).await?;
        Ok(revision)
    }

    /// The path of kube-apiserver's log.
    pub fn log(&self) -> &Path {
        self.apiserver.log()
    }

    /// Ends both programs and removes all their data; when it returns, nothing is left. Dropping does the
    /// same.
    pub fn stop(self) {}
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
    }
}

fn uri(scheme: &str, port: u16) -> http::Uri {
    format!("{scheme}://127.0.0.1:{port}/")
        .parse()
        .expect("a number makes a sound port")
}

/// Ports that were free a moment ago, all held at once so that they differ.
fn free_ports<const N: usize>() -> std::io::Result<[u16; N]> {
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn etcd_flags(folder: &Path, port: u16) -> Vec<String> {
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls=http://127.0.0.1:{port}"),
        format!("--advertise-client-urls=http://127.0.0.1:{port}"),
        // There is one member, so this is never used.
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        // The data need not survive the machine, only the process.
        "--unsafe-no-fsync=true".to_owned(),
    ]
}

fn apiserver_flags(options: &ClusterOptions, access: &Access, port: u16, etcd_port: u16) -> Vec<String> {
    let watch_list = match options.watch_list {
        WatchList::On => "WatchList=true",
        WatchList::Off => "WatchList=false",
    };
    let gates: Vec<&str> = std::iter::once(watch_list)
        .chain(options.feature_gates.iter().map(String::as_str))
        .collect();
    let mut flags = access.flags();
    flags.extend([
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // Nobody makes service accounts here, and this plugin refuses pods without one.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--feature-gates={}", gates.join(",")),
    ]);
    flags.extend(options.flags.iter().cloned());
    flags
}

async fn is_ready(client: &Client) -> Result<(), String> {
    let request = http::Request::get("/readyz").body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = client.request_text(request).await;
    answer.map(|_| ()).map_err(|error| error.to_string())
}

/// Asks until the answer is yes, the program ends, or the time is over.
async fn wait_until_ready(
    server: &mut Server,
    limit: Duration,
    ask: impl AsyncFn() -> Result<(), String>,
) -> Result<(), ClusterError> {
    let start = Instant::now();
    loop {
        // A server that accepts and never answers must not block this.
        let answer = match tokio::time::timeout(limit, ask()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(answer)) => answer,
            Err(_) => "no answer".to_owned(),
        };
        if let Some(status) = server.exited() {
            return Err(ClusterError::Exited {
                program: server.name(),
                status: status.to_string(),
                log_tail: server.log_tail(),
            });
        }
        if start.elapsed() >= limit {
            return Err(ClusterError::NotReady {
                program: server.name(),
                waited: limit,
                answer,
                log_tail: server.log_tail(),
            });
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

fn lost_its_port(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Exited { log_tail, .. } if log_tail.contains("address already in use"))
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
