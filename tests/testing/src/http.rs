//! The server over HTTP/1.1 on the loopback interface.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::service::ApiService;

/// A listener and its connections. Dropping it closes all of them.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    task: JoinHandle<Infallible>,
}

impl Listener {
    /// Listens on a free port.
    pub(crate) async fn start(service: ApiService) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        Ok(Self {
            address,
            task: tokio::spawn(accept(socket, service)),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the listener and waits until its connections are closed.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        // The task was cancelled above, so the result has no information.
        let _cancelled = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The delay after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

async fn accept(socket: TcpListener, service: ApiService) -> Infallible {
    // The set owns the connections: aborting this task drops it, which aborts them.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = socket.accept().await else {
            // Probably out of file descriptors: wait and accept again.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(service.clone());
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "ended a connection");
            }
        });
    }
}
