//! Passes bytes between two sockets, and can stop doing so for a while without closing either.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How many bytes each direction of a connection holds.
const BUFFER: usize = 64 * 1024;

/// A relay on TCP, for whatever is spoken over it. It and its connections end when it is dropped.
///
/// Between a kube-apiserver and its etcd it makes a server that lags: while it holds, that server sees
/// nothing new.
pub struct TcpRelay {
    address: SocketAddr,
    gate: watch::Sender<Gate>,
    task: JoinHandle<Infallible>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Held,
}

impl TcpRelay {
    /// Listens on a free port of this machine, and passes on to another port of it.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start(to: u16) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let gate = watch::Sender::new(Gate::Open);
        let task = tokio::spawn(accept(socket, to, gate.subscribe()));
        Ok(Self { address, gate, task })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From now on nothing passes. Connections stay open, and what is sent waits.
    pub fn hold(&self) {
        self.gate.send_replace(Gate::Held);
    }

    /// Connections that wait continue.
    pub fn release(&self) {
        self.gate.send_replace(Gate::Open);
    }
}

impl Drop for TcpRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(socket: TcpListener, to: u16, gate: watch::Receiver<Gate>) -> Infallible {
    // The set owns the connections: aborting this task drops it, which aborts them.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((near, _)) = socket.accept().await else {
            // Out of file descriptors, most likely; the next connection may fare better.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let gate = gate.clone();
        connections.spawn(async move {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await else {
                return;
            };
            let (near_read, near_write) = near.into_split();
            let (far_read, far_write) = far.into_split();
            // When one direction ends, the connection does.
            tokio::select! {
                _ended = pass(near_read, far_write, gate.clone()) => {}
                _ended = pass(far_read, near_write, gate) => {}
            }
        });
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<Gate>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        // This fails only after the relay has ended, and this task with it.
        gate.wait_for(|gate| *gate == Gate::Open)
            .await
            .map_err(io::Error::other)?;
        to.write_all(&buffer[..count]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_held_comes_later_and_whole() {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = TcpRelay::start(socket.local_addr().unwrap().port())
            .await
            .unwrap();
        let mut near = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port()))
            .await
            .unwrap();
        let (mut far, _) = socket.accept().await.unwrap();
        let mut seen = [0; 3];
        near.write_all(b"one").await.unwrap();
        far.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"one");

        relay.hold();
        near.write_all(b"two").await.unwrap();
        let early = tokio::time::timeout(std::time::Duration::from_millis(50), far.read(&mut seen)).await;
        assert!(early.is_err(), "it was not held");
        relay.release();
        far.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"two");
    }
}
