//! A `kube::Client` tuned for watching, and the layer that makes one of any service stack.

use std::fmt;
use std::path::PathBuf;
use std::task::{Context, Poll};

use http::header::{ACCEPT_ENCODING, HeaderValue, USER_AGENT};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, KubeconfigError};
use tower::{Layer, Service};

use crate::source::DecodesGzip;

/// A client for the cluster the environment names: `$KUBECONFIG`, else `~/.kube/config`, else the service account of
/// the pod the program runs in. Tuned as [`from_config`] says.
///
/// Nothing is sent yet: whether the cluster answers shows with the first request.
pub async fn try_default() -> Result<kube::Client, ClientError> {
    let mut config = match kube::Config::from_kubeconfig(&KubeConfigOptions::default()).await {
        Ok(config) => config,
        Err(kubeconfig) => kube::Config::incluster().map_err(|_| of_kubeconfig(&kubeconfig))?,
    };
    config.apply_debug_overrides();
    from_config(config)
}

/// A client for a given configuration, tuned for watching:
///
/// - no retries of its own, so that an informer sees refusals, backs off by its own rules and can say so;
/// - no decompression of its own: kube's reads only the first part of a compressed watch, this library reads them all
///   (and asks for none if the configuration has `disable_compression`);
/// - no read timeout, which would cut quiet watches; an informer has deadlines of its own;
/// - a `User-Agent`, unless the configuration brings one.
///
/// It is a full `kube::Client` and can be used for anything else too.
pub fn from_config(mut config: kube::Config) -> Result<kube::Client, ClientError> {
    let is_compressed = !std::mem::replace(&mut config.disable_compression, true);
    config.default_retry = false;
    // The write timeout stays: it counts only while a request is being sent, and a watch sends nothing after that.
    config.read_timeout = None;
    if !config.headers.iter().any(|(name, _)| name == USER_AGENT) {
        config.headers.push((
            USER_AGENT,
            HeaderValue::from_static(concat!("informers/", env!("CARGO_PKG_VERSION"))),
        ));
    }
    let builder = ClientBuilder::try_from(config).map_err(|error| of_build(&error))?;
    Ok(if is_compressed {
        builder.with_layer(&layer()).build()
    } else {
        builder.build()
    })
}

/// The layer that lets this library's own lists and watches be compressed; every other request passes unchanged.
///
/// [`from_config`] puts it on. Put it on a service stack of your own if that stack does not decompress by itself:
/// `ClientBuilder::new(service, "default").with_layer(&client::layer()).build()`.
pub fn layer() -> CompressionLayer {
    CompressionLayer { _private: () }
}

/// See [`layer`].
#[derive(Clone, Copy, Debug)]
pub struct CompressionLayer {
    _private: (),
}

impl<S> Layer<S> for CompressionLayer {
    type Service = Compression<S>;

    fn layer(&self, inner: S) -> Compression<S> {
        Compression { inner }
    }
}

/// The service [`CompressionLayer`] makes.
#[derive(Clone, Copy, Debug)]
pub struct Compression<S> {
    inner: S,
}

impl<S, B> Service<http::Request<B>> for Compression<S>
where
    S: Service<http::Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> S::Future {
        if request.extensions().get::<DecodesGzip>().is_some() {
            request
                .headers_mut()
                .insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        self.inner.call(request)
    }
}

/// Why no client could be made. The text says what to do about it and quotes nothing secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no kubeconfig, and the program does not run in a pod.
    NoConfiguration,
    /// There is a kubeconfig, but it cannot be used.
    Kubeconfig {
        /// Its path, where that is known.
        path: Option<PathBuf>,
        /// What is wrong with it.
        why: String,
    },
    /// The configuration is complete, but no client can be made from it.
    Build {
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfiguration => f.write_str(
                "no cluster is configured: set KUBECONFIG, write ~/.kube/config, or run in a pod with a service account",
            ),
            Self::Kubeconfig { path: Some(path), why } => {
                write!(f, "the kubeconfig {} cannot be used: {why}", path.display())
            }
            Self::Kubeconfig { path: None, why } => write!(f, "the kubeconfig cannot be used: {why}"),
            Self::Build { why } => write!(f, "no client can be made from this configuration: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

fn of_kubeconfig(error: &KubeconfigError) -> ClientError {
    let why = match error {
        KubeconfigError::FindPath => return ClientError::NoConfiguration,
        KubeconfigError::ReadConfig(io, _) if io.kind() == std::io::ErrorKind::NotFound => {
            return ClientError::NoConfiguration;
        }
        KubeconfigError::ReadConfig(io, path) => {
            return ClientError::Kubeconfig {
                path: Some(path.clone()),
                why: io.to_string(),
            };
        }
        // A parser quotes what it cannot read, and that may be a token.
        KubeconfigError::Parse(_) => "it is not sound YAML, or not a kubeconfig".to_owned(),
        KubeconfigError::CurrentContextNotSet => {
            "it names no current context: run `kubectl config use-context <name>`".to_owned()
        }
        KubeconfigError::LoadContext(name) => format!("its current context {name:?} is not in it"),
        KubeconfigError::LoadClusterOfContext(name) => format!("its context's cluster {name:?} is not in it"),
        other => other.to_string(),
    };
    ClientError::Kubeconfig { path: None, why }
}

fn of_build(error: &kube::Error) -> ClientError {
    let why = match error {
        kube::Error::TlsRequired => {
            "the cluster's URL is https, and this program is built without TLS: enable the feature `rustls-tls`".to_owned()
        }
        // What a credential plugin printed may hold a token, and so may the command with its environment.
        kube::Error::Auth(kube::client::AuthError::AuthExecRun { out, .. }) => {
            format!("the credential plugin failed with {}", out.status)
        }
        kube::Error::Auth(kube::client::AuthError::AuthExecParse(_)) => {
            "the output of the credential plugin cannot be read".to_owned()
        }
        other => other.to_string(),
    };
    ClientError::Build { why }
}

#[cfg(test)]
mod tests;
