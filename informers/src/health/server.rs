//! A small HTTP server for probes.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::{Health, NotHealthy};

/// How many connections are answered at once. More wait.
const CONNECTIONS: usize = 16;

/// The largest head of a request.
const LONGEST_HEAD: usize = 8 * 1024;

/// How long a connection may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// The wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Health {
    /// Answers probes over HTTP/1.1: `/readyz` and `/livez`, with 200, or with 503 and the reason. Runs until
    /// it is dropped.
    ///
    /// It answers at most 16 connections at once, each within 5 seconds and with a request head of at most
    /// 8 KiB, and has no TLS: it is for the kubelet.
    ///
    /// # Errors
    /// If the address cannot be bound; this is also logged, because a spawned task loses it.
    pub async fn serve(self, address: impl Into<SocketAddr>) -> io::Result<Infallible> {
        let address = address.into();
        match TcpListener::bind(address).await {
            Ok(listener) => Ok(self.serve_on(listener).await),
            Err(error) => {
                tracing::error!(%address, %error, "cannot serve probes: the address cannot be bound");
                Err(error)
            }
        }
    }

    /// Like [`serve`](Self::serve), on a listener that exists.
    pub async fn serve_on(self, listener: TcpListener) -> Infallible {
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let slot = slots.clone().acquire_owned().await;
            let slot = slot.expect("the semaphore is never closed");
            match listener.accept().await {
                Ok((stream, _)) => {
                    let health = self.clone();
                    tokio::spawn(async move {
                        let _slot = slot;
                        // A probe that breaks off is the kubelet's concern.
                        drop(tokio::time::timeout(DEADLINE, health.answer(stream)).await);
                    });
                }
                // Too many open files, for example.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let head = read_head(&mut stream).await?;
        let (code, text) = self.respond(&head);
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {code}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    }

    /// The status line and the body for a request.
    fn respond(&self, head: &str) -> (&'static str, String) {
        let mut words = head.split_ascii_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if method != "GET" {
            return ("405 Method Not Allowed", "use GET\n".to_owned());
        }
        match target.split('?').next().unwrap_or_default() {
            "/readyz" => outcome(self.ready()),
            "/livez" => outcome(self.live()),
            _ => ("404 Not Found", "use /readyz or /livez\n".to_owned()),
        }
    }
}

fn outcome(health: Result<(), NotHealthy>) -> (&'static str, String) {
    match health {
        Ok(()) => ("200 OK", "ok\n".to_owned()),
        Err(error) => ("503 Service Unavailable", format!("{error}\n")),
    }
}

/// Reads the request line and the headers.
async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match stream.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
