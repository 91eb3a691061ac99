//! A server behind the proxy, and the way to it.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A server that a proxy sends requests to.
#[derive(Clone)]
pub struct Upstream {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    user_agent: Option<String>,
}

/// Both kinds of connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Upstream {
    /// The server that a client of this configuration talks to. Of the configuration, the URL and the
    /// authorities are used.
    ///
    /// # Errors
    /// The URL names no host, or an authority is no certificate.
    pub fn of(config: &kube::Config) -> io::Result<Self> {
        let url = &config.cluster_url;
        let host = url
            .host()
            .ok_or_else(|| invalid("the URL of the server names no host"))?;
        let (tls, port) = match url.scheme_str() {
            Some("https") => (Some(connector(config.root_cert.as_deref())?), 443),
            _ => (None, 80),
        };
        Ok(Self {
            host: host.to_owned(),
            port: url.port_u16().unwrap_or(port),
            tls,
            user_agent: None,
        })
    }

    /// Sends this instead of the client's `User-Agent`, for a server that must distinguish the two paths.
    #[must_use]
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = Some(name.into());
        self
    }

    pub(super) fn agent(&self) -> Option<&str> {
        self.user_agent.as_deref()
    }

    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = match self.host.parse::<IpAddr>() {
            Ok(address) => ServerName::IpAddress(address.into()),
            Err(_) => ServerName::try_from(self.host.clone()).map_err(invalid)?,
        };
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}

fn connector(authorities: Option<&[Vec<u8>]>) -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for authority in authorities.unwrap_or_default() {
        roots
            .add(CertificateDer::from(authority.clone()))
            .map_err(invalid)?;
    }
    // No protocol is offered, so the server speaks HTTP/1.1.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
