//! The service stack of the client: kube's stack, over sockets with TCP keep-alive.
//!
//! kube's connector cannot be replaced alone, so this builds the stack as `kube::client::ClientBuilder` does:
//! base URL, credentials, headers, spans, timeouts, TLS. The socket to a proxy has keep-alive, too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt as _, DynBody};
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _};
use tower_http::classify::ServerErrorsFailureClass;
use tower_http::trace::TraceLayer;
use tracing::Span;

use super::Protocols;
use super::proxy::{Route, socks, tunnel};
#[cfg(feature = "rustls-tls")]
use super::tls;
use super::transport::{Transport, TransportService};
use crate::printable::Printable;

/// How long a connection may be silent before the first keep-alive probe.
pub(super) const KEEPALIVE_TIME: Duration = Duration::from_secs(15);
/// The time between keep-alive probes.
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// The number of unanswered probes after which the connection is closed: 45 s after the last received data.
pub(super) const KEEPALIVE_RETRIES: u32 = 3;
/// How long sent data may stay unacknowledged (Linux).
#[cfg(target_os = "linux")]
pub(super) const USER_TIMEOUT: Duration = Duration::from_secs(45);

/// A service that sends requests to a cluster.
pub(super) type Sender = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Builds the stack for a configuration with retries and decompression disabled.
pub(super) fn builder(
    config: kube::Config,
    protocols: Protocols,
) -> Result<ClientBuilder<Sender>, kube::Error> {
    // Installs kube's TLS provider for the process, if several are compiled in and none was chosen.
    drop(ClientBuilder::try_from(kube::Config::new(
        http::Uri::from_static("http://localhost"),
    ))?);
    match Route::of(&config) {
        Route::Direct => stack(http_connector(), config, protocols),
        Route::Http(proxy) => stack(tunnel(http_connector(), &proxy), config, protocols),
        #[cfg(feature = "rustls-tls")]
        Route::Https(proxy) => {
            let to_proxy = config.rustls_https_connector_with_connector(http_connector())?;
            stack(tunnel(to_proxy, &proxy), config, protocols)
        }
        Route::Socks5(proxy) => stack(socks(http_connector(), &proxy), config, protocols),
        Route::Kube => ClientBuilder::try_from(config),
    }
}

/// Builds the stack over a connector, which opens sockets to the cluster.
fn stack<C>(
    connector: C,
    config: kube::Config,
    protocols: Protocols,
) -> Result<ClientBuilder<Sender>, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let auth = config.auth_layer()?;
    // A plugin that returns a certificate instead of a token may limit its validity; only kube's builder
    // exposes it.
    let valid_until = match (&auth, &config.auth_info.exec) {
        (None, Some(_)) => *ClientBuilder::try_from(config.clone())?.build().valid_until(),
        _ => None,
    };
    // HTTP/2 needs TLS.
    #[cfg(not(feature = "rustls-tls"))]
    let _ = protocols;
    #[cfg(feature = "rustls-tls")]
    let http2 = tls::http2(&connector, &config, protocols)?;
    #[cfg(feature = "rustls-tls")]
    let connector = config.rustls_https_connector_with_connector(connector)?;
    // With HTTP/2, few requests use HTTP/1.1, and one idle connection is enough for the pages of a list.
    #[cfg(feature = "rustls-tls")]
    let max_idle = if http2.is_some() { 1 } else { usize::MAX };
    #[cfg(not(feature = "rustls-tls"))]
    let max_idle = usize::MAX;
    let client = hyper_util::client::legacy::Builder::new(TokioExecutor::new())
        .pool_max_idle_per_host(max_idle)
        .build::<_, Body>(with_timeouts(connector, &config));
    let transport = Transport {
        host: host(&config.cluster_url).into(),
        http1: Box::new(move |request| client.request(request).boxed()),
        #[cfg(feature = "rustls-tls")]
        http2,
    };

    // The attributes are those of kube's spans.
    let trace = TraceLayer::new_for_http()
        .make_span_with(|request: &Request<Body>| {
            tracing::debug_span!(
                "HTTP",
                http.method = %request.method(),
                http.url = %request.uri(),
                http.status_code = tracing::field::Empty,
                otel.name = request.extensions().get::<&'static str>().unwrap_or(&"HTTP"),
                otel.kind = "client",
                otel.status_code = tracing::field::Empty,
            )
        })
        .on_request(|_: &Request<Body>, _: &Span| tracing::debug!("requesting"))
        .on_response(|response: &Response<_>, _: Duration, span: &Span| {
            let status = response.status();
            span.record("http.status_code", status.as_u16());
            if status.is_client_error() || status.is_server_error() {
                span.record("otel.status_code", "ERROR");
            }
        })
        .on_body_chunk(())
        .on_eos(|_: Option<&HeaderMap>, _: Duration, _: &Span| tracing::debug!("stream closed"))
        .on_failure(|class: ServerErrorsFailureClass, _: Duration, span: &Span| {
            span.record("otel.status_code", "ERROR");
            match class {
                ServerErrorsFailureClass::StatusCode(status) => {
                    span.record("http.status_code", status.as_u16());
                    tracing::error!("failed with status {status}");
                }
                ServerErrorsFailureClass::Error(error) => {
                    tracing::error!("failed with error {}", Printable::message(&error));
                }
            }
        });
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(auth)
        .layer(config.extra_headers_layer()?)
        .layer(trace)
        .service(TransportService(Arc::new(transport)))
        .map_response(|response: Response<_>| response.map(boxed))
        .boxed();
    Ok(ClientBuilder::new(service, config.default_namespace).with_valid_until(valid_until))
}

/// Adds the time limits of the configuration.
pub(super) fn with_timeouts<C>(connector: C, config: &kube::Config) -> TimeoutConnector<C>
where
    C: Service<Uri> + Send,
    C::Response: Read + Write + Send + Unpin,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    connector
}

/// The host and port of a URL. Its user and password are left out.
fn host(url: &Uri) -> String {
    let host = url.host().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn boxed<B>(body: B) -> Box<DynBody>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    Box::new(body.map_err(Into::into))
}

/// Opens sockets that detect a peer that vanished without closing the connection. A silent watch would never
/// notice.
pub(super) fn http_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    // Otherwise the first request waits for the acknowledgement of the TLS handshake, which peers delay by up
    // to 40 ms.
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE_TIME));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(USER_TIMEOUT));
    connector
}
