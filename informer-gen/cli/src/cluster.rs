//! Definitions from a cluster.

use std::time::Duration;

use informer_gen::crd::{self, ReadError, Reading};
use kube::config::{InferConfigError, KubeconfigError};
use kube::{Client, Config};
use serde_json::Value;

/// Where the definitions are.
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How many definitions are asked for at a time: they are large, up to a MiB each.
const PAGE: usize = 50;
/// How many pages are asked for at most: 10,000 definitions.
const MAX_PAGES: usize = 200;
/// How long one answer may take, retries of the client included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a cluster gives no definitions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// There is no cluster, or it is not known how to reach it.
    #[error(
        "no cluster: this is not a pod, and the kubeconfig ($KUBECONFIG or ~/.kube/config) cannot be used: {why}"
    )]
    NoCluster {
        /// What is wrong with the kubeconfig. Nothing of it is quoted: it holds secrets.
        why: String,
    },
    /// A client cannot be made of the configuration.
    #[error("cannot make a client for the cluster at {address}")]
    Client {
        /// Where the cluster is.
        address: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// What was asked for cannot be the name of a definition, and must not become a part of a URL.
    #[error(
        "`{name}` cannot be the name of a definition: write small letters, digits, dashes and dots, such as `foos.example.com`"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// The server refused.
    #[error(
        "the cluster at {address} does not let you read {what}; you need `get` and `list` of customresourcedefinitions in \
         apiextensions.k8s.io: try `kubectl auth can-i list crd`"
    )]
    Forbidden {
        /// Where the cluster is.
        address: String,
        /// What was asked for.
        what: String,
        /// What the server said.
        source: Box<kube::Error>,
    },
    /// The request failed.
    #[error("cannot read {what} from the cluster at {address}")]
    Request {
        /// Where the cluster is.
        address: String,
        /// What was asked for.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// There was no answer.
    #[error("the cluster at {address} did not answer within {PATIENCE:?}")]
    Silent {
        /// Where the cluster is.
        address: String,
    },
    /// The list of definitions does not end.
    #[error("the cluster at {address} has more than {} definitions; name those you want", PAGE * MAX_PAGES)]
    TooMany {
        /// Where the cluster is.
        address: String,
    },
    /// No runtime to wait for answers with.
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    /// What the server sent is not a definition that can be used.
    #[error(transparent)]
    Content(#[from] ReadError),
}

/// Which definitions to ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    All,
    /// Those of these names. One that is not there is not an error here.
    Named(&'a [String]),
}

/// Asks the cluster of the current kubeconfig, or the one this runs in.
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

/// A cluster that can be asked.
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

    /// Every definition, as the lists the server sends.
    async fn pages(&self) -> Result<Vec<Value>, ClusterError> {
        let mut pages = Vec::new();
        let mut token = String::new();
        while pages.len() < MAX_PAGES {
            let query = match token.as_str() {
                "" => format!("{PATH}?limit={PAGE}"),
                token => format!("{PATH}?limit={PAGE}&continue={token}"),
            };
            let page = self.get(&query, "the definitions").await?;
            // A list has no answer 404, unless the server is none of Kubernetes'.
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
        let Ok(answer) = tokio::time::timeout(PATIENCE, answer).await else {
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

/// Whether a name is one that Kubernetes takes for a definition.
fn is_dns_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 253
        && name
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(is_letter))
}

/// What is wrong with a kubeconfig, without quoting it.
fn what_is_wrong(error: &InferConfigError) -> String {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<KubeconfigError>());
    match cause {
        // The parser's own words quote what it read, and that may be a token.
        Some(KubeconfigError::Parse(error)) => {
            let place = error.location().map_or(String::new(), |place| {
                format!(" (line {}, column {})", place.line(), place.column())
            });
            format!("it is not sound YAML, or not a kubeconfig{place}")
        }
        Some(KubeconfigError::CurrentContextNotSet) => {
            "it names no current context; run `kubectl config use-context NAME`".to_owned()
        }
        Some(other) => other.to_string(),
        None => "there is none".to_owned(),
    }
}

/// The address of a cluster, without a user's name or password that its URL may have.
fn address(config: &Config) -> String {
    let url = &config.cluster_url;
    let scheme = url.scheme_str().unwrap_or("https");
    let host = url.host().unwrap_or("unknown");
    match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}
