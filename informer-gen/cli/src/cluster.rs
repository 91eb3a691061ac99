//! Reads definitions from a cluster.

use std::time::Duration;

use informer_gen::crd::{self, ReadError, Reading};
use kube::config::{InferConfigError, KubeconfigError};
use kube::{Client, Config};
use serde_json::Value;

/// The path of the definitions.
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The definitions per page. Each can have up to 1 MiB.
const PAGE: usize = 50;
/// The most pages that are requested: 10,000 definitions.
const MAX_PAGES: usize = 200;
/// The timeout of one response, including retries of the client.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Error of reading definitions from a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// No cluster is configured.
    #[error(
        "no cluster: not running in a pod, and the kubeconfig ($KUBECONFIG or ~/.kube/config) cannot be \
         used: {why}"
    )]
    NoCluster {
        /// The problem of the kubeconfig, without quotes from it: it contains secrets.
        why: String,
    },
    /// A client cannot be created from the configuration.
    #[error("cannot create a client for the cluster at {address}")]
    Client {
        /// The address of the cluster.
        address: String,
        /// The cause.
        source: Box<kube::Error>,
    },
    /// A name is invalid, and must not become a part of a URL.
    #[error(
        "invalid name of a definition: `{name}`; use lower-case letters, digits, dashes and dots, such as \
         `foos.example.com`"
    )]
    Name {
        /// The given name.
        name: String,
    },
    /// The server rejected the request.
    #[error(
        "cannot read {what} from the cluster at {address}: not allowed; grant \"get\" and \"list\" on \
         \"customresourcedefinitions.apiextensions.k8s.io\" (check with `kubectl auth can-i list crd`)"
    )]
    Forbidden {
        /// The address of the cluster.
        address: String,
        /// What was requested.
        what: String,
        /// The error of the server.
        source: Box<kube::Error>,
    },
    /// The request failed.
    #[error("cannot read {what} from the cluster at {address}")]
    Request {
        /// The address of the cluster.
        address: String,
        /// What was requested.
        what: String,
        /// The cause.
        source: Box<kube::Error>,
    },
    /// No response within the timeout.
    #[error("no response from the cluster at {address} within {TIMEOUT:?}")]
    Silent {
        /// The address of the cluster.
        address: String,
    },
    /// The cluster has too many definitions.
    #[error("the cluster at {address} has more than {} definitions; select some by name", PAGE * MAX_PAGES)]
    TooMany {
        /// The address of the cluster.
        address: String,
    },
    /// The async runtime cannot start.
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
    /// The server sent an invalid definition.
    #[error(transparent)]
    Content(#[from] ReadError),
}

/// Which definitions to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    All,
    /// Those of these names. A missing one is not an error here.
    Named(&'a [String]),
}

/// Reads from the cluster of the current kubeconfig, or the one this program runs in.
pub(crate) fn read(wanted: Wanted<'_>) -> Result<Reading, ClusterError> {
    if let Wanted::Named(names) = wanted
        && let Some(name) = names.iter().find(|name| !is_dns_name(name))
    {
        return Err(ClusterError::Name { name: name.clone() });
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ClusterError::Runtime)?;
    runtime.block_on(async {
        let cluster = Cluster::connect().await?;
        let mut reading = Reading::default();
        match wanted {
            Wanted::All => {
                for page in cluster.pages().await? {
                    reading.extend(crd::read_value(&cluster.origin(), page)?);
                }
            }
            Wanted::Named(names) => {
                for name in names {
                    if let Some(definition) = cluster.one(name).await? {
                        reading.extend(crd::read_value(&cluster.origin(), definition)?);
                    }
                }
            }
        }
        Ok(reading)
    })
}

/// A connection to a cluster.
struct Cluster {
    client: Client,
    address: String,
}

impl Cluster {
    async fn connect() -> Result<Self, ClusterError> {
        let config = Config::infer().await;
        let config = config.map_err(|error| ClusterError::NoCluster {
            why: what_is_wrong(&error),
        })?;
        let address = address(&config);
        match Client::try_from(config) {
            Ok(client) => Ok(Self { client, address }),
            Err(error) => Err(ClusterError::Client {
                address,
                source: Box::new(error),
            }),
        }
    }

    fn origin(&self) -> String {
        format!("the cluster at {}", self.address)
    }

    /// Every definition, as the lists that the server sends.
    async fn pages(&self) -> Result<Vec<Value>, ClusterError> {
        let mut pages = Vec::new();
        let mut token = String::new();
        while pages.len() < MAX_PAGES {
            let query = match token.as_str() {
                "" => format!("{PATH}?limit={PAGE}"),
                token => format!("{PATH}?limit={PAGE}&continue={token}"),
            };
            let page = self.get(&query, "the definitions").await?;
            // A Kubernetes server does not answer a list with 404.
            let page = page.unwrap_or_default();
            token = page["metadata"]["continue"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            pages.push(page);
            if token.is_empty() {
                return Ok(pages);
            }
        }
        Err(ClusterError::TooMany {
            address: self.address.clone(),
        })
    }

    async fn one(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        self.get(&format!("{PATH}/{name}"), name).await
    }

    async fn get(&self, path: &str, what: &str) -> Result<Option<Value>, ClusterError> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| self.failed(what, kube::Error::HttpError(error)))?;
        let answer = self.client.request::<Value>(request);
        let Ok(answer) = tokio::time::timeout(TIMEOUT, answer).await else {
            return Err(ClusterError::Silent {
                address: self.address.clone(),
            });
        };
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failed(what, error)),
        }
    }

    fn failed(&self, what: &str, error: kube::Error) -> ClusterError {
        let (address, what) = (self.address.clone(), what.to_owned());
        let is_forbidden = matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403));
        let source = Box::new(error);
        match is_forbidden {
            true => ClusterError::Forbidden {
                address,
                what,
                source,
            },
            false => ClusterError::Request {
                address,
                what,
                source,
            },
        }
    }
}

/// Whether a name is a valid name of a definition.
fn is_dns_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 253
        && name
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(is_letter))
}

/// The problem of a kubeconfig, without quoting it.
fn what_is_wrong(error: &InferConfigError) -> String {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<KubeconfigError>());
    match cause {
        // The parser's message quotes its input, which may be a token.
        Some(KubeconfigError::Parse(error)) => {
            let place = error.location().map_or(String::new(), |place| {
                format!(" (line {}, column {})", place.line(), place.column())
            });
            format!("it is not valid YAML, or not a kubeconfig{place}")
        }
        Some(KubeconfigError::CurrentContextNotSet) => {
            "it has no current context; run `kubectl config use-context NAME`".to_owned()
        }
        Some(other) => other.to_string(),
        None => "it does not exist".to_owned(),
    }
}

/// The address of a cluster, without the user name and password that its URL may have.
fn address(config: &Config) -> String {
    let url = &config.cluster_url;
    let scheme = url.scheme_str().unwrap_or("https");
    let host = url.host().unwrap_or("unknown");
    match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}
