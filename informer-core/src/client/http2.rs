//! One HTTP/2 connection: its settings, and the number of requests it may carry at once.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::rt::{Executor, Read, Write};
use hyper_util::rt::TokioTimer;
use kube::client::Body;
use tokio::sync::Notify;
use tower::BoxError;

use crate::sync::Mutex;

/// How many bytes of one response the server may send before they are read.
pub(super) const STREAM_WINDOW: u32 = 1024 * 1024;
/// The most requests on one connection, whatever the server allows.
pub(super) const STREAMS: usize = 64;
/// How many unread bytes one connection holds at most. So large that responses that nobody reads (a queue is
/// full, a handler is slow) cannot use up the window of the others.
pub(super) const CONNECTION_WINDOW: u32 = STREAM_WINDOW * STREAMS as u32;
/// The largest head of a response.
const HEADER_BYTES: u32 = 64 * 1024;
/// How long a connection may be silent before it is tested by a ping.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long the response to a ping may take; then the connection is closed.
pub(super) const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the settings of the server may take, which are the first thing it sends.
pub(super) const SETTINGS_TIMEOUT: Duration = Duration::from_secs(15);

/// The limit before the server has sent its settings. No server sends this value.
const UNKNOWN: usize = usize::MAX - 1;

/// What a connection reads and writes: TCP, TLS, and possibly a proxy.
pub(super) trait Io: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Io for T {}

pub(super) type Socket = Pin<Box<dyn Io>>;
type Driver = http2::Connection<Socket, Body, Tasks>;

/// A connection. It is closed when it is dropped and its last response has ended.
pub(super) struct Connection {
    sender: http2::SendRequest<Body>,
    /// None after the end: requests that are still queued in the driver fail only when it is dropped.
    driver: Arc<Mutex<Option<Driver>>>,
    load: Arc<Load>,
}

/// The requests on a connection.
struct Load {
    active: AtomicUsize,
    /// Our own limit. Falls when the server refuses a stream; 0 if the connection takes no more.
    limit: AtomicUsize,
}

impl Connection {
    /// Performs the handshake and waits for the settings of the server, which contain its limit of streams.
    /// Returns `None` if the limit is 0.
    pub(super) async fn open(socket: Socket) -> Result<Option<Self>, BoxError> {
        let polled = Arc::new(Notify::new());
        let tasks = Tasks {
            polled: Arc::downgrade(&polled),
        };
        let (sender, driver) = http2::Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .initial_max_send_streams(UNKNOWN)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADER_BYTES)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(socket)
            .await?;
        let driver = Arc::new(Mutex::new(Some(driver)));
        let connection = Self {
            sender,
            driver: Arc::clone(&driver),
            load: Arc::new(Load {
                active: AtomicUsize::new(0),
                limit: AtomicUsize::new(STREAMS),
            }),
        };
        tasks.execute(async move {
            let ended = poll_fn(|cx| match &mut *driver.lock() {
                Some(driver) => Pin::new(driver).poll(cx),
                None => Poll::Ready(Ok(())),
            })
            .await;
            drop(driver.lock().take());
            if let Err(error) = ended {
                tracing::debug!(%error, "closed an HTTP/2 connection");
            }
        });
        let settings = async {
            while connection.server_limit() == UNKNOWN && !connection.sender.is_closed() {
                polled.notified().await;
            }
        };
        tokio::time::timeout(SETTINGS_TIMEOUT, settings)
            .await
            .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the server sent no HTTP/2 settings"))?;
        // In this order: a limit of 0 may also mean that the connection has ended.
        let limit = connection.server_limit();
        match connection.sender.is_closed() {
            true => Err("the server closed the connection before it sent HTTP/2 settings".into()),
            false => Ok((limit > 0).then_some(connection)),
        }
    }

    /// The limit in the settings of the server; 0 after the end of the connection.
    fn server_limit(&self) -> usize {
        let driver = self.driver.lock();
        driver.as_ref().map_or(0, Driver::current_max_send_streams)
    }

    /// The most requests at once: a little less than the server allows, since it may count a request for some
    /// time after we have dropped it. A request above its limit would wait in hyper, without a deadline.
    fn limit(&self) -> usize {
        let of_server = self.server_limit();
        let of_server = of_server - of_server.min(100) / 10;
        of_server.min(self.load.limit.load(Ordering::Relaxed))
    }

    /// Whether the connection takes no more requests.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.limit() == 0
    }

    /// Reserves a request, if the limit allows one more. Not to be called by two threads at once.
    pub(super) fn reserve(&self) -> Option<Stream> {
        if self.load.active.load(Ordering::Relaxed) >= self.limit() {
            return None;
        }
        self.load.active.fetch_add(1, Ordering::Relaxed);
        Some(Stream {
            sender: self.sender.clone(),
            slot: Slot(Arc::clone(&self.load)),
        })
    }
}

/// The right to send one request.
pub(super) struct Stream {
    sender: http2::SendRequest<Body>,
    slot: Slot,
}

/// Why a request failed.
pub(super) enum SendError {
    /// The connection was closed before the request was sent.
    Unsent(Box<Request<Body>>),
    /// The server refused the request before it looked at it (REFUSED_STREAM, GOAWAY).
    Refused(hyper::Error),
    Failed(hyper::Error),
}

impl Stream {
    /// Sends the request. The slot counts until it is dropped, so it belongs to the body of the response.
    pub(super) async fn send(
        mut self,
        request: Request<Body>,
    ) -> Result<(Response<Incoming>, Slot), SendError> {
        match self.sender.try_send_request(request).await {
            Ok(response) => Ok((response, self.slot)),
            Err(mut error) => {
                if let Some(request) = error.take_message() {
                    self.slot.retire();
                    return Err(SendError::Unsent(Box::new(request)));
                }
                let error = error.into_error();
                match h2_error(&error) {
                    Some(cause) if cause.reason() == Some(h2::Reason::REFUSED_STREAM) => {
                        self.slot.refused();
                        Err(SendError::Refused(error))
                    }
                    Some(cause) if cause.is_go_away() && cause.is_remote() => {
                        self.slot.retire();
                        Err(SendError::Refused(error))
                    }
                    _ => Err(SendError::Failed(error)),
                }
            }
        }
    }
}

fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// A request that counts towards the limit of its connection until this is dropped.
pub(super) struct Slot(Arc<Load>);

impl Slot {
    /// Lowers the limit below the number of requests at which the server refused one.
    fn refused(&self) {
        let others = self.0.active.load(Ordering::Relaxed).saturating_sub(1);
        self.0.limit.fetch_min(others, Ordering::Relaxed);
    }

    /// Excludes the connection from further requests.
    fn retire(&self) {
        self.0.limit.store(0, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Spawns the tasks of a connection. hyper does not report when the settings of the server have arrived, so
/// each poll of a task notifies [`Connection::open`] until it has them.
#[derive(Clone)]
struct Tasks {
    polled: Weak<Notify>,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, future: F) {
        let polled = Weak::clone(&self.polled);
        tokio::spawn(async move {
            let mut future = pin!(future);
            poll_fn(|cx| {
                let result = future.as_mut().poll(cx);
                if let Some(polled) = polled.upgrade() {
                    polled.notify_one();
                }
                result
            })
            .await;
        });
    }
}
