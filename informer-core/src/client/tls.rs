//! TLS connections that offer HTTP/2.

use std::sync::Arc;

use futures::FutureExt as _;
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::connect::Connection;
use kube::client::ConfigExt as _;
use tower::{BoxError, Service, ServiceExt as _};

use super::Protocols;
use super::connect::with_timeouts;
use super::pool::{Opened, Pool};
use super::transport::Http2;

/// Returns the HTTP/2 connections for a configuration, if it allows them. Without TLS the protocol is
/// not negotiated, so HTTP/1.1 is used.
pub(super) fn http2<C>(
    connector: &C,
    config: &kube::Config,
    protocols: Protocols,
) -> Result<Option<Http2>, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    if config.cluster_url.scheme() != Some(&Scheme::HTTPS) || protocols == Protocols::Http1 {
        return Ok(None);
    }
    let mut tls = config.rustls_client_config()?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = config.tls_server_name.clone().map(|name| name.try_into());
    let resolver: Arc<dyn ResolveServerName + Send + Sync> = match name {
        Some(Ok(name)) => Arc::new(FixedServerNameResolver::new(name)),
        // Left to the connector of HTTP/1.1, whose error has the right type.
        Some(Err(_)) => return Ok(None),
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let connector = HttpsConnector::new(connector.clone(), tls, false, resolver);
    let connector = with_timeouts(connector, config);
    let url = config.cluster_url.clone();
    Ok(Some(Http2::new(Pool::new(Box::new(move || {
        let socket = connector.clone().oneshot(url.clone());
        async move {
            let socket = socket.await?;
            Ok(match socket.connected().is_negotiated_h2() {
                true => Opened::Http2(Box::pin(socket)),
                false => Opened::Http1,
            })
        }
        .boxed()
    })))))
}
