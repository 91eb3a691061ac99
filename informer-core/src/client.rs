//! A `kube::Client` tuned for watching, and the layer that makes one of any service stack.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use http::header::{ACCEPT_ENCODING, HeaderValue, USER_AGENT};
use secrecy::ExposeSecret as _;
use tower::{Layer, Service};

use crate::source::{DecodesGzip, describe_auth};
use kubeconfig::Files;

mod connect;
mod kubeconfig;

/// A client for the cluster the environment names: `$KUBECONFIG`, else `~/.kube/config`, else the service account of
/// the pod the program runs in. Tuned as [`from_config`] says.
///
/// Nothing is sent yet: whether the cluster answers shows with the first request.
pub async fn try_default() -> Result<kube::Client, ClientError> {
    let mut config = match Files::of_environment().load().await {
        Ok(config) => config,
        Err(error) => kube::Config::incluster().map_err(|_| error)?,
    };
    config.apply_debug_overrides();
    from_config(config)
}

/// A client for a given configuration, tuned for watching:
///
/// - no retries of its own, so that an informer sees refusals, backs off by its own rules and can say so;
/// - no decompression of its own: kube's reads only the first part of a compressed watch, this library reads them all
///   (and asks for none if the configuration has `disable_compression`);
/// - no read timeout, which would cut quiet watches; an informer has its own deadlines;
/// - TCP keep-alive, and `TCP_USER_TIMEOUT` on Linux: a peer that vanished without closing the connection is noticed
///   within about 45 s. Connections through a proxy do not have it;
/// - a `User-Agent`, unless the configuration brings one.
///
/// It is a full `kube::Client` and can be used for anything else too.
pub fn from_config(mut config: kube::Config) -> Result<kube::Client, ClientError> {
    check(&config)?;
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
    let plugin = plugin_of(&config);
    // kube panics on a token that cannot be a header. One in the configuration was checked above; one that a
    // credential plugin gives is seen by kube only.
    let builder = catch_unwind(AssertUnwindSafe(|| connect::builder(config)))
        .map_err(|_| match &plugin {
            Some(_) => bad_token("that a credential plugin gave"),
            None => ClientError::Build {
                why: "kube panicked; the panic message has the reason".to_owned(),
            },
        })?
        .map_err(|error| of_build(&error, plugin.as_deref()))?;
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
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no kubeconfig, and the program does not run in a pod.
    NoConfiguration,
    /// There is a kubeconfig, but it cannot be used.
    Kubeconfig {
        /// The files it was read from: several if `KUBECONFIG` names several and it is unknown which is to
        /// blame.
        paths: Vec<PathBuf>,
        /// What is wrong with it.
        why: String,
    },
    /// The configuration is complete, but no client can be made from it.
    Build {
        /// What is wrong with it.
        why: String,
    },
}

crate::__debug_is_the_message!(ClientError);

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfiguration => f.write_str(
                "no cluster is configured: set KUBECONFIG, write ~/.kube/config, or run in a pod with a service account",
            ),
            Self::Kubeconfig { paths, why } => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "the kubeconfig {} cannot be used: {why}", paths.join(", "))
            }
            Self::Build { why } => write!(f, "no client can be made from this configuration: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// Refuses what kube would panic on.
fn check(config: &kube::Config) -> Result<(), ClientError> {
    let url = &config.cluster_url;
    if !matches!(url.scheme_str(), Some("http" | "https")) || url.authority().is_none() {
        return Err(ClientError::Build {
            why: format!("the cluster's URL {url:?} does not begin with https:// or http:// and a host"),
        });
    }
    match &config.auth_info.token {
        Some(token) if HeaderValue::try_from(token.expose_secret()).is_err() => Err(bad_token("of the user")),
        _ => Ok(()),
    }
}

fn bad_token(whose: &str) -> ClientError {
    ClientError::Build {
        why: format!("the token {whose} has a line end or another character that cannot be sent"),
    }
}

/// The command of the credential plugin: its name only, arguments and environment may hold secrets.
fn plugin_of(config: &kube::Config) -> Option<String> {
    let auth = &config.auth_info;
    let of_provider = || auth.auth_provider.as_ref()?.config.get("cmd-path").cloned();
    let command = auth.exec.as_ref().and_then(|exec| exec.command.clone());
    let command = command.or_else(of_provider)?;
    // A command with arguments in its name is not found, and the arguments are nobody's business.
    let name = command.split_whitespace().next().unwrap_or_default();
    Some(Path::new(name).display().to_string())
}

fn of_build(error: &kube::Error, plugin: Option<&str>) -> ClientError {
    let why = match error {
        kube::Error::TlsRequired => {
            "the cluster's URL is https, and this program is built without TLS: enable the feature `rustls-tls`"
                .to_owned()
        }
        kube::Error::Auth(error) => describe_auth(error, plugin),
        other => other.to_string(),
    };
    ClientError::Build { why }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
