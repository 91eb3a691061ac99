//! Creates a `kube::Client` tuned for watches, and the compression layer for custom service stacks.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use http::header::{ACCEPT_ENCODING, HeaderValue, USER_AGENT};
use secrecy::ExposeSecret as _;
use tower::util::{MapErrLayer, MapRequestLayer, MapResponseLayer};
use tower::{Layer, Service};

use crate::fast_paths;
use crate::source::{CredentialError, DecodesGzip, Origin, describe_auth};
use kubeconfig::Files;
use token_file::TokenFile;

mod connect;
#[cfg(feature = "rustls-tls")]
mod http2;
mod kubeconfig;
#[cfg(feature = "rustls-tls")]
mod pool;
mod proxy;
#[cfg(feature = "rustls-tls")]
mod tls;
mod token_file;
mod transport;

/// Creates a client from the environment: `$KUBECONFIG`, else `~/.kube/config`, else the service account of
/// the pod in which the program runs. See [`from_config`] for its settings.
///
/// A kubeconfig without a proxy uses that of `$HTTPS_PROXY`, unless `$NO_PROXY` exempts the cluster.
///
/// Sends nothing: whether the cluster responds is unknown until the first request.
pub async fn try_default() -> Result<kube::Client, ClientError> {
    try_default_with(ClientOptions::default()).await
}

/// Like [`try_default`], with options.
pub async fn try_default_with(options: ClientOptions) -> Result<kube::Client, ClientError> {
    let files = Files::of_environment();
    let (mut config, origin) = match files.load().await {
        Ok(config) => (config, files.to_string()),
        Err(error) => (
            kube::Config::incluster().map_err(|_| error)?,
            "the service account in /var/run/secrets/kubernetes.io/serviceaccount".to_owned(),
        ),
    };
    config.apply_debug_overrides();
    proxy::apply_exemptions(&mut config, |name| std::env::var(name).ok());
    build(config, options, Some(&origin))
}

/// Options of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The versions of HTTP that the client may use. Default: HTTP/2 and HTTP/1.1.
    pub protocols: Protocols,
}

/// The versions of HTTP that a client may use.
///
/// # HTTP/2
/// A connection carries at most 64 requests, and at most nine tenths of the server's limit; a watch counts
/// until it ends. Above that, another connection is opened: at most 16. These use HTTP/1.1:
///
/// - requests above what 16 connections carry;
/// - at most four lists at a time: large ones are faster this way, and do not delay watches;
/// - requests that turn a connection into another protocol (`exec`, `port-forward`);
/// - all requests without TLS, and for five minutes those to a server that has chosen HTTP/1.1.
///
/// A connection that is silent for 30 s is tested by a ping, and closed if no response arrives within 15 s.
/// It holds at most 1 MiB of unread bytes for each response, and 64 MiB in total. A server that sends no
/// settings within 15 s, or a response with more than 64 KiB of headers, is an error.
///
/// A request that the server refuses before it looks at it is sent again, at most twice, if it has no body
/// and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocols {
    /// HTTP/2 if the connection has TLS and the server chooses it (ALPN), else HTTP/1.1.
    Http2AndHttp1,
    /// Only HTTP/1.1: one connection for each watch.
    Http1,
}

impl Default for Protocols {
    /// HTTP/2 and HTTP/1.1.
    fn default() -> Self {
        match fast_paths::are_on() {
            true => Self::Http2AndHttp1,
            false => Self::Http1,
        }
    }
}

/// Creates a client from a configuration, tuned for watches:
///
/// - no retries in the client, so that an informer sees errors, backs off and reports them;
/// - no decompression in the client: kube's reads only the first gzip member of a compressed watch, this
///   library reads all (responses are not compressed if the configuration has `disable_compression`);
/// - no read timeout, which would end silent watches; an informer has its own deadlines;
/// - HTTP/2 over TLS if the server speaks it, so that many watches share a connection, else HTTP/1.1: see
///   [`Protocols`];
/// - TCP keep-alive, and `TCP_USER_TIMEOUT` on Linux: a peer that vanished without closing the connection is
///   detected within about 45 s. With a proxy, the connection to the proxy has them;
/// - HTTP, HTTPS and SOCKS5 proxies of the configuration, without further features of kube;
/// - a `User-Agent`, unless the configuration has one.
///
/// It is a complete `kube::Client` and can be used for other requests, too.
///
/// # TLS
/// The feature `rustls-tls` (default) is needed for `https`. Without it, `https` fails with
/// [`ClientError::Build`], unless the program enables another TLS library in kube (its feature
/// `openssl-tls`): then kube opens the connections, without keep-alive and with the proxies that kube's own
/// features support, and an informer detects a dead peer by missing bookmarks, after about three minutes.
pub fn from_config(config: kube::Config) -> Result<kube::Client, ClientError> {
    from_config_with(config, ClientOptions::default())
}

/// Like [`from_config`], with options.
pub fn from_config_with(config: kube::Config, options: ClientOptions) -> Result<kube::Client, ClientError> {
    build(config, options, None)
}

/// `configured_by` is where the configuration comes from, if it is known.
fn build(
    mut config: kube::Config,
    options: ClientOptions,
    configured_by: Option<&str>,
) -> Result<kube::Client, ClientError> {
    check(&config)?;
    let tokens = TokenFile::take(&mut config.auth_info)?;
    let mut origin = Origin::new(&config.cluster_url);
    if let Some(file) = configured_by {
        origin = origin.configured_by(file);
    }
    if let Some(tokens) = &tokens {
        origin = origin.credentials_of(&tokens.to_string());
    }
    let is_compressed = !std::mem::replace(&mut config.disable_compression, true);
    config.default_retry = false;
    // The write timeout stays: it applies only while a request is sent, and a watch sends nothing after that.
    config.read_timeout = None;
    if !config.headers.iter().any(|(name, _)| name == USER_AGENT) {
        config.headers.push((
            USER_AGENT,
            HeaderValue::from_static(concat!("informers/", env!("CARGO_PKG_VERSION"))),
        ));
    }
    let plugin = plugin_of(&config);
    // kube panics on a token that is not a valid header. The token in the configuration was checked above;
    // the token of a credential plugin is known to kube only.
    let builder = catch_unwind(AssertUnwindSafe(|| connect::builder(config, options.protocols)))
        .map_err(|_| match &plugin {
            Some(_) => bad_token("of the credential plugin"),
            None => ClientError::Build {
                why: "kube panicked; the panic message has the reason".to_owned(),
            },
        })?
        .map_err(|error| of_build(&error, plugin.as_deref(), &origin))?
        .with_layer(&MapRequestLayer::new({
            let tokens = tokens.clone();
            move |request| match &tokens {
                Some(tokens) => tokens.sign(request),
                None => request,
            }
        }))
        .with_layer(&MapErrLayer::new({
            let origin = origin.clone();
            move |error| origin.attach(CredentialError::replace(error, plugin.as_deref()))
        }))
        .with_layer(&MapResponseLayer::new(move |response| {
            name_credentials(response, &origin, tokens.as_ref())
        }));
    Ok(if is_compressed {
        builder.with_layer(&layer()).build()
    } else {
        builder.build()
    })
}

/// Adds the origin of the credentials to a response that does not accept them.
fn name_credentials<B>(
    mut response: http::Response<B>,
    origin: &Origin,
    tokens: Option<&TokenFile>,
) -> http::Response<B> {
    if response.status() == http::StatusCode::UNAUTHORIZED {
        response.extensions_mut().insert(origin.clone());
        if let Some(tokens) = tokens {
            tokens.refused();
        }
    }
    response
}

/// Returns the layer that requests compression for the lists and watches of this library. Other requests pass
/// unchanged.
///
/// [`from_config`] adds it. Add it to a custom service stack if the stack does not decompress responses:
/// `ClientBuilder::new(service, "default").with_layer(&client::layer()).build()`.
pub fn layer() -> CompressionLayer {
    CompressionLayer { _private: () }
}

/// The layer that requests compression; see [`layer`].
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

/// The service of [`CompressionLayer`].
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

/// Why no client could be created. The text says how to fix it and contains no secrets.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// No kubeconfig exists, and the program does not run in a pod.
    NoConfiguration,
    /// A kubeconfig exists, but is invalid.
    Kubeconfig {
        /// The files of the kubeconfig: several if `KUBECONFIG` names several and the invalid one is unknown.
        paths: Vec<PathBuf>,
        /// What is wrong with it.
        why: String,
    },
    /// The configuration is complete, but no client can be created from it.
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
                "no cluster is configured: set KUBECONFIG, create ~/.kube/config, or run in a pod with a \
                 service account",
            ),
            Self::Kubeconfig { paths, why } => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "cannot use kubeconfig {}: {why}", paths.join(", "))
            }
            Self::Build { why } => write!(f, "cannot create a client: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// Checks for values on which kube would panic.
fn check(config: &kube::Config) -> Result<(), ClientError> {
    let url = &config.cluster_url;
    if !matches!(url.scheme_str(), Some("http" | "https")) || url.authority().is_none() {
        return Err(ClientError::Build {
            why: format!("invalid cluster URL {url:?}: use https:// or http:// and a host"),
        });
    }
    match &config.auth_info.token {
        Some(token) if HeaderValue::try_from(token.expose_secret()).is_err() => Err(bad_token("of the user")),
        _ => Ok(()),
    }
}

fn bad_token(whose: &str) -> ClientError {
    ClientError::Build {
        why: format!(
            "the token {whose} contains a line break or another character that is invalid in a header"
        ),
    }
}

/// The name of the credential plugin's command. Arguments and environment may contain secrets.
fn plugin_of(config: &kube::Config) -> Option<String> {
    let auth = &config.auth_info;
    let of_provider = || auth.auth_provider.as_ref()?.config.get("cmd-path").cloned();
    let command = auth.exec.as_ref().and_then(|exec| exec.command.clone());
    let command = command.or_else(of_provider)?;
    // A command that contains its arguments is not found, and the arguments may contain secrets.
    let name = command.split_whitespace().next().unwrap_or_default();
    Some(Path::new(name).display().to_string())
}

fn of_build(error: &kube::Error, plugin: Option<&str>, origin: &Origin) -> ClientError {
    let why = match error {
        kube::Error::TlsRequired => {
            "the cluster URL is https, but the program is built without TLS; enable the feature `rustls-tls`"
                .to_owned()
        }
        kube::Error::Auth(error) => describe_auth(error, plugin) + &origin.in_brackets(),
        // The URL of a proxy may contain a password.
        kube::Error::ProxyProtocolUnsupported { proxy_url } => format!(
            "a proxy by {} is not supported; use http, https or socks5",
            proxy_url.scheme_str().unwrap_or("a URL without a scheme")
        ),
        kube::Error::ProxyProtocolDisabled { protocol_feature, .. } => {
            format!("the proxy needs the feature `{protocol_feature}`")
        }
        other => other.to_string(),
    };
    ClientError::Build { why }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;

#[cfg(test)]
#[cfg(feature = "rustls-tls")]
mod http2_tests;

#[cfg(test)]
#[cfg(feature = "rustls-tls")]
mod ping_tests;

#[cfg(test)]
#[cfg(feature = "rustls-tls")]
mod reset_tests;

#[cfg(test)]
#[cfg(feature = "rustls-tls")]
mod tls_server;

#[cfg(test)]
#[cfg(feature = "rustls-tls")]
mod trust_tests;
