//! A small HTTP server for the page: bounded, and for loopback addresses guarded against foreign web sites.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::Authority;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Router;

/// The connections that are served at a time; further ones wait.
const CONNECTIONS: usize = 32;
/// How long a connection may last. It carries one request.
const TIME: Duration = Duration::from_secs(10);
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// The size of the head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// The headers of a request.
const HEADERS: usize = 64;
/// How long to wait after a connection could not be accepted, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Where to serve the page: a port of the loopback interface, or any address.
///
/// ```
/// use std::net::SocketAddr;
/// use informers::debug::Address;
///
/// assert_eq!(Address::from(6060).to_string(), "127.0.0.1:6060");
/// let everywhere = SocketAddr::from(([0, 0, 0, 0], 6060)); // for others: who can reach it can read it
/// assert_eq!(Address::from(everywhere).to_string(), "0.0.0.0:6060");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl From<u16> for Address {
    fn from(port: u16) -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why the page cannot be served.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another socket has this address.
    #[error(
        "cannot serve the debug page on {0}: the address is in use; choose another port, or 0 for any \
         free one"
    )]
    InUse(Address),
    /// The address cannot be used.
    #[error("cannot serve the debug page on {address}")]
    Bind {
        /// The address.
        address: Address,
        /// What the operating system reports.
        #[source]
        error: io::Error,
    },
}

informer_core::__debug_is_the_message!(ServeError);

/// A running server of the debug page. [`serve`](super::serve) returns it.
///
/// Dropping it does not stop the server: that ends with the factory, or by [`stop`](Self::stop).
#[derive(Clone)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl Server {
    /// The address it listens on, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page: `http://127.0.0.1:6060/`. If it listens on all interfaces, that of this host.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/")
    }

    /// Stops the server, and returns when the port is free. May be called repeatedly.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }

    /// Waits until the server has ended: the factory has stopped, or [`stop`](Self::stop) was called.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.address).finish()
    }
}

/// Starts a server that ends when `stopped` is ready.
pub(super) async fn start(
    router: Router,
    address: Address,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<Server, ServeError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Bind { address, error },
    };
    let listener = TcpListener::bind(address.0).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let server = Server {
        address,
        stop: CancellationToken::new(),
        ended: CancellationToken::new(),
    };
    let (stop, ended) = (server.stop.clone(), server.ended.clone());
    tokio::spawn(async move {
        // Also if this task is dropped with its runtime.
        let _ended = ended.drop_guard();
        // The listener and the connections end before that is announced.
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = stopped => {}
            never = accept(listener, Guard::of(address), router) => match never {},
        }
    });
    Ok(server)
}

/// Accepts connections until it is dropped; the connections are dropped with it.
async fn accept(listener: TcpListener, guard: Guard, router: Router) -> Infallible {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let place = free.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = timeout(TIME, serve(stream, guard, router.clone()));
                connections.spawn(async move {
                    // A client that left, or was too slow, needs no answer.
                    drop(connection.await);
                    drop(place);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Answers the one request of a connection.
async fn serve(stream: TcpStream, guard: Guard, router: Router) -> hyper::Result<()> {
    let answer = service_fn(|request: Request<hyper::body::Incoming>| {
        let response = match guard.admits(&request) {
            true => router.answer(request.method(), request.uri()),
            false => misdirected(),
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answer)
        .await
}

/// Which hosts a request may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// Loopback addresses and `localhost`. A web site can give its own name a loopback address, and its
    /// script would then be allowed to read the page; but its requests carry that name.
    Loopback,
    /// Any: the names of this host are unknown.
    Any,
}

impl Guard {
    fn of(address: SocketAddr) -> Self {
        match address.ip().is_loopback() {
            true => Self::Loopback,
            false => Self::Any,
        }
    }

    fn admits<B>(self, request: &Request<B>) -> bool {
        let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let named = request.uri().authority().map(Authority::as_str);
        match self {
            Self::Any => true,
            Self::Loopback => header.is_some_and(is_loopback) && named.is_none_or(is_loopback),
        }
    }
}

/// Whether an authority, a host with or without a port, is a loopback address or `localhost`.
fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    let host = authority.host();
    // Nothing but a port may follow: the host of `[::1].evil.example` is `[::1]`.
    let rest = authority.as_str().strip_prefix(host).unwrap_or(host);
    if !rest.is_empty() && !rest.starts_with(':') {
        return false;
    }
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address
            .parse()
            .is_ok_and(|address: Ipv6Addr| address.is_loopback()),
        None => {
            host.eq_ignore_ascii_case("localhost")
                || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        }
    }
}

fn misdirected() -> Response<Full<Bytes>> {
    let text = "this server answers only requests to localhost, 127.0.0.1 or [::1]";
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_web_site_can_have_are_loopback() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:6060",
            "127.1.2.3",
            "[::1]:6060",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:6060",
            "10.0.0.1",
            "[::2]",
            "evil@localhost@evil.example",
            "0.0.0.0",
            "[::]",
            "[127.0.0.1].evil.example",
            "[::1].evil.example",
            "[127.0.0.1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_request_names_a_loopback_host_in_its_header_and_in_its_target() {
        let check = |target: &str, host: Option<&str>, expected: bool| {
            let mut request = Request::builder().uri(target);
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            let request = request.body(()).unwrap();
            assert_eq!(Guard::Loopback.admits(&request), expected, "{target} {host:?}");
            assert!(Guard::Any.admits(&request));
        };
        check("/", Some("localhost:6060"), true);
        check("http://127.0.0.1:6060/", Some("127.0.0.1:6060"), true);
        check("/", None, false);
        check("/", Some("evil.example"), false);
        check("http://evil.example/", Some("localhost"), false);
    }

    #[test]
    fn addresses_are_guarded_by_their_reach() {
        let check = |address: &str, expected: Guard| {
            assert_eq!(Guard::of(address.parse().unwrap()), expected, "{address}");
        };
        check("127.0.0.1:1", Guard::Loopback);
        check("[::1]:1", Guard::Loopback);
        check("0.0.0.0:1", Guard::Any);
        check("10.1.2.3:1", Guard::Any);
    }
}
