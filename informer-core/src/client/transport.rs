//! Sends each request by HTTP/2 or HTTP/1.1.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use kube::client::{Body, DynBody};
use tower::{BoxError, Service};

use crate::source::{Peer, Stage};

/// Sends a request by HTTP/1.1.
pub(super) type Http1 =
    Box<dyn Fn(Request<Body>) -> BoxFuture<'static, Result<Response<Incoming>, legacy::Error>> + Send + Sync>;

type Answer = Result<Response<Box<DynBody>>, BoxError>;

/// The service below the layers of the client.
pub(super) struct Transport {
    /// The host and port of the cluster, for errors.
    pub(super) host: Arc<str>,
    pub(super) http1: Http1,
    #[cfg(feature = "rustls-tls")]
    pub(super) http2: Option<Http2>,
}

/// What a client needs that uses both protocols.
#[cfg(feature = "rustls-tls")]
pub(super) struct Http2 {
    pool: super::pool::Pool,
    /// The lists that may use HTTP/1.1 at the same time.
    lists: Arc<tokio::sync::Semaphore>,
}

/// How many lists use HTTP/1.1 at the same time; others use HTTP/2. A large list is faster over HTTP/1.1, and
/// does not delay watches there; a hundred small ones would need a hundred connections.
#[cfg(feature = "rustls-tls")]
pub(super) const LISTS: usize = 4;

#[cfg(feature = "rustls-tls")]
impl Http2 {
    pub(super) fn new(pool: super::pool::Pool) -> Self {
        Self {
            pool,
            lists: Arc::new(tokio::sync::Semaphore::new(LISTS)),
        }
    }
}

impl Transport {
    #[cfg(not(feature = "rustls-tls"))]
    async fn send(&self, request: Request<Body>) -> Answer {
        self.send_by_http1(request, ()).await
    }

    /// Keeps a value until the body of the response has ended.
    async fn send_by_http1<T: Send + Unpin + 'static>(&self, request: Request<Body>, kept: T) -> Answer {
        let peer = self.peer("HTTP/1.1");
        match (self.http1)(request).await {
            Ok(response) => Ok(with_peer(peer, response, kept)),
            Err(error) if error.is_connect() => Err(peer.error(Stage::Connect, error)),
            Err(error) => Err(peer.error(Stage::Exchange, error)),
        }
    }

    fn peer(&self, protocol: &'static str) -> Peer {
        Peer {
            host: Arc::clone(&self.host),
            protocol,
        }
    }
}

#[cfg(feature = "rustls-tls")]
mod by_http2 {
    //! HTTP/2, and what is left to HTTP/1.1.

    use http::Method;
    use http::header::UPGRADE;
    use http_body::Body as _;

    use super::*;
    use crate::client::http2::SendError;
    use crate::client::pool::{CONNECTIONS, Pool};

    /// How often a request is sent if the server refuses it before it looks at it.
    const ATTEMPTS: usize = 3;

    impl Transport {
        pub(super) async fn send(&self, request: Request<Body>) -> Answer {
            let Some(http2) = &self.http2 else {
                return self.send_by_http1(request, ()).await;
            };
            if needs_http1(&request) {
                return self.send_by_http1(request, ()).await;
            }
            if is_list(&request)
                && let Ok(permit) = Arc::clone(&http2.lists).try_acquire_owned()
            {
                return self.send_by_http1(request, permit).await;
            }
            self.send_by_http2(&http2.pool, request).await
        }

        async fn send_by_http2(&self, pool: &Pool, mut request: Request<Body>) -> Answer {
            let peer = self.peer("HTTP/2");
            let mut refusals = 0;
            // Every connection may have been closed in the meantime, and a new one may be closed at once.
            for _ in 0..CONNECTIONS + ATTEMPTS {
                let stream = pool.stream().await;
                let stream = stream.map_err(|error| peer.error(Stage::Connect, error))?;
                let Some(stream) = stream else {
                    return self.send_by_http1(request, ()).await;
                };
                let copy = copy(&request);
                match (stream.send(request).await, copy) {
                    (Ok((response, slot)), _) => return Ok(with_peer(peer, response, slot)),
                    (Err(SendError::Unsent(unsent)), _) => request = *unsent,
                    (Err(SendError::Refused(_)), Some(copy)) if refusals + 1 < ATTEMPTS => {
                        refusals += 1;
                        request = copy;
                    }
                    (Err(SendError::Refused(error)), _) => return Err(peer.error(Stage::Connect, error)),
                    (Err(SendError::Failed(error)), _) => return Err(peer.error(Stage::Exchange, error)),
                }
            }
            Err(peer.error(Stage::Connect, "the server closed every connection"))
        }
    }

    /// Whether a request has to use a connection of its own: one that becomes another protocol (`exec`,
    /// `port-forward`).
    fn needs_http1(request: &Request<Body>) -> bool {
        request.headers().contains_key(UPGRADE)
    }

    /// Whether a request is a list. This library and kube name the verb of a request in this way.
    fn is_list(request: &Request<Body>) -> bool {
        request.extensions().get::<&'static str>() == Some(&"list")
    }

    /// Copies a request that can be sent again: one without a body that changes nothing.
    fn copy(request: &Request<Body>) -> Option<Request<Body>> {
        if request.method() != Method::GET || !request.body().is_end_stream() {
            return None;
        }
        let mut copy = Request::new(Body::empty());
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }
}

/// A [`Transport`] as a service.
#[derive(Clone)]
pub(super) struct TransportService(pub(super) Arc<Transport>);

impl Service<Request<Body>> for TransportService {
    type Response = Response<Box<DynBody>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let transport = Arc::clone(&self.0);
        async move { transport.send(request).await }.boxed()
    }
}

/// Lets errors of the body name the peer. Keeps a value until the body has ended.
fn with_peer<T: Send + Unpin + 'static>(
    peer: Peer,
    response: Response<Incoming>,
    kept: T,
) -> Response<Box<DynBody>> {
    response.map(|body| {
        Box::new(ResponseBody {
            body,
            peer,
            kept: Some(kept),
        }) as Box<DynBody>
    })
}

/// The body of a response.
struct ResponseBody<T> {
    body: Incoming,
    peer: Peer,
    kept: Option<T>,
}

impl<T: Unpin> http_body::Body for ResponseBody<T> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            this.kept = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|error| this.peer.error(Stage::Exchange, error))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
