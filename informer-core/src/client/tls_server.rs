//! A TLS server for tests. It counts connections and requests, and sends events to all watches.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use http::{Request, Response, Version};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertificateParams;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, broadcast};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::sync::Mutex;

/// The protocols of a server. All servers speak HTTP/1.1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Http1,
    /// With this limit of concurrent streams.
    Http2(u32),
}

pub(super) struct Server {
    pub(super) port: u16,
    certificate: rcgen::Certificate,
    pub(super) seen: Arc<Seen>,
}

/// What a server has seen.
pub(super) struct Seen {
    pub(super) http2_connections: AtomicUsize,
    pub(super) http1_connections: AtomicUsize,
    pub(super) http2_requests: AtomicUsize,
    pub(super) http1_requests: AtomicUsize,
    events: broadcast::Sender<Bytes>,
    /// The only token that is accepted; any if there is none.
    token: Mutex<Option<String>>,
    /// Ends every open connection in order: GOAWAY.
    closing: Arc<Notify>,
}

/// A certificate for 127.0.0.1, and TLS with it.
pub(super) fn tls(protocols: &[&[u8]]) -> (Vec<u8>, TlsAcceptor) {
    let (certificate, acceptor) = tls_with(params(), protocols);
    (certificate.der().to_vec(), acceptor)
}

pub(super) fn params() -> CertificateParams {
    CertificateParams::new(["127.0.0.1".to_owned()]).unwrap()
}

fn tls_with(params: CertificateParams, protocols: &[&[u8]]) -> (rcgen::Certificate, TlsAcceptor) {
    tls_for(params, protocols, WebPkiClientVerifier::no_client_auth())
}

/// TLS that accepts the clients of a verifier.
fn tls_for(
    params: CertificateParams,
    protocols: &[&[u8]],
    clients: Arc<dyn ClientCertVerifier>,
) -> (rcgen::Certificate, TlsAcceptor) {
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&signing_key).unwrap();
    let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder()
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    (certificate, TlsAcceptor::from(Arc::new(config)))
}

impl Server {
    pub(super) async fn start(speaks: Speaks) -> Self {
        Self::start_with(speaks, params()).await
    }

    /// Starts a server whose certificate has these properties. It signs itself.
    pub(super) async fn start_with(speaks: Speaks, params: CertificateParams) -> Self {
        let tls = match speaks {
            Speaks::Http1 => tls_with(params, &[b"http/1.1"]),
            Speaks::Http2(_) => tls_with(params, &[b"h2", b"http/1.1"]),
        };
        Self::listen(speaks, tls).await
    }

    /// Starts a server that accepts only clients with a certificate of this authority, given as PEM.
    pub(super) async fn start_for_clients_of(authority: &str) -> Self {
        let authority = CertificateDer::from_pem_slice(authority.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(authority).unwrap();
        let clients = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
        Self::listen(Speaks::Http1, tls_for(params(), &[b"http/1.1"], clients)).await
    }

    async fn listen(speaks: Speaks, (certificate, acceptor): (rcgen::Certificate, TlsAcceptor)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen {
            http2_connections: AtomicUsize::new(0),
            http1_connections: AtomicUsize::new(0),
            http2_requests: AtomicUsize::new(0),
            http1_requests: AtomicUsize::new(0),
            events: broadcast::channel(16).0,
            token: Mutex::new(None),
            closing: Arc::default(),
        });
        let of_tasks = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&of_tasks));
                tokio::spawn(async move {
                    if let Ok(socket) = acceptor.accept(socket).await {
                        let is_http2 = socket.get_ref().1.alpn_protocol() == Some(b"h2");
                        let speaks = if is_http2 { speaks } else { Speaks::Http1 };
                        serve(socket, speaks, seen).await;
                    }
                });
            }
        });
        Self {
            port,
            certificate,
            seen,
        }
    }

    pub(super) fn config(&self) -> kube::Config {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse().unwrap());
        config.root_cert = Some(vec![self.certificate.der().to_vec()]);
        config
    }

    /// The certificate as PEM.
    pub(super) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Sends an event to every open watch.
    pub(super) fn event(&self, text: &'static str) {
        let _ = self.seen.events.send(Bytes::from_static(text.as_bytes()));
    }

    /// Answers 401 to requests with any other token from now on.
    pub(super) fn accept_only(&self, token: &str) {
        *self.seen.token.lock() = Some(format!("Bearer {token}"));
    }

    /// Closes all open connections in order.
    pub(super) fn close(&self) {
        self.seen.closing.notify_waiters();
    }
}

/// Serves one connection.
pub(super) async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    speaks: Speaks,
    seen: Arc<Seen>,
) {
    let socket = TokioIo::new(socket);
    let of_requests = Arc::clone(&seen);
    let service = service_fn(move |request| {
        let answer = answer(&of_requests, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let _ = match speaks {
        Speaks::Http1 => {
            seen.http1_connections.fetch_add(1, Ordering::Relaxed);
            http1::Builder::new().serve_connection(socket, service).await
        }
        Speaks::Http2(limit) => {
            seen.http2_connections.fetch_add(1, Ordering::Relaxed);
            let connection = http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(limit)
                .serve_connection(socket, service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = seen.closing.notified() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
}

type Frames = StreamBody<std::pin::Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>>;

/// A watch receives a first event at once, then those of [`Server::event`], and ends when the server closes.
/// A path with `flood` receives bytes without end. Anything else is an empty list.
fn answer(seen: &Arc<Seen>, request: &Request<Incoming>) -> Response<Frames> {
    let requests = match request.version() {
        Version::HTTP_2 => &seen.http2_requests,
        _ => &seen.http1_requests,
    };
    requests.fetch_add(1, Ordering::Relaxed);
    let target = request
        .uri()
        .path_and_query()
        .map_or("", |target| target.as_str());
    let has = request.headers().get(http::header::AUTHORIZATION);
    if let Some(token) = &*seen.token.lock()
        && has.is_none_or(|has| has != token.as_str())
    {
        let status = br#"{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}"#;
        let body = stream::iter([Ok(Frame::data(Bytes::from_static(status)))]).boxed();
        let mut refusal = Response::new(StreamBody::new(body));
        *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
        return refusal;
    }
    let first = Bytes::from_static(b"first");
    let frames = if target.contains("watch=true") {
        let events = stream::unfold(seen.events.subscribe(), |mut events| async {
            events.recv().await.ok().map(|event| (event, events))
        });
        let end = Arc::clone(&seen.closing).notified_owned();
        stream::once(async { first })
            .chain(events)
            .take_until(end)
            .boxed()
    } else if target.contains("flood") {
        let bytes = Bytes::from(vec![b' '; 64 * 1024]);
        stream::repeat(bytes).boxed()
    } else {
        let list = br#"{"metadata":{"resourceVersion":"5"},"items":[]}"#;
        stream::iter([Bytes::from_static(list)]).boxed()
    };
    Response::new(StreamBody::new(
        frames.map(|bytes| Ok(Frame::data(bytes))).boxed(),
    ))
}
