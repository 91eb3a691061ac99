//! The HTTP/2 connections of a client: as few as carry its requests.

use std::error::Error as StdError;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;
use tower::BoxError;

use super::http2::{Connection, Socket, Stream};
use crate::sync::Mutex;

/// The most HTTP/2 connections of a client. Requests above what they carry use HTTP/1.1.
pub(super) const CONNECTIONS: usize = 16;
/// How long HTTP/1.1 is used after the server has chosen it, before HTTP/2 is offered again.
const HTTP1_TIME: Duration = Duration::from_secs(300);

/// A new connection, by the protocol that the server chose.
pub(super) enum Opened {
    Http2(Socket),
    Http1,
}

/// Opens a connection to the cluster, and offers HTTP/2.
pub(super) type Open = Box<dyn Fn() -> BoxFuture<'static, Result<Opened, BoxError>> + Send + Sync>;

/// An error that all requests receive that waited for the same connection.
pub(super) type OpenError = Arc<dyn StdError + Send + Sync>;

type Opening = Shared<BoxFuture<'static, Result<(), OpenError>>>;

/// The connections of a client.
pub(super) struct Pool {
    open: Open,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    connections: Vec<Connection>,
    /// At most one connection is opened at a time; all requests that need one wait for it.
    opening: Option<Opening>,
    http1_until: Option<Instant>,
}

enum Choice {
    Stream(Stream),
    Wait(Opening),
    Http1,
}

impl Pool {
    pub(super) fn new(open: Open) -> Self {
        Self {
            open,
            state: Arc::default(),
        }
    }

    /// Returns the right to send one request, or `None` if it has to use HTTP/1.1: the server does not speak
    /// HTTP/2, or all connections are fully used.
    pub(super) async fn stream(&self) -> Result<Option<Stream>, OpenError> {
        // Each wait adds a connection. More waits than connections: the server closes them at once.
        for _ in 0..=CONNECTIONS {
            match self.choose() {
                Choice::Stream(stream) => return Ok(Some(stream)),
                Choice::Http1 => break,
                Choice::Wait(opening) => opening.await?,
            }
        }
        Ok(None)
    }

    fn choose(&self) -> Choice {
        let mut state = self.state.lock();
        state.connections.retain(|connection| !connection.is_closed());
        // The first that has room: the last ones become idle, and the server closes them.
        if let Some(stream) = state.connections.iter().find_map(Connection::reserve) {
            return Choice::Stream(stream);
        }
        if let Some(opening) = &state.opening {
            return Choice::Wait(opening.clone());
        }
        let is_http1 = state.http1_until.is_some_and(|until| Instant::now() < until);
        if is_http1 || state.connections.len() >= CONNECTIONS {
            return Choice::Http1;
        }
        let opening = open((self.open)(), Arc::downgrade(&self.state)).boxed().shared();
        // A task, so that it continues if the request that began it is dropped.
        tokio::spawn(opening.clone());
        state.opening = Some(opening.clone());
        Choice::Wait(opening)
    }
}

/// Opens a connection and adds it to the pool.
async fn open(
    socket: BoxFuture<'static, Result<Opened, BoxError>>,
    state: Weak<Mutex<State>>,
) -> Result<(), OpenError> {
    let opened = async {
        match socket.await? {
            Opened::Http2(socket) => Connection::open(socket).await,
            Opened::Http1 => Ok(None),
        }
    };
    let opened = opened.await;
    let Some(state) = state.upgrade() else {
        return Ok(());
    };
    let mut state = state.lock();
    state.opening = None;
    match opened.map_err(OpenError::from)? {
        Some(connection) => state.connections.push(connection),
        None => state.http1_until = Some(Instant::now() + HTTP1_TIME),
    }
    Ok(())
}
